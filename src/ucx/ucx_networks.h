#pragma once
// Which networks UCX has opened here, after all that its settings leave out, and sentences about
// those that it has not.

#include <ucp/api/ucp.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace rondo {

/// UCX's settings by name without "UCX_", instead of the environment's.
using UcxSettings = std::vector<std::pair<std::string, std::string>>;

/// What leads to other hosts, as UCX writes it: "tcp/eth0", "rc_verbs/mlx5_0:1".
class UcxNetworks {
 public:
  UcxNetworks() = default;
  /// Of `text`, which ucp_context_print_info has printed. Where that names no resource, as a later
  /// version may choose to, nothing is known.
  static UcxNetworks fromText(const std::string& text);
  static UcxNetworks of(ucp_context_h context);
  /// What this host would have if no setting left anything out.
  static UcxNetworks ofHost();

  bool known() const { return known_; }
  bool none() const { return known_ && all_.empty(); }
  /// Whether transport `name` is among them, or may be.
  bool mayHave(const std::string& name) const;
  /// Whether it is known that they are all of transport `name`.
  bool only(const std::string& name) const;
  /// Whether it is known that one of them has cards that read and write memory by themselves.
  bool haveRdma() const;
  /// "tcp/eth0, tcp/lo", in at most `most` characters; "unknown networks".
  std::string text(size_t most = 200) const;

 private:
  bool known_ = false;
  std::vector<std::string> all_;
};

/// UCX has no way to other hosts: what it was told, and what it could have. `why`: its own word.
Error noNetwork(const UcxSettings& settings, const std::string& why);

}  // namespace rondo

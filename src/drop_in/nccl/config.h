#pragma once
// ncclConfig_t: sizes of all versions, fields, and what Rondo makes of them.

#include <string>

#include "api/rondo.h"
#include "drop_in/nccl/abi.h"

namespace rondo::nccl {

/// A configuration after checking.
struct Config {
  bool blocking = true;
  std::string name;     ///< config.commName; "" if there is none.
  int mostCTAs = 0;     ///< config.maxCTAs; 0: not set.
  bool noCTAs = false;  ///< config.CTAPolicy has NCCL_CTA_POLICY_ZERO.

  /// Whether Rondo's configuration differs from the default, or from a parent's.
  bool asksAnything() const { return !name.empty() || mostCTAs != 0 || noCTAs; }
  /// Rondo's, with pointers into this one.
  rondoConfig_t forRondo(int device) const;
};

/// `config` may be nullptr. Throws Error(rondoInvalidArgument). `blocking`: what holds where the
/// configuration does not say.
Config readConfig(const ncclConfig_t* config, bool blocking);

}  // namespace rondo::nccl

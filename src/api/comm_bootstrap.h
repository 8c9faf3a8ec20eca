#pragma once
// The bootstrap of a group of ranks that have a communicator already.

#include <span>
#include <vector>

#include "coll/communicator.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// Gathers by sends and receives of the parent, so that groups that share no rank do not meet.
class CommBootstrap final : public Bootstrap {
 public:
  /// Collective over `members`: ranks of `parent`, this one among them, in their new order. The
  /// parent may not be used otherwise until this object is gone.
  CommBootstrap(Communicator& parent, std::vector<int> members);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  const Secret& secret() const override { return secret_; }
  const std::vector<int>& members() const { return members_; }
  void allGather(const void* mine, size_t bytes, void* all) override;

 private:
  void gatherByDoubling(const void* mine, size_t bytes, char* all);
  void exchange(std::span<const Transfer> transfers);

  Communicator& parent_;
  std::vector<int> members_;
  int rank_ = 0;
  Secret secret_{};
};

/// Makes a new secret on the group's first rank known to all of it. Throws the same Error on all.
Secret sharedSecret(Bootstrap& boot);

}  // namespace rondo

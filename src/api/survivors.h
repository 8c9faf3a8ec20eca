#pragma once
// The bootstrap of the ranks that remain of a communicator, whatever became of the others: over the
// boards in its shared memory, which ranks of other hosts are told of, with no help of the dead and
// no use of its channels.

#include <cstdint>
#include <vector>

#include "coll/communicator.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// On one host every gathering completes on all survivors or on none: what a rank gave stays
/// readable when it dies, and everyone looks for it before looking whether its giver is gone. Of a
/// rank of another host some may have heard and others not: who has not begins again, and whoever
/// has finds that out in the next gathering. The last one, commit(), has nothing after it: who
/// lacks a part there asks how it ended for the others. So all survivors take the same turns, and
/// begin again with fewer together.
class Survivors final : public Bootstrap {
 public:
  /// Somebody else has gone meanwhile: settle() again.
  struct Changed {};

  /// `named`: ranks that the caller leaves out. `generation`: how many times ranks of `parent` have
  /// done this, from 1. Throws Error.
  Survivors(Communicator& parent, const std::vector<int>& named, uint32_t generation,
            uint64_t stallSeconds);
  /// Unless commit() was called, the others learn that this rank takes no part any more.
  ~Survivors() override;
  Survivors(const Survivors&) = delete;
  Survivors& operator=(const Survivors&) = delete;

  /// Collective over those who are left: agrees on who that is. Throws Error, where ranks leave out
  /// others or give up, on all of them.
  void settle();
  /// The last gathering: then all survivors have what they made.
  void commit();

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  const Secret& secret() const override { return secret_; }
  /// Throws Changed.
  void allGather(const void* mine, size_t bytes, void* all) override;

 private:
  using Set = std::vector<uint64_t>;
  void publish();
  bool gone(int rank) const;
  bool takesPart(int rank) const;
  enum class Other { Absent, Same, Fewer, More };
  Other compare(int rank);
  bool settled();
  void gatherPiece(const void* mine, size_t bytes, char* all, size_t stride);
  bool readPiece(int rank, size_t bytes, char* out);
  void mark(uint64_t flag);
  bool someoneCommitted();
  void wait(const std::function<bool()>& done);

  Communicator& parent_;
  Fabric& fabric_;
  WaitPolicy policy_;
  int me_, ranks_;
  uint64_t generation_;
  Set gone_, named_;
  uint64_t state_ = 0;  // what is published
  uint64_t step_ = 0;
  bool committed_ = false;
  std::vector<int> members_;
  int rank_ = 0;
  Secret secret_{};
};

}  // namespace rondo

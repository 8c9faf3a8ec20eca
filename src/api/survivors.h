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
/// has finds that out in the next gathering.
///
/// The last gathering, commit(), has none after it, and who has it all says so on its board. Who
/// lacks a part settles again, and while it does, takes a word of that from any rank that it does
/// not hold for gone yet. It goes on without such a word only when every rank that it does not hold
/// for gone has published the same set as itself: then none of these can hear the word any more,
/// for whoever might have said it is in the set. So all who remain have what was made, or none of
/// them, however many ranks end at whatever time. (A rank that has it and ends may have returned
/// it to its caller before.)
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

  /// Collective over those who are left: agrees on who that is. False: it turned out that commit()
  /// of the turn before was whole for somebody, and what was made there is everybody's; that is the
  /// end. Throws Error, where ranks leave out others or give up, on all of them.
  bool settle();
  /// The last gathering: then all survivors have what they made. Throws Changed.
  void commit();

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  const Secret& secret() const override { return secret_; }
  /// Their ranks in the parent, once settled.
  const std::vector<int>& members() const { return members_; }
  /// Throws Changed.
  void allGather(const void* mine, size_t bytes, void* all) override;

 private:
  using Set = std::vector<uint64_t>;
  void publish();
  bool gone(int rank) const;
  bool takesPart(int rank) const;
  enum class Other { Absent, Same, Fewer, More };
  Other compare(int rank);
  bool settled(bool* stands);
  void gatherPiece(const void* mine, size_t bytes, char* all, size_t stride);
  bool readPiece(int rank, size_t bytes, char* out);
  uint64_t stepWord(uint64_t step) const { return generation_ << 52 ^ step; }
  void finish();
  void wait(const std::function<bool()>& done);

  Communicator& parent_;
  Fabric& fabric_;
  WaitPolicy policy_;
  int me_, ranks_;
  uint64_t generation_;
  Set gone_, named_;
  uint64_t state_ = 0;  // what is published
  uint64_t step_ = 0;
  uint64_t whole_ = 0;  // the step of a rank for which the last commit() was whole; 0: none yet
  bool committed_ = false;
  std::vector<int> members_;
  int rank_ = 0;
  Secret secret_{};
};

}  // namespace rondo

#pragma once
// What the ranks of a communicator know of each other while they are being finalized: who issues no
// more calls, and whether what is still under way can end.

#include <atomic>
#include <cstdint>
#include <vector>

#include "p2p/fabric.h"

namespace rondo {

/// A rank's own end of it. Its word and its count of looks stand where near ranks read them
/// (RankState).
class Closing {
 public:
  /// `fabric`: nullptr with one rank.
  Closing(Fabric* fabric, int rank, int ranks) : fabric_(fabric), rank_(rank), ranks_(ranks) {}

  /// From now on this rank issues nothing.
  void begin();
  bool begun() const { return begun_.load(std::memory_order_relaxed); }
  /// And what it had issued has ended.
  void end();

  /// After each poll of what is under way, by the thread that polls.
  void note(bool moved);
  /// Whether nothing can move any more: every near rank closes or has left, and since the last
  /// time each that has something under way has looked for work, all of it, and found none. Nobody
  /// knows that of ranks on other hosts. Only by the thread that finalizes.
  void look();
  bool standsStill() const { return standsStill_.load(std::memory_order_relaxed); }

 private:
  bool readWords(std::vector<uint64_t>* words) const;
  void readLooks(std::vector<uint64_t>* looks) const;

  Fabric* fabric_;
  int rank_, ranks_;
  std::atomic<bool> begun_{false}, standsStill_{false};
  std::vector<uint64_t> words_, looks_;  // of the last time; empty: not everybody closes
};

}  // namespace rondo

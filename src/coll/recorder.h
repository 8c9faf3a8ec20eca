#pragma once
// The executor that writes down: instantiates an algorithm and records its steps.

#include <utility>
#include <vector>

#include "coll/plan.h"

namespace rondo {

class Recorder : public algo::Primitives<Recorder>, public algo::Windows {
 public:
  Recorder(std::vector<Step>& out, int ranks) : out_(out), ranks_(ranks) {}

  template <int bits>
  void move(algo::Block b, int from, int to) {
    add(StepKind::Move, bits, Room::Pair, from, to, b);
  }
  template <int bits>
  void move2(algo::Block b, int from, int from2, int to) {
    add(StepKind::Move, bits, Room::Pair, from, to, b, from2);
  }
  using Primitives<Recorder>::copy;

  void put(algo::Block b, int to) {
    add(StepKind::Put, algo::kSrc | algo::kSend, roomOf(to), -1, to, b);
    skipSignal_ = b.count == 0;
    slot_ = b.slot;
  }
  void signal(int to) {
    // What was put is empty: there is nothing to announce, and nobody waits.
    if (std::exchange(skipSignal_, false)) return;
    out_.push_back(Step{StepKind::Signal, 0, roomOf(to), -1, to, 0, 0, slot_});
  }
  void wait(int from, Room room) { pendingWait(from, room); }
  void reduce(algo::Block b, Room room) { reduceRange(b, room, 0, ranks_); }
  void reduceRange(algo::Block b, Room room, int lo, int hi) {
    flushWaits(b);
    const int bits = lo < hi ? algo::kDst | algo::kFinal : 0;
    add(StepKind::Reduce, bits, room, lo, -1, b, hi);
  }
  void reducePut(algo::Block b, Room room) {
    flushWaits(b);
    add(StepKind::Reduce, algo::kDst | algo::kFinal | algo::kSend, room, 0, algo::kEveryone, b,
        ranks_);
    skipSignal_ = b.count == 0;
    slot_ = b.slot;
  }
  void reducePutTo(algo::Block b, Room room, int to) {
    flushWaits(b);
    add(StepKind::Reduce, algo::kFinal | algo::kSend, room, 0, to, b, ranks_);
    skipSignal_ = b.count == 0;
    slot_ = b.slot;
  }
  void fetch(algo::Block b, int from, Room room) {
    flushWaits(b);
    add(StepKind::Fetch, algo::kDst, room, from, -1, b);
  }
  /// Writes down waits that no reading step followed.
  void finish() { flushWaits(algo::Block{0, 1}); }
  void barrier() { out_.push_back(Step{StepKind::Barrier, 0, Room::All, -1, -1, 0, 0}); }

 private:
  static Room roomOf(int to) { return to == algo::kEveryone ? Room::All : Room::Pair; }

  void add(StepKind kind, int bits, Room room, int from, int to, algo::Block b, int from2 = -1) {
    const Step step{
        kind,    static_cast<uint8_t>(bits), room, from, to, b.offset, b.count, b.slot, from2,
        b.slots, b.slots > 1 ? b.stride : 1};
    if (b.count > 0 || isNotice(step)) out_.push_back(step);
  }

  // A wait is written down with the step that reads what was waited for, so that it vanishes with
  // an empty block.
  void pendingWait(int from, Room room) {
    waits_.push_back(Step{StepKind::Wait, 0, room, from, -1, 0, 0});
  }
  void flushWaits(const algo::Block& b) {
    for (Step& wait : waits_) wait.slot = b.slot;
    if (b.count > 0) out_.insert(out_.end(), waits_.begin(), waits_.end());
    waits_.clear();
  }

  std::vector<Step>& out_;
  std::vector<Step> waits_;
  int ranks_;
  bool skipSignal_ = false;
  int slot_ = 0;  // of the last put
};

}  // namespace rondo

#pragma once
// The host executor: runs a bound plan on host memory, lane by lane, never blocking inside a step.

#include <cstdint>
#include <span>
#include <vector>

#include "coll/bound_plan.h"
#include "coll/waiter.h"

namespace rondo {

/// Where the slots of a v-collective lie: elements, one entry a rank. What a rank does not use is
/// 0.
struct UnevenSlots {
  std::vector<uint64_t> srcCounts, srcDispls, dstCounts, dstDispls;
  uint64_t most = 0;  ///< The longest slot.
};

/// One call on host memory.
struct HostCall {
  const char* src;
  char* dst;
  bool stream;       ///< Write dst past the caches: the call's memory exceeds them anyway.
  uint32_t stamp;    ///< Of the messages of this call.
  bool announceSrc;  ///< src may be posted in place (see Algorithm::announceInPlace).
  const UnevenSlots* uneven = nullptr;  ///< Then the plan is one full period, repeated as needed.
  const void* scalar = nullptr;         ///< Of BoundPlan::scale.
};

/// Reused from call to call by one communicator.
class Runner {
 public:
  /// `stamp`: Channels::stamp, which a call sets to its own.
  Runner(int ranks, uint32_t* stamp);

  /// Runs the call to its end, waiting as `policy` says.
  RunResult run(const BoundPlan& plan, const HostCall& call, const WaitPolicy& policy);

  /// The same in pieces: begin() once, then poll() until it returns true, which does what can be
  /// done at once. After mismatch() the call will not end.
  void begin(const BoundPlan& plan, const HostCall& call);
  bool poll(bool* moved);
  /// Whether a message of another call came.
  bool mismatch() const { return mismatch_; }

  /// A lane that has not ended, and the step it is at. Stays right until the next poll().
  struct Position {
    int lane;
    uint64_t period, periods;  ///< `period` from 0; the last one may be a shorter one.
    size_t step, steps;        ///< Of that period; step == steps: its last messages are unread.
    const BoundStep* at;       ///< nullptr: none.
    const RecvPort* missing;   ///< What has no message yet; nullptr: the step waits for space.
  };
  /// The first ones, and how many these are. Only by the thread that runs the call.
  size_t positions(std::span<Position> out) const;

 private:
  /// Where a lane is. Steps that wait for several things remember what they have.
  struct Lane {
    const BoundLane* program;
    uint64_t period;  // == fullPeriods: in the last one; > fullPeriods: done
    size_t next;      // step
    uint64_t base;    // bytes: the period's start
    int seen;         // Reduce, Barrier: peers whose message is there
    bool computed;    // only the posting of the result is left
    bool partly;      // peers can tell what was done of the step, which has not ended
    uint32_t kept;    // bits from the lowest: of this period and the next one the copy from src to
                      // dst was made with the Put
    uint32_t left;    // blocks behind this one that every peer has put and wants landed
    std::vector<uint32_t> counts;  // a step that runs: Put: blocks posted ahead; Fetch: blocks
                                   // owed; Reduce: blocks landed of which the readers have not been
                                   // told; Move: copies of full periods that are still to be made
    std::vector<const void*> inputs;
    std::vector<void*> landings;
  };

  bool advance(Lane& lane, bool* done);
  bool peek(RecvPort* port, Message* message, uint64_t bytes);
  bool executeUneven(Lane& lane, const BoundStep& step);
  bool execute(Lane& lane, const BoundStep& step);
  bool move(Lane& lane, const BoundStep& step);
  bool moveSlots(const Lane& lane, const BoundStep& step);
  bool copyLate(Lane& lane);
  uint32_t* countOf(Lane& lane, const BoundStep& step) const;
  bool counts(const Lane& lane, const BoundStep& step) const;
  bool put(Lane& lane, const BoundStep& step);
  bool takeLanded(Lane& lane, const BoundStep& step, uint32_t* owed, uint32_t most);
  bool reduce(Lane& lane, const BoundStep& step);
  bool fetch(Lane& lane, const BoundStep& step);
  bool tell(Lane& lane, const BoundStep& step, const char* dst);
  bool barrier(Lane& lane, const BoundStep& step);
  bool collectInputs(Lane& lane, const BoundStep& step);
  bool reduceAway(Lane& lane, const BoundStep& step);
  void releaseInputs(const BoundStep& step);
  bool postSource(const BoundStep& step, const char* src, void* answer, char** keep = nullptr);
  char* keepTo(const Lane& lane, const BoundStep& step, uint64_t ahead) const;
  bool putBlock(Lane& lane, const BoundStep& step, uint64_t ahead, char* answer);
  char* landing(const BoundStep& step, uint64_t base) const;
  int landingsOf(const Lane& lane, const BoundStep& step) const;
  ReduceArgs arguments(void* first, void* second, const void* const* inputs, int n, int own,
                       const BoundStep& step, uint32_t divisor, bool stream) const;
  int ownInput(const BoundStep& step) const;
  void reduceInto(char* dst, void* space, const void* const* inputs, int n, int own,
                  const BoundStep& step, uint32_t divisor);
  void reduceThroughScratch(char* dst, void* space, const void* const* inputs, int n, int own,
                            const BoundStep& step, uint32_t divisor);
  void compute(Lane& lane, const BoundStep& step, const Message* received, char* dst, void* space);
  void combine(Lane& lane, const BoundStep& step, char* dst, void* space);
  /// Whether the step's part of dst can be posted where it is.
  bool postsDst(const BoundStep& step, const char* dst) const;
  bool drained(bool* moved);
  CopyTo toUser() const { return call_.stream ? CopyTo::kPast : CopyTo::kUser; }

  /// Stays in the first cache. A multiple of every element's size.
  static constexpr uint64_t kScratchBytes = 8192;
  struct alignas(64) Scratch {
    char bytes[kScratchBytes];
  } scratch_;
  std::vector<const void*> scratchInputs_;

  const BoundPlan* plan_ = nullptr;
  HostCall call_{};
  uint64_t fullPeriods_ = 0;
  uint32_t* stamp_;
  bool mismatch_ = false;
  uint64_t released_ = 0;  // by the readers that are waited for at the end
  uint32_t expected_ = 0;  // stamp of the current step's messages
  std::vector<Lane> lanes_;
};

}  // namespace rondo

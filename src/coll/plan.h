#pragma once
// A plan: what one rank does in one collective, as straight-line steps that do not depend on data
// or time.

#include <cstdint>
#include <vector>

#include "coll/algo/verbs.h"

namespace rondo {

using algo::Count;
using algo::Room;

enum class Collective : uint8_t {
  AllReduce,
  Broadcast,
  Barrier,
  Reduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Gather,
  Scatter,
  Scan,
  Exscan
};
constexpr int kCollectives = 11;
const char* collectiveName(Collective collective);

/// Which slots of a rank's buffers a collective uses (see algo::Block); the geometry's count is
/// that of one slot.
enum class Slots : uint8_t {
  None,  ///< The rank has no such buffer.
  One,   ///< Slot 0 alone: the collective has no slots.
  Mine,  ///< The slot of its own rank.
  All
};
struct SlotUse {
  Slots src;
  Slots dst;
};
SlotUse slotUse(Collective collective, int rank, int root);
/// Whether the collective has slots at all.
bool hasSlots(Collective collective);
bool isRooted(Collective collective);
bool isReduction(Collective collective);

/// One step set for both vocabularies.
enum class StepKind : uint8_t { Move, Put, Signal, Wait, Reduce, Fetch, Barrier };
const char* stepKindName(StepKind kind);

/// One step of one lane. Spaces are named, never addressed: Src and Dst by `bits`, staging by
/// `room` and peer.
struct Step {
  StepKind kind;
  uint8_t bits;  ///< algo::Bits. Reduce: Dst | Final, and Send if the result goes to everyone's All
                 ///< room too; Final | Send if it goes to one rank; none if it only drops.
  Room room;     ///< Wait, Reduce, Fetch.
  int32_t
      from;  ///< Rank that data or a signal comes from; -1: none. Reduce: the first rank it takes.
  int32_t
      to;  ///< Rank that it goes to; -1: none (Move) or everyone (Put, Signal, Reduce with Send).
  Count offset;      ///< Elements from the period's first one.
  Count count;       ///< Elements, > 0 but for Signal, Wait, Barrier and messages without data.
  int32_t slot = 0;  ///< See algo::Block. Signal and Wait: that of what they announce.
  int32_t from2 =
      -1;             ///< Move: a second rank that data comes from. Reduce: one past the last rank.
  int32_t slots = 1;  ///< See algo::Block: `count` elements of each.
  int32_t stride = 1;  ///< 1 where there is one slot.
};

/// Elements of all its slots: what its message holds.
inline Count elementsOf(const Step& step) { return step.count * static_cast<Count>(step.slots); }

/// A message without data, or the taking of one.
inline bool isNotice(const Step& step) {
  return step.kind == StepKind::Move && (step.bits == algo::kSend || step.bits == algo::kRecv);
}

/// The two programs of a lane: one for each full period, one for the shorter last one (may be
/// empty).
struct LaneProgram {
  std::vector<Step> full;
  std::vector<Step> last;
};

struct Algorithm;  // coll/registry.h

/// Every lane runs its `full` program for period 0 .. geometry.fullPeriods() - 1 (the period's
/// first element is period x geometry.period()), then its `last` program once. Lanes are
/// independent of each other: a lane's messages meet the same lane's messages on the other rank, in
/// order, whatever other lanes do.
struct Plan {
  const Algorithm* algorithm;
  algo::Group group;
  algo::Geometry geometry;
  std::vector<LaneProgram> lanes;
  /// For the verifier: slots that have no elements in this period, so that their steps are left out
  /// (uneven slots). Empty: none.
  std::vector<bool> ended = {};
};

}  // namespace rondo

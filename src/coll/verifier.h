#pragma once
// Proves plans sound without running them on data: the plans of all ranks are executed
// symbolically, and whatever could give a wrong value, a race or a hang comes out as a sentence.

#include <string>
#include <vector>

#include "coll/registry.h"

namespace rondo {

/// Sentences that name rank, lane, period and step; empty: sound.
using Findings = std::vector<std::string>;

/// What memory between ranks a plan is checked against.
enum class Staging {
  /// Host channels. Per lane and ordered pair of ranks one queue of `depth` slots for moves and
  /// Pair
  /// puts; per lane and sender one queue that everyone else reads. A send or put blocks until it
  /// has
  /// a slot. Checked over two consecutive calls.
  Credits,
  /// Device windows. Nothing holds a put back: in every second period it writes the same place
  /// again, and the plan itself must order that after the place was read. Moves keep their slots.
  /// Checked over three consecutive calls, by vector clocks.
  Strict
};

struct VerifyOptions {
  int depth = 2;            ///< Slots of a queue.
  bool allPeriods = false;  ///< Run every period, not only those that stand for all of them.
};

/// Checks one call's plans, one per rank in rank order, all of the same algorithm, geometry and
/// root:
///  - form: the fields each step kind allows; a message fits a slot (geometry.chunk);
///  - values: each rank writes each element of dst once and nothing else; an all-reduce brings
///    every rank's contribution in exactly once, in one and the same expression on all ranks, with
///    Final applied last and only there; a broadcast brings the root's; a barrier orders every
///    rank's start before every rank's end;
///  - in place (src == dst): no step reads src where dst was overwritten earlier;
///  - messages: what is sent is read, whole, in order, after a wait where one is due, in the period
///    it was sent in; every signal is waited for; nobody is blocked for ever;
///  - races: Staging::Strict as well, if the algorithm has `device` set and not `deviceMeets`, and
///    no slots have ended.
Findings verifyPlans(const std::vector<Plan>& plans, const VerifyOptions& options = {});

/// verifyPlans() against one kind of staging only.
Findings verifyStaging(const std::vector<Plan>& plans, Staging staging,
                       const VerifyOptions& options = {});

/// Findings if, with src == dst, senders announce addresses instead of copying: a reader then reads
/// the sender's buffer when it consumes the message, so that the sender may write that block (other
/// than in the sending step itself) only after that. A sender must still not return from the call
/// before all it announced was read. What a move passes on without keeping (recvReduceSend) is
/// never announced.
Findings zeroCopyInPlaceFindings(const std::vector<Plan>& plans);

/// Whether zeroCopyInPlaceFindings is empty for every kind of period this algorithm can have on
/// `ranks` ranks. Takes from microseconds to a few milliseconds: keep the answer.
bool zeroCopyInPlaceSafe(const Algorithm& algorithm, int ranks, const RankGroups& groups = {});

/// Findings unless what moves send and keep alike (algo::sendsKept), and nothing else, is taken as
/// it is (algo::takesKept). Then it may be written into the taker's dst when it is sent, in place
/// too, once the taker has begun the call: a complete value of a reduction holds what the taker
/// gave, so its src was read there; and of a value that is only copied nobody but its source reads
/// src. Of algorithms that are moves alone.
Findings straightFindings(const std::vector<Plan>& plans);

/// The plans of all ranks of one call. `geometry.blocks` is set to what the algorithm needs.
std::vector<Plan> recordAllRanks(const Algorithm& algorithm, int ranks, int root,
                                 algo::Geometry geometry, const RankGroups& groups = {});

/// The same without the steps of the slots that have ended; all-to-all: of the ranks that give
/// nothing more.
std::vector<Plan> withoutSlots(std::vector<Plan> plans, const std::vector<bool>& ended);

/// The longest chain of messages that wait for each other in one period of a lane: the hops that
/// latency is paid for. Throws Error if the plans do not run to an end.
int countHops(const std::vector<Plan>& plans);

/// How often a contribution to a result is rounded at most, over all elements of one period of a
/// lane; 0 and 0 where nothing is reduced. Throws as countHops does.
struct Roundings {
  int wide;    ///< With float32 and wider elements: one for each operand that is added to it.
  int narrow;  ///< With 8- and 16-bit floats: one for each step, which adds in float32.
};
Roundings countRoundings(const std::vector<Plan>& plans);

}  // namespace rondo

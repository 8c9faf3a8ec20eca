#pragma once
// What every world of ranks, threads or processes, one GPU or many, must get right. Each case
// returns the number of wrong elements that this rank saw; all ranks call the same cases in order.

#include <ostream>

#include "gpu/rank_env.h"

namespace rondo::test {

uint64_t oneCall(RankEnv& env, uint64_t count, int srcShift, int dstShift, bool inPlace,
                 uint32_t seed);
/// Counts around every boundary, in place and not, aligned and not.
uint64_t manyCounts(RankEnv& env);
/// Calls back to back without a host wait between them, each with its own data.
uint64_t backToBack(RankEnv& env);
/// The same with a full period and a tail of one element: the tail says little about who has read
/// the period.
uint64_t periodTails(RankEnv& env);
/// A captured sequence of calls, replayed with new inputs, eager calls between.
uint64_t graphReplays(RankEnv& env);
/// All counters pass the end of 32 bits; flags of the previous round must not look new.
uint64_t epochWrap(RankEnv& env);

/// conformance.cc, on random bits, against the host's reductions in the order of the same plan:
/// reductions of every type and operator,
uint64_t everyTypeAndOperator(RankEnv& env);
/// premultiplied sums, by one kernel and by two,
uint64_t premultipliedSums(RankEnv& env);
/// every collective at many counts, off alignment and in place,
uint64_t everyCollective(RankEnv& env);
/// and different collectives in a row without a host wait, eager and in graphs.
uint64_t mixedInARow(RankEnv& env);
uint64_t mixedInGraphs(RankEnv& env);

/// One way of doing everything that it is for, by force.
struct Way {
  const char* name;
  const char* rules;  ///< RONDO_TUNE's; what becomes of a call otherwise is left out.
  Protocol protocol;
  const char* only;  ///< The one algorithm that is meant; nullptr: whatever has the protocol.
  bool lines;        ///< For memory of devices whose 128-byte lines arrive whole.
};
inline void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
constexpr Way kWays[] = {
    {"rings",
     "allreduce:device:0-:ring/3,reduce:device:0-:ring/3,reducescatter:device:0-:ring/3,"
     "allgather:device:0-:ring/3,broadcast:device:0-:ring/3,scan:device:0-:chain/3,"
     "exscan:device:0-:chain/3",
     Protocol::kSimple, nullptr, false},
    {"lines",
     "allreduce:device:0-:oneshot/3/LL128,reduce:device:0-:oneshot/3/LL128,"
     "reducescatter:device:0-:direct/3/LL128,allgather:device:0-:direct/3/LL128,"
     "broadcast:device:0-:oneshot/3/LL128,alltoall:device:0-:direct/3/LL128,"
     "scan:device:0-:oneshot/3/LL128,exscan:device:0-:oneshot/3/LL128",
     Protocol::kLL128, nullptr, true},
    {"words",
     "allreduce:device:0-:oneshot/3/LL,reduce:device:0-:oneshot/3/LL,"
     "reducescatter:device:0-:direct/3/LL,allgather:device:0-:direct/3/LL,"
     "broadcast:device:0-:oneshot/3/LL,alltoall:device:0-:direct/3/LL,"
     "scan:device:0-:oneshot/3/LL,exscan:device:0-:oneshot/3/LL",
     Protocol::kLL, nullptr, false},
    {"twoshot", "allreduce:device:0-:twoshot/3", Protocol::kLL128, "twoshot", true},
};
/// grid_cases.cc: every collective, type and operator at every alignment, another one on each rank,
/// in place and not, bit for bit,
uint64_t gridOfAlignments(RankEnv& env, const Way& way);
/// and some of 300 KiB and more.
uint64_t gridOfLongCalls(RankEnv& env, const Way& way);

/// exchange_cases.cc: sends and receives of every size and alignment,
uint64_t transferSizes(RankEnv& env);
/// many of them at once between random ranks, in another order on every rank,
uint64_t transferMix(RankEnv& env);
/// more than a launch has room for,
uint64_t transferRounds(RankEnv& env);
/// without a host wait between them,
uint64_t transfersInARow(RankEnv& env);
/// in graphs, with collectives,
uint64_t transferGraphs(RankEnv& env);
/// and where counters wrap.
uint64_t transferWrap(RankEnv& env);

/// register_cases.cc: large transfers into registered memory, all of the above again,
uint64_t registeredTransfers(RankEnv& env);
/// with some ranks' memory only,
uint64_t partlyRegistered(RankEnv& env);
/// copy_engine_cases.cc: collectives by the copy engines,
uint64_t copyEngineMoves(RankEnv& env);
uint64_t copyEngineSums(RankEnv& env);
uint64_t windowMoves(RankEnv& env);
uint64_t copyEnginesAlone(RankEnv& env);
uint64_t copyEngineGraphs(RankEnv& env);
uint64_t copyEngineCaptures(RankEnv& env);
/// register_cases.cc: and memory that comes and goes, also while it is registered.
uint64_t registeredOverAndOver(RankEnv& env);
/// Ranks of one process, whose memory needs no registration: the transfers again,
uint64_t neighbourTransfers(RankEnv& env);
/// and memory of every kind that comes and goes.
uint64_t neighbourMemoryComesAndGoes(RankEnv& env);
/// and memory that begins anywhere.
uint64_t neighboursAtAnyAddress(RankEnv& env);
/// Ranks of several processes, whose memory is mapped in the background: the transfers again,
uint64_t backgroundTransfers(RankEnv& env);
/// graphs whose memory is freed before a replay,
uint64_t backgroundGraphs(RankEnv& env);
/// memory of every kind that comes and goes,
uint64_t backgroundMemoryComesAndGoes(RankEnv& env);
/// and more of it than there is.
uint64_t backgroundTenTimesTheMemory(RankEnv& env);

/// straight_ring_cases.cc: rings from result to result, by the rules of kWays[0],
uint64_t straightRings(RankEnv& env);
/// and in graphs whose memory is freed before a replay.
uint64_t straightRingGraphs(RankEnv& env);

}  // namespace rondo::test

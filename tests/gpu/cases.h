#pragma once
// What every world of ranks, threads or processes, one GPU or many, must get right. Each case
// returns the number of wrong elements that this rank saw; all ranks call the same cases in order.

#include "gpu/rank_env.h"

namespace rondo::test {

uint64_t oneCall(RankEnv& env, uint64_t count, int srcShift, int dstShift, bool inPlace,
                 uint32_t seed);
/// Counts around every boundary, in place and not, aligned and not.
uint64_t manyCounts(RankEnv& env);
/// Calls back to back without a host wait between them, each with its own data.
uint64_t backToBack(RankEnv& env);
/// The same with full one-shot periods and a tail of one element: the tail says little about who
/// has read the period.
uint64_t periodTails(RankEnv& env);
/// A captured sequence of one-shot and ring calls, replayed with new inputs, eager calls between.
uint64_t graphReplays(RankEnv& env);
/// All counters pass the end of 32 bits; flags of the previous round must not look new.
uint64_t epochWrap(RankEnv& env);

}  // namespace rondo::test

// Rings whose complete values go straight from dst to dst: all that rings must get right, again.

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "gpu/cases.h"
#include "gpu/pass_on.h"

namespace rondo::test {
namespace {

/// Calls until this rank's dst has been offered to the one before it; false: it never was.
bool goesStraight(RankEnv& env, uint64_t* bad) {
  for (uint32_t round = 0; round < 100; ++round) {
    const uint64_t before = registryOf(env).heldMemory().straight;
    *bad += oneCall(env, 100000, 0, 0, false, 70000 + round);
    const char mine = registryOf(env).heldMemory().straight > before ? 1 : 0;
    std::vector<char> all(static_cast<size_t>(env.size()));
    env.boot().allGather(&mine, 1, all.data());
    if (std::count(all.begin(), all.end(), 1) == env.size()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
  }
  return false;
}

uint64_t ringsFrom(RankEnv& env, uint64_t bytes) {
  if (env.size() == 1 || env.runner->throughHost()) return 0;
  registryOf(env).useMemoryFrom(bytes, ~uint64_t{0});
  uint64_t bad = 0;
  if (!goesStraight(env, &bad)) bad += fail(env, "nothing went straight");
  for (const auto test : {manyCounts, backToBack, periodTails, graphReplays, everyCollective,
                          mixedInARow, epochWrap}) {
    bad += test(env);
  }
  return bad;
}

}  // namespace

uint64_t straightRings(RankEnv& env) { return ringsFrom(env, 1); }

uint64_t straightAndOtherRings(RankEnv& env) { return ringsFrom(env, 20000); }

// Of every other rank all of dst, and no src: results in place go through slots, as those of the
// ranks between.
uint64_t partlyStraightRings(RankEnv& env) {
  if (env.size() == 1 || env.runner->throughHost()) return 0;
  env.sync();
  const bool mine = env.rank() % 2 == 0;
  const size_t all = (kMostElements + 2 * kGuard) * sizeof(float);
  const uint64_t number =
      registryOf(env).addMemory(env.boot(), mine ? env.dst : nullptr, mine ? all : 0, false);
  registryOf(env).useMemoryFrom(1, ~uint64_t{0});
  uint64_t bad = backToBack(env) + everyCollective(env) + mixedInARow(env) + graphReplays(env);
  if ((registryOf(env).heldMemory().straight > 0) != mine) bad += fail(env, "the wrong ones went");
  registryOf(env).removeMemory(env.boot(), number);
  return bad + mixedInARow(env);
}

}  // namespace rondo::test

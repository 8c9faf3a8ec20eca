// Random programs on random arrangements of hosts and ranks, without a GPU: any calls in a row, in
// groups and graphs, on device and host memory, on communicators whose numbers wrap.

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/storm_rank.h"

namespace rondo::testing {
namespace {

constexpr size_t kBudget = 24u << 20;

void runStorm(uint32_t seed, size_t budget, int calls) {
  StormPlan plan = drawStorm(seed, budget, calls);
  plan.world.tune = plan.tune.c_str();
  if (std::getenv("RONDO_STORM_SHOW") != nullptr) std::puts(plan.program().c_str());
  StormWatch watch(static_cast<int>(plan.hostOf.size()), plan.text());
  StormShared shared{plan, watch, {}, {}};
  for (const int color : {0, 1}) {
    const std::vector<int> members = stormMembers(plan, color);
    if (members.empty()) continue;
    pretendHosts(hostsOfMembers(plan, members), plan.world.nearCost, &shared.childHosts[color]);
  }
  onHosts(
      plan.hostOf, [&](const FarRank& me) { StormRank(shared, me).run(); }, plan.world);
}

unsigned ofEnvironment(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 0)) : otherwise;
}

// RONDO_STORM=N runs N seeds instead, from RONDO_STORM_SEED on.
TEST(LevelsStorm, EveryCallIsRight) {
#ifdef __SANITIZE_THREAD__
  constexpr unsigned kSeeds = 2;
#else
  constexpr unsigned kSeeds = 6;
#endif
  const unsigned first = ofEnvironment("RONDO_STORM_SEED", 1);
  const unsigned seeds = ofEnvironment("RONDO_STORM", kSeeds);
  for (unsigned seed = first; seed < first + seeds && !HasFailure(); ++seed) {
    runStorm(seed, kBudget, 10 + static_cast<int>(seed % 5) * 10);
  }
}

}  // namespace
}  // namespace rondo::testing

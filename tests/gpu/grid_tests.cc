// The whole grid of collectives on one GPU: the ranks are threads of this process.

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "gpu/cases.h"
#include "gpu/world.h"

namespace rondo::test {
namespace {

class Grid : public testing::TestWithParam<std::tuple<int, Way>> {
 protected:
  static void run(uint64_t (*test)(RankEnv&, const Way&)) {
    const auto& [ranks, way] = GetParam();
    if (way.lines && hostMemoryAsked()) GTEST_SKIP() << "lines are for memory of devices";
    DeviceConfig config = patient();
    config.tune = parseTune(way.rules);
    runWorld(ranks, config, [&, chosen = way](RankEnv& env) {
      EXPECT_EQ(test(env, chosen), 0u);
      env.sync();
      EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    });
  }
};

TEST_P(Grid, EveryAlignment) { run(gridOfAlignments); }
TEST_P(Grid, LongCalls) { run(gridOfLongCalls); }

INSTANTIATE_TEST_SUITE_P(OneGpu, Grid,
                         testing::Combine(testing::Range(2, 9), testing::ValuesIn(kWays)),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) + "_" +
                                  std::get<1>(each.param).name;
                         });

}  // namespace
}  // namespace rondo::test

// The whole grid of collectives on one GPU: the ranks are threads of this process.

#include <gtest/gtest.h>

#include <algorithm>
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

// What RankEnv::settle() is for. Stood still in nearly every run (H200, CUDA 13.0, 2026-11-28), as
// two of six kernels did not begin; the cause is not known. Alone, in a fresh process:
// gpu_tests --gtest_also_run_disabled_tests --gtest_filter='Copies.*'
TEST(Copies, DISABLED_AndTwoRingsOfSixRanks) {
  constexpr size_t kBytes = 1167367;
  DeviceConfig config = patient();
  config.tune = parseTune("allreduce:device:0-:ring/3");
  runWorld(6, config, [&](RankEnv& env) {
    std::fill_n(reinterpret_cast<char*>(env.host), kBytes, static_cast<char>(env.rank()));
    cuda(cudaMemcpyAsync(env.src, env.host, kBytes, cudaMemcpyHostToDevice, env.stream), "copy");
    env.sync();
    env.barrier();
    for (int call = 0; call < 2; ++call) {
      env.runner->run({"rondoAllReduce", Collective::AllReduce, env.src, env.dst, kBytes, rondoInt8,
                       rondoMax, 0, env.stream});
    }
    env.sync();
    EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
  });
}

INSTANTIATE_TEST_SUITE_P(OneGpu, Grid,
                         testing::Combine(testing::Range(2, 9), testing::ValuesIn(kWays)),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) + "_" +
                                  std::get<1>(each.param).name;
                         });

}  // namespace
}  // namespace rondo::test

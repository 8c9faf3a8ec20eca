// Device collectives on one GPU: the ranks are threads of this process.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/log.h"
#include "gpu/cases.h"
#include "gpu/pass_on.h"
#include "gpu/world.h"
#include "kernels/launch.h"
#include "p2p/cuda_device.h"
#include "support/thread_bootstrap.h"

namespace rondo::test {
namespace {

// How all-reduce is done: free, or by force.
constexpr const char* kForced[] = {"",          "oneshot", "oneshot/3/LL128",
                                   "twoshot/2", "twoshot", "ring"};

class Ranks : public testing::TestWithParam<std::tuple<int, const char*>> {
 protected:
  void run(uint64_t (*test)(RankEnv&), DeviceConfig config = patient()) {
    const std::string how = std::get<1>(GetParam());
    if (!how.empty()) config.tune = parseTune("allreduce:device:0-:" + how);
    runWorld(std::get<0>(GetParam()), config, [&](RankEnv& env) {
      EXPECT_EQ(test(env), 0u);
      env.sync();
      EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    });
  }
};

TEST_P(Ranks, ManyCounts) { run(manyCounts); }
TEST_P(Ranks, BackToBack) { run(backToBack); }
TEST_P(Ranks, PeriodTails) { run(periodTails); }
TEST_P(Ranks, GraphReplays) { run(graphReplays); }
TEST_P(Ranks, EpochWrap) { run(epochWrap); }

std::string nameOfRanks(const testing::TestParamInfo<std::tuple<int, const char*>>& info) {
  std::string how = std::get<1>(info.param);
  std::replace(how.begin(), how.end(), '/', '_');
  return std::to_string(std::get<0>(info.param)) + (how.empty() ? "" : "_" + how);
}
INSTANTIATE_TEST_SUITE_P(OneGpu, Ranks,
                         testing::Combine(testing::Values(2, 3, 4, 8), testing::ValuesIn(kForced)),
                         nameOfRanks);
INSTANTIATE_TEST_SUITE_P(OneGpuFree, Ranks,
                         testing::Combine(testing::Values(1, 5, 6, 7), testing::Values("")),
                         nameOfRanks);

class Conformance : public testing::TestWithParam<int> {
 protected:
  // The windows of all collectives, or all rings.
  void run(uint64_t (*test)(RankEnv&), bool rings) {
    DeviceConfig config = patient();
    std::string rules;
    for (const char* name : {"allreduce", "reduce", "reducescatter", "allgather", "broadcast"}) {
      if (rings) rules += std::string(name) + ":device:0-:ring,";
    }
    if (rings) rules += "scan:device:0-:chain,exscan:device:0-:chain";
    if (!rings) {
      rules =
          "allreduce:device:0-8K:oneshot/2/LL128,allreduce:device:8K-:twoshot/3,"
          "reduce:device:0-:oneshot/2,reducescatter:device:0-:direct/3,"
          "allgather:device:0-:direct/3,broadcast:device:0-:oneshot/2,"
          "alltoall:device:0-:direct/3,scan:device:0-:oneshot/2,exscan:device:0-:oneshot/2";
    }
    config.tune = parseTune(rules);
    run(test, config);
  }
  void run(uint64_t (*test)(RankEnv&), const DeviceConfig& config) {
    runWorld(GetParam(), config, [&](RankEnv& env) {
      EXPECT_EQ(test(env), 0u);
      env.sync();
      EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    });
  }
};

TEST_P(Conformance, EveryTypeAndOperatorThroughWindows) { run(everyTypeAndOperator, false); }
TEST_P(Conformance, PremultipliedSums) { run(premultipliedSums, patient()); }
TEST_P(Conformance, PremultipliedSumsThroughWindows) { run(premultipliedSums, false); }
TEST_P(Conformance, PremultipliedSumsRoundTheRing) { run(premultipliedSums, true); }
TEST_P(Conformance, EveryTypeAndOperatorRoundTheRing) { run(everyTypeAndOperator, true); }
TEST_P(Conformance, EveryCollectiveThroughWindows) { run(everyCollective, false); }
TEST_P(Conformance, EveryCollectiveRoundTheRing) { run(everyCollective, true); }
TEST_P(Conformance, MixedInARow) {
  runWorld(GetParam(), patient(), [&](RankEnv& env) { EXPECT_EQ(mixedInARow(env), 0u); });
}
TEST_P(Conformance, MixedWindowsInARow) { run(mixedInARow, false); }
TEST_P(Conformance, MixedInGraphs) { run(mixedInGraphs, patient()); }
TEST_P(Conformance, MixedWindowsInGraphs) { run(mixedInGraphs, false); }
// Slices of pipelines are half as long as those of the others.
TEST_P(Conformance, MixedRingsInARow) { run(mixedInARow, true); }
TEST_P(Conformance, MixedRingsInGraphs) { run(mixedInGraphs, true); }
TEST_P(Conformance, MixedRingsWrap) {
  run(
      [](RankEnv& env) {
        env.runner->startEpochsAt(0xfffffff3u);
        env.barrier();
        return mixedInARow(env) + mixedInGraphs(env);
      },
      true);
}
// Windows of both protocols in turn, in which ranks say hello.
TEST_P(Conformance, MixedProtocolsInARow) {
  DeviceConfig config = patient();
  config.tune = parseTune(
      "broadcast:device:0-:oneshot/2/LL,reduce:device:0-:oneshot/2/LL128,"
      "allgather:device:0-:direct/3/LL,alltoall:device:0-:direct/3/LL128");
  run(mixedInARow, config);
}
INSTANTIATE_TEST_SUITE_P(OneGpu, Conformance, testing::Values(1, 2, 3, 4, 8));

// What a further communicator has without asking (leanShape): fewer lanes of rings, of LL and of
// sends than blocks.
class Lean : public testing::TestWithParam<int> {
 protected:
  void run(uint64_t (*test)(RankEnv&), const char* rules = "") {
    DeviceConfig config = patient();
    config.smMost = 10;
    config.lean = true;
    config.tune = parseTune(rules);
    runWorld(GetParam(), config, [&](RankEnv& env) {
      EXPECT_EQ(test(env), 0u);
      env.sync();
      EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    });
  }
};

TEST_P(Lean, ManyCounts) { run(manyCounts); }
TEST_P(Lean, PeriodTails) { run(periodTails); }
TEST_P(Lean, EveryCollective) { run(everyCollective); }
TEST_P(Lean, MixedInARow) { run(mixedInARow); }
TEST_P(Lean, MixedInGraphs) { run(mixedInGraphs); }
TEST_P(Lean, TransfersInARow) { run(transfersInARow); }
TEST_P(Lean, TransferGraphs) { run(transferGraphs); }
TEST_P(Lean, MixedRingsInARow) {
  run(mixedInARow,
      "allreduce:device:0-:ring,reduce:device:0-:ring,reducescatter:device:0-:ring,"
      "allgather:device:0-:ring,broadcast:device:0-:ring");
}
INSTANTIATE_TEST_SUITE_P(OneGpu, Lean, testing::Values(2, 3, 4, 5, 8));

// With blocks for every lane, and with so few that each takes turns with many; by lines, and as
// where they do not arrive whole.
class Transfers : public testing::TestWithParam<std::tuple<int, int, bool>> {
 protected:
  void run(uint64_t (*test)(RankEnv&)) {
    DeviceConfig config = patient();
    config.smBudget = std::get<1>(GetParam());
    config.noLineStores = !std::get<2>(GetParam());
    runWorld(std::get<0>(GetParam()), config, [&](RankEnv& env) {
      EXPECT_EQ(test(env), 0u);
      env.sync();
      EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    });
  }
};

TEST_P(Transfers, Sizes) { run(transferSizes); }
TEST_P(Transfers, Mix) { run(transferMix); }
TEST_P(Transfers, Rounds) { run(transferRounds); }
TEST_P(Transfers, InARow) { run(transfersInARow); }
TEST_P(Transfers, Graphs) { run(transferGraphs); }
TEST_P(Transfers, Wrap) { run(transferWrap); }
INSTANTIATE_TEST_SUITE_P(OneGpu, Transfers,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8), testing::Values(0, 1),
                                          testing::Bool()),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) +
                                  (std::get<1>(each.param) == 0 ? "" : "_small") +
                                  (std::get<2>(each.param) ? "" : "_simple");
                         });

class StraightRings : public testing::TestWithParam<int> {
 protected:
  void run(uint64_t (*test)(RankEnv&)) {
    DeviceConfig config = patient();
    config.tune = parseTune(kWays[0].rules);
    runWorld(GetParam(), config, [&](RankEnv& env) {
      EXPECT_EQ(test(env), 0u);
      env.sync();
      EXPECT_EQ(errorOf([&] { env.runner->check(); }).sentence(), "");
    });
  }
};
TEST_P(StraightRings, AnyLength) { run(straightRings); }
TEST_P(StraightRings, Graphs) { run(straightRingGraphs); }
INSTANTIATE_TEST_SUITE_P(OneGpu, StraightRings, testing::Values(2, 3, 4, 8),
                         [](const auto& each) { return std::to_string(each.param); });

// A rank that is left alone with its transfer, and one that is told to stop.
TEST(Faults, TransfersEndToo) {
  DeviceConfig config;
  config.spinBoundMs = 100;
  for (const uint64_t bytes : {100u, 5000000u}) {
    for (const bool sends : {false, true}) {
      if (sends && bytes == 100) continue;  // it fits into the peer's memory: nobody waits
      runWorld(2, config, [&](RankEnv& env) {
        if (env.rank() == 0) {
          const Transfer alone{1, sends, reinterpret_cast<char*>(env.src), bytes};
          env.runner->exchange("rondoSend", {&alone, 1}, {&env.stream, 1});
          env.sync();
          EXPECT_EQ(errorOf([&] { env.runner->check(); }).code(), rondoRemoteError);
        }
        env.barrier();
      });
    }
  }
}

TEST(Memory, LegacyIpcMemory) {
  DeviceConfig config = patient();
  config.legacyIpc = true;
  runWorld(4, config, [&](RankEnv& env) { EXPECT_EQ(backToBack(env), 0u); });
}

// As RONDO_P2P=off has it, and where devices do not reach each other.
TEST(Memory, OfTheHost) {
  DeviceConfig config = patient();
  config.hostMemory = true;
  for (const int ranks : {1, 2, 4}) {
    for (const auto test : {backToBack, periodTails, graphReplays, epochWrap, everyCollective,
                            transferMix, transferGraphs, transferWrap}) {
      runWorld(ranks, config, [&](RankEnv& env) {
        EXPECT_TRUE(env.runner->throughHost());
        EXPECT_EQ(test(env), 0u);
      });
    }
  }
}

// A rank whose writes to its peers go astray is found out before anything is computed: all go by
// way of host memory, and a warning says why.
TEST(Memory, WritesThatDoNotArriveAreFoundOut) {
  configureLog("warn", "");
  testing::internal::CaptureStderr();
  runWorldOf(
      3,
      [](int rank) {
        DeviceConfig config = patient();
        config.losePeerWrites = rank == 1;
        return config;
      },
      [](RankEnv& env) {
        EXPECT_TRUE(env.runner->throughHost());
        EXPECT_EQ(backToBack(env), 0u);
      });
  configureLog("off", "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("what rank 1 writes to the GPU memory of rank 0"), std::string::npos) << said;
  EXPECT_NE(said.find("IOMMU"), std::string::npos) << said;
}

TEST(Faults, SpinBoundEndsTheKernelAndIsReported) {
  DeviceConfig config;
  config.spinBoundMs = 100;
  for (uint64_t count : {100u, 200000u}) {
    runWorld(2, config, [&](RankEnv& env) {
      if (env.rank() == 0) {
        env.allReduce(env.src, env.dst, count);
        env.sync();
        const Error late = errorOf([&] { env.runner->check(); });
        EXPECT_EQ(late.code(), rondoRemoteError);
        EXPECT_NE(late.sentence().find("100 ms (RONDO_SPIN_BOUND_MS)"), std::string::npos)
            << late.sentence();
        EXPECT_EQ(errorOf([&] { env.allReduce(env.src, env.dst, count); }).code(),
                  rondoRemoteError);
      }
      env.barrier();
    });
  }
}

TEST(Faults, AbortEndsAWaitWithoutBound) {
  for (uint64_t count : {100u, 200000u}) {
    runWorld(2, DeviceConfig{}, [&](RankEnv& env) {
      if (env.rank() == 1) {
        env.allReduce(env.src, env.dst, count);
        EXPECT_EQ(cudaStreamQuery(env.stream), cudaErrorNotReady);
        env.runner->abort();
        env.sync();
        const Error aborted = errorOf([&] { env.runner->check(); });
        EXPECT_EQ(aborted.code(), rondoRemoteError);
        EXPECT_NE(aborted.sentence().find("aborted"), std::string::npos);
      }
      env.barrier();
    });
  }
}

constexpr uint64_t kGivenUp = 1000000;  // words

/// Rank 0's kernel begins when rank 1 has given up the same call, of which rank 0 has heard by then
/// or not, and writes nowhere. `call` is made once by both ranks before, and `queued` times then.
void beginAfterAnAbort(const DeviceConfig& config, std::pair<bool, int> heardQueued,
                       void (*call)(RankEnv&)) {
  const bool heard = heardQueued.first;
  const int queued = heardQueued.second;
  std::atomic<bool> opened{false};
  runWorld(2, config, [&](RankEnv& env) {
    registryOf(env).useMemoryFrom(64, ~uint64_t{0});
    call(env);
    env.sync();
    const uint64_t offered = registryOf(env).heldMemory().straight;
    env.barrier();
    const auto stand = [](void* until) {
      while (!static_cast<std::atomic<bool>*>(until)->load()) std::this_thread::yield();
    };
    if (env.rank() == 0) cuda(cudaLaunchHostFunc(env.stream, stand, &opened), "a host function");
    for (int i = 0; i < queued; ++i) call(env);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // rank 1 has made its offer
    env.barrier();
    if (heard || env.rank() == 1) env.runner->abort();
    if (env.rank() == 1) {
      EXPECT_GT(offered, 0u);
      EXPECT_EQ(registryOf(env).heldMemory().straight, static_cast<uint64_t>(1 + queued) * offered);
      env.sync();
      cuda(cudaMemsetAsync(env.dst, 0xff, kGivenUp * sizeof(float), env.stream), "memset");
      env.sync();
    }
    env.barrier();
    opened = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // rank 0's kernel runs
    env.runner->abort();
    env.sync();
    env.barrier();
    cuda(cudaMemcpyAsync(env.host, env.dst, kGivenUp * sizeof(float), cudaMemcpyDeviceToHost,
                         env.stream),
         "copy");
    env.sync();
    uint64_t written = 0;
    for (uint64_t i = 0; i < kGivenUp; ++i) written += std::bit_cast<uint32_t>(env.host[i]) != ~0u;
    EXPECT_EQ(env.rank() == 1 ? written : 0, 0u);
    env.barrier();
  });
}

/// Whether rank 0 has heard, and how many calls each rank has made.
class GivenUp : public testing::TestWithParam<std::pair<bool, int>> {};

TEST_P(GivenUp, ARingBegins) {
  DeviceConfig config;
  config.tune = parseTune(kWays[0].rules);
  beginAfterAnAbort(config, GetParam(),
                    [](RankEnv& env) { env.allReduce(env.src, env.dst, kGivenUp); });
}

TEST_P(GivenUp, ASendBegins) {
  beginAfterAnAbort(DeviceConfig{}, GetParam(), [](RankEnv& env) {
    float* const data = env.rank() == 0 ? env.src : env.dst;
    const Transfer transfer{1 - env.rank(), env.rank() == 0, reinterpret_cast<char*>(data),
                            kGivenUp * sizeof(float)};
    env.runner->exchange("rondoSend", {&transfer, 1}, {&env.stream, 1});
  });
}

// Blocks of threads with several lanes, some of which have begun.
TEST_P(GivenUp, AnExchangeBegins) {
  beginAfterAnAbort(DeviceConfig{}, GetParam(), [](RankEnv& env) {
    constexpr uint64_t kHalf = kGivenUp / 2;
    std::vector<Transfer> transfers;
    for (const uint64_t from : {uint64_t{0}, kHalf}) {
      for (const bool sends : {true, false}) {
        float* const data = (sends ? env.src : env.dst) + from;
        transfers.push_back(
            {1 - env.rank(), sends, reinterpret_cast<char*>(data), kHalf * sizeof(float)});
      }
    }
    env.runner->exchange("rondoGroupEnd", transfers, {&env.stream, 1});
  });
}

INSTANTIATE_TEST_SUITE_P(Faults, GivenUp,
                         testing::Values(std::pair{false, 1}, std::pair{true, 1},
                                         std::pair{false, 2}, std::pair{true, 2}),
                         [](const auto& each) {
                           return std::string(each.param.first ? "Heard" : "NotHeard") +
                                  (each.param.second > 1 ? "Queued" : "");
                         });

// Two communicators of the same ranks, used in opposite orders on two streams: their kernels fit on
// the device together, so both complete.
TEST(Communicators, DoNotWaitForEachOther) {
  ThreadGroup other(2);
  runWorld(2, patient(), [&](RankEnv& first) {
    ThreadBootstrap boot(other, first.rank());
    RankEnv second(boot, nullptr, patient());
    ASSERT_NE(second.runner, nullptr) << second.why;
    RankEnv* inOrder[] = {&first, &second};
    if (first.rank() == 1) std::swap(inOrder[0], inOrder[1]);
    for (uint64_t count : {50u, 20000u, 150000u}) {
      first.load(first.src, first.dst, count, 1);
      second.load(second.src, second.dst, count, 2);
      first.barrier();
      for (RankEnv* env : inOrder) env->allReduce(env->src, env->dst, count);
      EXPECT_EQ(first.wrong(first.dst, count, 1), 0u);
      EXPECT_EQ(second.wrong(second.dst, count, 2), 0u);
    }
    first.barrier();
  });
}

TEST(Devices, ThreadsOfOneProcessOnSeveral) {
  if (devices() < 2) GTEST_SKIP() << "needs two GPUs";
  for (bool legacy : {false, true}) {
    DeviceConfig config = patient();
    config.legacyIpc = legacy;
    const auto body = [](RankEnv& env) {
      EXPECT_EQ(env.runner->device(), env.rank() % devices());
      EXPECT_EQ(manyCounts(env), 0u);
      EXPECT_EQ(graphReplays(env), 0u);
    };
    runWorld(devices(), config, body, devices());
    runWorld(devices() + 1, config, body, devices());
  }
}

// The caller's current device is neither needed nor changed.
TEST(Devices, CallWhileAnotherIsCurrent) {
  if (devices() < 2) GTEST_SKIP() << "needs two GPUs";
  const auto body = [](RankEnv& env) {
    for (uint64_t count : {77u, 200001u}) {
      env.load(env.src, env.dst, count, 3);
      const int other = (env.rank() + 1) % 2;
      cuda(cudaSetDevice(other), "cudaSetDevice");
      env.allReduce(env.src, env.dst, count);
      int now = -1;
      cuda(cudaGetDevice(&now), "cudaGetDevice");
      EXPECT_EQ(now, other);
      cuda(cudaSetDevice(env.rank()), "cudaSetDevice");
      EXPECT_EQ(env.wrong(env.dst, count, 3), 0u);
    }
  };
  runWorld(2, patient(), body, 2);
}

TEST(BadInput, HasASentence) {
  runWorld(1, patient(), [](RankEnv& env) {
    DeviceRunner& runner = *env.runner;
    DeviceCall call{"rondoAllReduce", Collective::AllReduce, env.src, env.dst,   4,
                    rondoFloat32,     rondoRedOp_t{1000},    0,       env.stream};
    const Error op = errorOf([&] { runner.run(call); });
    EXPECT_EQ(op.code(), rondoUnsupported);
    EXPECT_NE(op.sentence().find("rank 0: argument op is 1000"), std::string::npos)
        << op.sentence();
    call.op = rondoSum;
    call.send = reinterpret_cast<const char*>(env.src) + 2;
    const Error place = errorOf([&] { runner.run(call); });
    EXPECT_EQ(place.code(), rondoInvalidArgument);
    EXPECT_NE(place.sentence().find("sendbuff"), std::string::npos) << place.sentence();
    call.send = call.recv = nullptr;
    call.count = 0;
    runner.run(call);
  });
}

TEST(BadInput, DeviceThatDoesNotExist) {
  ThreadGroup group(1);
  ThreadBootstrap boot(group, 0);
  DeviceConfig config;
  config.device = 1000;
  std::string why;
  const Error error = errorOf([&] { createDeviceRunner(boot, nullptr, {}, config, &why); });
  EXPECT_EQ(error.code(), rondoInvalidArgument);
  EXPECT_NE(error.sentence().find("device 1000"), std::string::npos) << error.sentence();
  config.device = RONDO_DEVICE_NONE;
  EXPECT_EQ(createDeviceRunner(boot, nullptr, {}, config, &why), nullptr);
  EXPECT_NE(why.find("rank 0"), std::string::npos) << why;
}

TEST(PointerKind, TellsHostDeviceAndManaged) {
  float local = 0;
  float *device = nullptr, *managed = nullptr, *pinned = nullptr;
  cuda(cudaMalloc(&device, 4096), "cudaMalloc");
  cuda(cudaMallocManaged(&managed, 4096), "cudaMallocManaged");
  cuda(cudaMallocHost(&pinned, 4096), "cudaMallocHost");
  EXPECT_EQ(pointerKind(&local).memory, PointerKind::kHost);
  EXPECT_EQ(pointerKind(pinned).memory, PointerKind::kHost);
  EXPECT_EQ(pointerKind(nullptr).memory, PointerKind::kHost);
  EXPECT_EQ(pointerKind(device + 7).memory, PointerKind::kDevice);
  EXPECT_EQ(pointerKind(device).device, 0);
  EXPECT_EQ(pointerKind(managed).memory, PointerKind::kManaged);
  cudaFree(device);
  cudaFree(managed);
  cudaFreeHost(pinned);
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) {
  // Ranks that share a GPU need hardware queues of their own, and no kernel may load late.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("RONDO_SPIN_BOUND_MS", "20000", 0);  // a hang becomes a failure
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

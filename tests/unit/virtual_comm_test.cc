// Virtual communicators: arguments are checked, time is told, buffers are left alone.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/rondo_virtual.h"
#include "coll/sim/rehearsal.h"
#include "support/topo_refusal.h"
#include "topo/synthetic.h"

namespace {

using rondo::testing::expectPart;

constexpr const char* kCluster = "4 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail";

rondoPrediction_t predictionOf(rondoComm_t comm) {
  rondoPrediction_t out{};
  out.size = sizeof out;
  EXPECT_EQ(rondoCommGetPrediction(comm, &out), rondoSuccess) << rondoGetLastError(comm);
  return out;
}

class Virtual : public ::testing::Test {
 protected:
  rondoComm_t make(const char* topology, int ranks, int rank,
                   const rondoVirtualConfig_t* config = nullptr) {
    rondoComm_t comm = nullptr;
    EXPECT_EQ(rondoCommInitVirtual(&comm, topology, ranks, rank, config), rondoSuccess)
        << rondoGetLastError(nullptr);
    return comm;
  }
};

TEST_F(Virtual, KnowsItsPlace) {
  rondoComm_t comm = make(kCluster, 0, 11);
  int count = 0, rank = 0, local = 0, locals = 0, device = 0;
  EXPECT_EQ(rondoCommCount(comm, &count), rondoSuccess);
  EXPECT_EQ(rondoCommUserRank(comm, &rank), rondoSuccess);
  EXPECT_EQ(rondoCommLocalRank(comm, &local), rondoSuccess);
  EXPECT_EQ(rondoCommLocalSize(comm, &locals), rondoSuccess);
  EXPECT_EQ(rondoCommCuDevice(comm, &device), rondoSuccess);
  EXPECT_EQ(count, 32);
  EXPECT_EQ(rank, 11);
  EXPECT_EQ(local, 3);
  EXPECT_EQ(locals, 8);
  EXPECT_EQ(device, RONDO_DEVICE_NONE);
  EXPECT_EQ(predictionOf(comm).calls, 0u);
  EXPECT_STREQ(predictionOf(comm).lastCall, "");
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST_F(Virtual, EveryCollectiveTakesTheTimeThatTheSimulatorSays) {
  rondoComm_t comm = make(kCluster, 0, 0);
  // Addresses at which there is nothing: whoever touched them would know.
  auto* const send = reinterpret_cast<float*>(uintptr_t{1} << 40);
  auto* const recv = reinterpret_cast<float*>(uintptr_t{1} << 41);
  rondoStream_t stream = reinterpret_cast<rondoStream_t>(uintptr_t{64});
  constexpr size_t kCount = 1 << 18;
  const rondo::topo::Graph graph = rondo::topo::parseSynthetic(kCluster);
  rondo::sim::Settings settings;
  settings.mostSteps = 2e6;
  rondo::sim::Rehearsal on(graph, 0, settings);
  uint64_t sum = 0, calls = 0;
  const auto expect = [&](rondoResult_t result, rondo::Collective collective, uint64_t bytes,
                          int root) {
    ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(comm);
    const auto& best = on.best({collective, bytes, root});
    const rondoPrediction_t p = predictionOf(comm);
    EXPECT_EQ(p.lastPicoseconds, best.result.picoseconds) << p.lastCall;
    EXPECT_STREQ(p.lastAlgorithm, best.algorithm->name);
    EXPECT_EQ(p.lastBytes, bytes);
    sum += best.result.picoseconds;
    EXPECT_EQ(p.picoseconds, sum);
    EXPECT_EQ(p.calls, ++calls);
  };
  using rondo::Collective;
  constexpr uint64_t kBytes = kCount * 4;
  expect(rondoAllReduce(send, recv, kCount, rondoFloat32, rondoSum, comm, stream),
         Collective::AllReduce, kBytes, 0);
  expect(rondoAllReduce(send, recv, kCount, rondoFloat32, rondoSum, comm, stream),
         Collective::AllReduce, kBytes, 0);
  expect(rondoBroadcast(send, recv, kCount, rondoFloat32, 5, comm, stream), Collective::Broadcast,
         kBytes, 5);
  expect(rondoReduce(send, recv, kCount, rondoFloat32, rondoMax, 3, comm, stream),
         Collective::Reduce, kBytes, 3);
  expect(rondoAllGather(send, recv, kCount / 32, rondoFloat32, comm, stream), Collective::AllGather,
         kBytes, 0);
  expect(rondoReduceScatter(send, recv, kCount / 32, rondoFloat32, rondoSum, comm, stream),
         Collective::ReduceScatter, kBytes, 0);
  expect(rondoAllToAll(send, recv, kCount / 32, rondoFloat32, comm, stream), Collective::AllToAll,
         kBytes, 0);
  expect(rondoBarrier(comm, nullptr), Collective::Barrier, 0, 0);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST_F(Virtual, SendsTakeTheirRoutesTime) {
  rondoComm_t comm = make(kCluster, 0, 0);
  char* const buffer = reinterpret_cast<char*>(uintptr_t{1} << 40);
  constexpr size_t kBytes = 50'000'000;
  ASSERT_EQ(rondoSend(buffer, kBytes, rondoInt8, 1, comm, nullptr), rondoSuccess);
  const uint64_t near = predictionOf(comm).lastPicoseconds;
  ASSERT_EQ(rondoRecv(buffer, kBytes, rondoInt8, 9, comm, nullptr), rondoSuccess);
  const uint64_t far = predictionOf(comm).lastPicoseconds;
  EXPECT_STREQ(predictionOf(comm).lastAlgorithm, "p2p");
  // 333 GB/s over NVLink, 50 GB/s over the network.
  EXPECT_NEAR(static_cast<double>(near) * 1e-6, 50e6 / 333e3, 30);
  EXPECT_NEAR(static_cast<double>(far) * 1e-6, 50e6 / 50e3, 100);
  // Both at once take as long as the longer one, and one after the other what both take.
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  ASSERT_EQ(rondoSend(buffer, kBytes, rondoInt8, 1, comm, nullptr), rondoSuccess);
  ASSERT_EQ(rondoRecv(buffer, kBytes, rondoInt8, 9, comm, nullptr), rondoSuccess);
  EXPECT_EQ(predictionOf(comm).calls, 2u) << "a group runs at its end";
  ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
  EXPECT_EQ(predictionOf(comm).calls, 3u);
  EXPECT_EQ(predictionOf(comm).lastPicoseconds, far);
  EXPECT_EQ(predictionOf(comm).lastBytes, 2 * kBytes);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST_F(Virtual, APredictedGroupTakesAsLongAndIsNotMade) {
  const std::string output = ::testing::TempDir() + "rondo_predicted." + std::to_string(getpid());
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  config.output = output.c_str();
  config.ownData = 1;
  rondoComm_t comm = make(kCluster, 16, 3, &config);
  std::vector<float> in(1 << 20, 5.0f), out(1 << 20, -1.0f);
  const auto collect = [&](int sums, bool sends) {
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (int i = 0; i < sums; ++i) {
      ASSERT_EQ(
          rondoAllReduce(in.data(), out.data(), in.size(), rondoFloat32, rondoSum, comm, nullptr),
          rondoSuccess);
    }
    if (!sends) return;
    ASSERT_EQ(rondoSend(in.data(), 1000, rondoFloat32, 4, comm, nullptr), rondoSuccess);
    ASSERT_EQ(rondoRecv(out.data(), 999, rondoFloat32, 12, comm, nullptr), rondoSuccess);
  };
  const auto foretold = [&](int sums, bool sends) {
    uint64_t time = 0;
    collect(sums, sends);
    EXPECT_EQ(rondoGroupPredict(&time), rondoSuccess) << rondoGetLastError(comm);
    return time;
  };
  const uint64_t one = foretold(1, false), two = foretold(2, false), all = foretold(2, true);
  EXPECT_EQ(predictionOf(comm).calls, 0u);
  EXPECT_EQ(predictionOf(comm).picoseconds, 0u);
  EXPECT_EQ(predictionOf(comm).planningNanoseconds, 0u);
  EXPECT_EQ(out[0], -1.0f);
  EXPECT_GT(one, 0u);
  EXPECT_EQ(two, 2 * one);
  EXPECT_GT(all, two);
  collect(2, true);
  ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(comm);
  EXPECT_EQ(predictionOf(comm).calls, 3u);
  EXPECT_EQ(predictionOf(comm).picoseconds, all);
  EXPECT_EQ(predictionOf(comm).lastPicoseconds, one);
  EXPECT_EQ(out[0], 5.0f);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  const auto lines = [&](const char* of) {
    std::ifstream file(output + of);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  EXPECT_EQ(lines(".calls.csv"), 1 + 3);
  for (const char* of : {".calls.csv", ".flows.csv", ".trace.json"}) {
    EXPECT_TRUE(std::filesystem::remove(output + of));
  }
}

// A child's calls come after its parent's; another rank's do not wait for them.
TEST_F(Virtual, APredictedGroupHasOneClockForEachRank) {
  rondoComm_t ranks[2] = {make(kCluster, 16, 0), make(kCluster, 16, 1)};
  rondoComm_t child = nullptr;
  ASSERT_EQ(rondoCommSplitVirtual(ranks[0], "rank / 8", &child, nullptr), rondoSuccess);
  char* const at = reinterpret_cast<char*>(uintptr_t{1} << 40);
  const auto sum = [&](rondoComm_t comm, size_t count) {
    return rondoAllReduce(at, at, count, rondoInt8, rondoSum, comm, nullptr);
  };
  uint64_t both = 0;
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  EXPECT_EQ(sum(ranks[0], 1 << 20), rondoSuccess);
  EXPECT_EQ(sum(child, 1 << 20), rondoSuccess);
  EXPECT_EQ(sum(ranks[1], 1 << 20), rondoSuccess);
  ASSERT_EQ(rondoGroupPredict(&both), rondoSuccess) << rondoGetLastError(nullptr);
  EXPECT_EQ(sum(ranks[0], 1 << 20), rondoSuccess);
  EXPECT_EQ(sum(child, 1 << 20), rondoSuccess);
  EXPECT_GT(predictionOf(child).picoseconds, 0u);
  EXPECT_EQ(both, predictionOf(ranks[0]).picoseconds + predictionOf(child).picoseconds);
  for (rondoComm_t comm : {child, ranks[0], ranks[1]}) {
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }
}

TEST_F(Virtual, GroupsJoinSmallNeighbours) {
  rondoComm_t comm = make(kCluster, 0, 0);
  char* const send = reinterpret_cast<char*>(uintptr_t{1} << 40);
  char* const recv = reinterpret_cast<char*>(uintptr_t{1} << 41);
  rondoGroupStart();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(rondoAllReduce(send + i * 4096, recv + i * 4096, 1024, rondoFloat32, rondoSum, comm,
                             nullptr),
              rondoSuccess);
  }
  rondoRequest_t request = nullptr;
  ASSERT_EQ(rondoGroupEndAsync(&request), rondoSuccess);
  EXPECT_EQ(rondoWait(&request), rondoSuccess);
  EXPECT_EQ(predictionOf(comm).calls, 1u);
  EXPECT_EQ(predictionOf(comm).lastBytes, 8 * 4096u);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST_F(Virtual, BuffersAreLeftAloneUnlessOwnDataAreWanted) {
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  for (const int own : {0, 1}) {
    config.ownData = own;
    rondoComm_t comm = make("1 cpu cores=4", 4, 2, &config);
    std::vector<int> in{1, 2, 3, 4}, out(4, -1);
    ASSERT_EQ(rondoAllReduce(in.data(), out.data(), 4, rondoInt32, rondoSum, comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(out, own == 1 ? in : std::vector<int>(4, -1));
    out.assign(4, -1);
    ASSERT_EQ(rondoAllGather(in.data(), out.data(), 1, rondoInt32, comm, nullptr), rondoSuccess);
    EXPECT_EQ(out, (std::vector<int>{-1, -1, own == 1 ? 1 : -1, -1}));
    out.assign(4, -1);
    ASSERT_EQ(rondoAllToAll(in.data(), out.data(), 1, rondoInt32, comm, nullptr), rondoSuccess);
    EXPECT_EQ(out, (std::vector<int>{-1, -1, own == 1 ? 3 : -1, -1}));
    out.assign(4, -1);
    ASSERT_EQ(rondoBroadcast(in.data(), out.data(), 4, rondoInt32, 0, comm, nullptr), rondoSuccess);
    EXPECT_EQ(out, std::vector<int>(4, -1)) << "the root's data are not here";
    // Of blocks that differ, too, alone and in a group.
    const size_t counts[] = {0, 1, 2, 1}, places[] = {3, 3, 1, 0};
    const std::vector<int> mine{-1, own == 1 ? 1 : -1, own == 1 ? 2 : -1, -1};
    ASSERT_EQ(rondoAllGatherV(in.data(), 2, out.data(), counts, places, rondoInt32, comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(out, mine);
    out.assign(4, -1);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    ASSERT_EQ(rondoAllGatherV(in.data(), 2, out.data(), counts, places, rondoInt32, comm, nullptr),
              rondoSuccess);
    ASSERT_EQ(rondoReduceScatterV(in.data(), &out[3], std::vector<size_t>{1, 2, 1, 0}.data(),
                                  rondoInt32, rondoSum, comm, nullptr),
              rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    EXPECT_EQ(out, (std::vector<int>{-1, mine[1], mine[2], own == 1 ? 4 : -1}));
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }
}

TEST_F(Virtual, UnevenSlotsOfOneLengthTakeAsLongAsEvenOnesOnEveryRank) {
  constexpr size_t kCount = 5000;
  const std::vector<size_t> counts(16, kCount);
  std::vector<size_t> places(16);
  for (size_t i = 0; i < places.size(); ++i) places[i] = i * kCount;
  char* const send = reinterpret_cast<char*>(uintptr_t{1} << 40);
  char* const recv = reinterpret_cast<char*>(uintptr_t{1} << 41);
  for (const int rank : {0, 11}) {
    rondoComm_t comm = make(kCluster, 16, rank);
    ASSERT_EQ(rondoGather(send, recv, kCount, rondoInt8, 0, comm, nullptr), rondoSuccess);
    const rondoPrediction_t gather = predictionOf(comm);
    ASSERT_EQ(
        rondoGatherV(send, kCount, recv, counts.data(), places.data(), rondoInt8, 0, comm, nullptr),
        rondoSuccess);
    EXPECT_EQ(predictionOf(comm).lastBytes, gather.lastBytes) << rank;
    EXPECT_EQ(predictionOf(comm).lastPicoseconds, gather.lastPicoseconds) << rank;
    ASSERT_EQ(rondoScatter(send, recv, kCount, rondoInt8, 0, comm, nullptr), rondoSuccess);
    const rondoPrediction_t scatter = predictionOf(comm);
    ASSERT_EQ(rondoScatterV(send, counts.data(), places.data(), recv, kCount, rondoInt8, 0, comm,
                            nullptr),
              rondoSuccess);
    EXPECT_EQ(predictionOf(comm).lastBytes, scatter.lastBytes) << rank;
    EXPECT_EQ(predictionOf(comm).lastPicoseconds, scatter.lastPicoseconds) << rank;
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }
}

TEST_F(Virtual, FewElementsForManyRanksTakeTime) {
  rondoComm_t comm = make(kCluster, 16, 0);
  std::vector<size_t> counts(16, 0);
  counts[3] = 1;
  char* const send = reinterpret_cast<char*>(uintptr_t{1} << 40);
  char* const recv = reinterpret_cast<char*>(uintptr_t{1} << 41);
  ASSERT_EQ(rondoAllGatherV(send, 0, recv, counts.data(), nullptr, rondoFloat64, comm, nullptr),
            rondoSuccess);
  EXPECT_GT(predictionOf(comm).lastPicoseconds, 0u);
  EXPECT_STRNE(predictionOf(comm).lastAlgorithm, "none");
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST_F(Virtual, AnOutputThatCannotBeWrittenIsRefusedAtOnce) {
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  config.output = "/nowhere/run";
  rondoComm_t comm = nullptr;
  EXPECT_EQ(rondoCommInitVirtual(&comm, kCluster, 16, 0, &config), rondoInvalidArgument);
  expectPart(rondoGetLastError(nullptr),
             "config.output is \"/nowhere/run\"; allowed: what the names of files begin with, in a "
             "folder that takes them (/nowhere/run.calls.csv: No such file or directory)");
  EXPECT_EQ(comm, nullptr);
  // One that can leaves no file while nothing has happened, and an older one as it was.
  const std::string output = ::testing::TempDir() + "rondo_tried." + std::to_string(getpid());
  config.output = output.c_str();
  for (const bool older : {false, true}) {
    if (older) std::ofstream(output + ".calls.csv") << "older";
    comm = make(kCluster, 16, 0, &config);
    EXPECT_EQ(std::filesystem::exists(output + ".calls.csv"), older);
    EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
  }
  std::string text;
  std::ifstream(output + ".calls.csv") >> text;
  EXPECT_EQ(text, "older");
  std::filesystem::remove(output + ".calls.csv");
}

TEST_F(Virtual, WritesWhatHappened) {
  char folder[] = "/tmp/rondo-virtual-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string output = std::string(folder) + "/run";
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  config.output = output.c_str();
  rondoComm_t comm = make("2 x (1 cpu, 2 gpu nvlink=100 nvswitch, 2 nic=10)", 4, 0, &config);
  char* const buffer = reinterpret_cast<char*>(uintptr_t{1} << 40);
  EXPECT_EQ(rondoAllReduce(buffer, buffer, 4000, rondoInt8, rondoSum, comm, nullptr), rondoSuccess);
  EXPECT_EQ(rondoSend(buffer, 5000, rondoInt8, 3, comm, nullptr), rondoSuccess);
  rondoComm_t twin = nullptr;
  ASSERT_EQ(rondoCommDup(comm, &twin, nullptr), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  EXPECT_FALSE(std::filesystem::exists(output + ".calls.csv")) << "the other handle goes on";
  EXPECT_EQ(rondoBarrier(twin, nullptr), rondoSuccess);
  EXPECT_EQ(rondoCommDestroy(twin), rondoSuccess);

  const auto read = [&](const char* name) {
    std::ostringstream text;
    text << std::ifstream(output + name).rdbuf();
    return text.str();
  };
  const std::string calls = read(".calls.csv");
  expectPart(calls, "call,name,bytes,algorithm,start_ps,time_ps,comm\n0,rondoAllReduce,4000,");
  expectPart(calls, "\n1,rondoSend,5000,p2p,");
  expectPart(calls, "\n2,rondoBarrier,0,");
  const auto trace = nlohmann::json::parse(read(".trace.json"));
  ASSERT_EQ(trace["traceEvents"].size(), 5u);
  EXPECT_EQ(trace["traceEvents"][1]["name"], "rondoSend");
  // Flows are numbered through, and happen one call after the other.
  std::istringstream flows(read(".flows.csv"));
  std::string line;
  std::getline(flows, line);
  uint64_t next = 0, last = 0;
  while (std::getline(flows, line)) {
    EXPECT_EQ(std::strtoull(line.c_str(), nullptr, 10), next++);
    if (line.find(",0,3,5000,") != std::string::npos) last = next;
  }
  EXPECT_GT(last, 1u) << "the send to rank 3";
  std::filesystem::remove_all(folder);
}

TEST_F(Virtual, ARevocationEndsIt) {
  rondoComm_t comm = make(kCluster, 0, 11);
  float in = 1, out = 0;
  const auto sum = [&] {
    return rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, comm, nullptr);
  };
  EXPECT_EQ(sum(), rondoSuccess) << rondoGetLastError(comm);
  EXPECT_EQ(rondoCommRevoke(comm), rondoSuccess);
  rondoResult_t state = rondoSuccess;
  EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess);
  EXPECT_EQ(state, rondoRemoteError);
  EXPECT_EQ(sum(), rondoRemoteError);
  EXPECT_NE(std::string(rondoGetLastError(comm)).find("rank 11 aborted"), std::string::npos);
  EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
}

TEST_F(Virtual, WhatCannotBeSaidIsRefused) {
  rondoComm_t comm = nullptr;
  const auto refused = [&](const char* topology, int ranks, int rank) {
    EXPECT_EQ(rondoCommInitVirtual(&comm, topology, ranks, rank, nullptr), rondoInvalidArgument);
    return std::string(rondoGetLastError(nullptr));
  };
  expectPart(refused(nullptr, 1, 0), "rondoCommInitVirtual: argument topology is NULL");
  expectPart(refused("8 gpus", 1, 0), "rondoCommInitVirtual: ");
  expectPart(refused("/nowhere.xml", 1, 0), "/nowhere.xml cannot be read");
  expectPart(refused("8 gpu nvlink=450 nvswitch", 9, 0),
             "9 ranks; allowed on this machine: 1 to 8");
  expectPart(refused("8 gpu nvlink=450 nvswitch", -1, 0), "argument nranks is -1");
  expectPart(refused("8 gpu nvlink=450 nvswitch", 8, 8), "argument rank is 8; allowed: 0 to 7");
  EXPECT_EQ(rondoCommInitVirtual(nullptr, "8 gpu", 8, 0, nullptr), rondoInvalidArgument);
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  config.ownData = 7;
  EXPECT_EQ(rondoCommInitVirtual(&comm, "8 gpu", 8, 0, &config), rondoInvalidArgument);
  expectPart(rondoGetLastError(nullptr), "config.ownData is 7");
  EXPECT_EQ(comm, nullptr) << "written on success only";

  comm = make("8 gpu nvlink=450 nvswitch", 8, 0);
  char buffer[8] = {};
  EXPECT_EQ(rondoAllReduce(buffer, buffer, 8, rondoInt8, 99, comm, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoBroadcast(buffer, buffer, 8, rondoInt8, 8, comm, nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoAllReduce(nullptr, buffer, 8, rondoInt8, rondoSum, comm, nullptr),
            rondoInvalidArgument);
  EXPECT_EQ(rondoSend(buffer, 8, rondoInt8, 8, comm, nullptr), rondoInvalidArgument);
  EXPECT_EQ(predictionOf(comm).calls, 0u) << "what is refused takes no time";
  rondoComm_t part = nullptr;
  EXPECT_EQ(rondoCommSplit(comm, 0, 0, &part, nullptr), rondoUnsupported);
  expectPart(rondoGetLastError(comm), "is virtual, and which color its other ranks would give");
  EXPECT_EQ(rondoCommGrow(comm, 9, nullptr, -1, &part, nullptr), rondoInvalidArgument);
  expectPart(rondoGetLastError(comm), "1 new ranks; allowed: up to 0, for the machine has places");
  rondoPrediction_t prediction{};
  EXPECT_EQ(rondoCommGetPrediction(comm, &prediction), rondoInvalidArgument);
  expectPart(rondoGetLastError(comm), "prediction->size is 0");
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  EXPECT_EQ(rondoCommGetPrediction(comm, &prediction), rondoInvalidUsage);
}

}  // namespace

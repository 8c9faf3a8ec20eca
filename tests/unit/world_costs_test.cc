// Rank 0's costs are everybody's, whatever files the others have.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

#include "api/handle.h"
#include "coll/costs_file.h"
#include "support/world.h"
#include "topo/node_facts.h"

namespace rondo::testing {
namespace {

namespace fs = std::filesystem;

/// Directories of files for this machine; rank r's hop costs 1000 + r.
class Files {
 public:
  explicit Files(int ranks) {
    char name[] = "/tmp/rondo-costs-XXXXXX";
    root_ = mkdtemp(name);
    for (int r = 0; r < ranks; ++r) {
      CostsFile file;
      file.machine = machineModel(readNodeFacts());
      file.costs.hop = 1000 + static_cast<uint64_t>(r);
      file.measured.assign(costFields().size(), true);
      writeCosts(file, path(r));
    }
  }
  ~Files() { fs::remove_all(root_); }
  std::string dir(int rank) const { return root_ + "/" + std::to_string(rank); }
  std::string path(int rank) const {
    return dir(rank) + "/" + costsFileName(machineModel(readNodeFacts()));
  }

 private:
  std::string root_;
};

/// Communicators of `ranks` threads, each of which looks in its own directory.
void eachWithItsOwn(const Files& files, int ranks,
                    const std::function<void(int, const Communicator&)>& body) {
  ThreadGroup group(ranks);
  onRanks(ranks, [&](int rank) {
    ThreadBootstrap boot(group, rank);
    Config config = checkConfig("World", nullptr);
    config.device = RONDO_DEVICE_NONE;
    config.options.tuneDir = files.dir(rank);
    const CommPtr comm = createComm(boot, config, {});
    body(rank, *comm->impl);
    float in = 1, out = 0;
    EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, comm.get(), nullptr),
              rondoSuccess);
    EXPECT_EQ(out, static_cast<float>(ranks));
  });
}

TEST(WorldCosts, RankZerosAreEverybodys) {
  const Files files(3);
  eachWithItsOwn(files, 3, [&](int rank, const Communicator& comm) {
    EXPECT_EQ(comm.facts().costs.hop, 1000u) << rank;
    EXPECT_EQ(comm.costsSource().rfind(files.path(0), 0), 0u) << comm.costsSource();
  });
}

TEST(WorldCosts, WithoutRankZerosFileNobodysCounts) {
  const Files files(3);
  fs::remove(files.path(0));
  eachWithItsOwn(files, 3, [&](int rank, const Communicator& comm) {
    EXPECT_EQ(comm.facts().costs, HostCosts{}) << rank;
    EXPECT_EQ(comm.costsSource().rfind("built-in (no ", 0), 0u) << comm.costsSource();
  });
}

TEST(WorldCosts, OneThatIsNoGoodIsNoReasonToFail) {
  const Files files(2);
  std::ofstream(files.path(0)) << "rondo-costs 1\nhop over\n";
  ::testing::internal::CaptureStderr();
  eachWithItsOwn(files, 2, [&](int rank, const Communicator& comm) {
    EXPECT_EQ(comm.facts().costs, HostCosts{}) << rank;
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("rondo: warning: " + files.path(0) + ":2: hop "), std::string::npos) << said;
  EXPECT_NE(said.find("; the built-in costs are used"), std::string::npos) << said;
  EXPECT_EQ(said.find("warning"), said.rfind("warning")) << "rank 0 alone: " << said;
}

/// A file of states for rank 0; state k's hop costs 1000 + k.
void writeStates(const std::string& path, const std::vector<uint64_t>& flags) {
  CostsFile file;
  file.machine = machineModel(readNodeFacts());
  for (size_t k = 0; k < flags.size(); ++k) {
    CostsState state;
    state.flag = flags[k];
    state.costs.hop = 1000 + k;
    state.measured.assign(costFields().size(), true);
    if (k == 0) static_cast<CostsState&>(file) = state;
    if (k > 0) file.others.push_back(state);
  }
  writeCosts(file, path);
}

/// Two ranks look which state it is, and all plan by what rank 0 makes of it.
TEST(WorldCosts, AllRanksPlanByTheStateThatRankZeroSees) {
  const Files files(3);
  const std::vector<uint64_t> flags{60'000'000, 4'000'000, 250'000, 20'000};
  writeStates(files.path(0), flags);
  for (const int ranks : {2, 3}) {
    std::mutex mutex;
    std::vector<std::string> sources;
    std::vector<uint64_t> hops;
    eachWithItsOwn(files, ranks, [&](int, const Communicator& comm) {
      const std::scoped_lock lock(mutex);
      sources.push_back(comm.costsSource());
      hops.push_back(comm.facts().costs.hop);
    });
    for (size_t i = 1; i < hops.size(); ++i) {
      EXPECT_EQ(hops[i], hops[0]);
      EXPECT_EQ(sources[i], sources[0]);
    }
    ASSERT_GE(hops[0], 1000u);
    ASSERT_LT(hops[0], 1000 + flags.size());
    const size_t at = sources[0].find(", state ");
    if (static_cast<uint32_t>(ranks) > allowedCpus()) {
      EXPECT_EQ(hops[0], 1000u) << "where ranks wait for a core, nobody looks";
      EXPECT_EQ(at, std::string::npos) << sources[0];
      continue;
    }
    ASSERT_NE(at, std::string::npos) << sources[0];
    unsigned long long picked = 0, now = 0;
    ASSERT_EQ(std::sscanf(sources[0].c_str() + at,
                          ", state %llu ns of 60000, 4000, 250, 20 (now %llu)", &picked, &now),
              2)
        << sources[0];
    EXPECT_EQ(picked, flags[hops[0] - 1000] / 1000);
    EXPECT_GT(now, 0u) << "a flag takes some time";
  }
}

TEST(WorldCosts, MessagesAfterALookAreWhole) {
  World(2).run([](const Rank& me) {
    for (int k = 0; k < 5; ++k) {
      uint64_t flag = 0;
      ASSERT_EQ(me.comm->impl->flagWay({0, 1}, &flag), RunResult::Ok);
      EXPECT_EQ(flag > 0, me.rank == 0);
      float in[64], out[64];
      for (int i = 0; i < 64; ++i) in[i] = static_cast<float>(i + k + me.rank);
      ASSERT_EQ(rondoAllReduce(in, out, 64, rondoFloat32, rondoSum, me.comm, nullptr),
                rondoSuccess);
      for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], static_cast<float>(2 * (i + k) + 1));
    }
    uint64_t flag = 7;
    EXPECT_EQ(me.comm->impl->flagWay({}, &flag), RunResult::Ok);
    EXPECT_EQ(flag, 0u);
  });
}

TEST(WorldCosts, ThePairIsRankZeroAndItsNearestRank) {
  CommFacts facts;
  facts.ranks = 4;
  facts.cpus = 4;
  const auto pair = [&](const std::vector<int>& hostOf) {
    const FlagPair found = flagPairOf(facts, hostOf);
    return std::pair(found.first, found.second);
  };
  EXPECT_EQ(pair({0, 0, 0, 0}), std::pair(0, 1));
  EXPECT_EQ(pair({0, 1, 0, 0}), std::pair(0, 2));
  EXPECT_EQ(pair({0, 1, 2, 3}), std::pair(-1, -1)) << "nobody is beside it";
  facts.groups = RankGroups({0, 1, 1, 0});
  EXPECT_EQ(pair({0, 0, 0, 0}), std::pair(0, 3)) << "of its group";
  EXPECT_EQ(pair({0, 0, 0, 1}), std::pair(0, 1));
  facts.cpus = 3;
  EXPECT_EQ(pair({0, 0, 0, 0}), std::pair(-1, -1)) << "ranks wait for a core";
}

/// Hosts are groups with costs of their own, from the same file.
TEST(WorldCosts, AcrossHostsTheFilesHostCostsCount) {
  const Files files(1);
  CostsFile file;
  file.machine = machineModel(readNodeFacts());
  file.costs.hostsMessage = 4321;
  file.measured.assign(costFields().size(), true);
  writeCosts(file, files.path(0));
  const Env dir("RONDO_TUNE_DIR", files.dir(0));
  World(2).hosts({0, 1}).run(
      [&](const Rank& me) { EXPECT_EQ(me.comm->impl->facts().costs.farMessage, 4321u); });
  World(2).run([&](const Rank& me) {
    EXPECT_EQ(me.comm->impl->facts().costs.farMessage, HostCosts{}.farMessage);
    EXPECT_EQ(me.comm->impl->facts().costs.hostsMessage, 4321u);
  });
}

}  // namespace
}  // namespace rondo::testing

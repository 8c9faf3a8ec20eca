// Rank 0's costs are everybody's, whatever files the others have.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>

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

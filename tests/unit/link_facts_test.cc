// What the graph says of the ways between ranks, and what the planner makes of it.

#include "coll/link_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "api/comm_hosts.h"
#include "coll/link_bound.h"
#include "coll/planner.h"
#include "coll/verifier.h"
#include "support/thread_bootstrap.h"
#include "topo/host_sketch.h"

namespace rondo {
namespace {

using topo::Graph;
using topo::HostSketch;
using topo::NodeKind;

constexpr uint64_t kGB = 1'000'000'000;

/// A host of two packages of 4 CPUs, with a card of so many bytes/s on the second one.
HostSketch twoPackages(uint64_t rate, bool rdma) {
  HostSketch sketch;
  sketch.node.packages = 2;
  sketch.node.cores = 8;
  for (auto& level : sketch.node.places.at) {
    std::fill(std::begin(level), std::end(level), CpuPlaces::kNowhere);
    for (int cpu = 0; cpu < 8; ++cpu) level[cpu] = static_cast<uint8_t>(cpu / 4);
  }
  if (rate > 0) {
    sketch.nics = 1;
    sketch.nic[0] = {rate, 1, rdma ? 1u : 0u};
  }
  return sketch;
}

cpu_set_t onCpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  return set;
}

/// `each` ranks on each of `hosts` such hosts, on CPUs 0, 1, ...
LinkFacts linksOn(int hosts, int each, uint64_t rate, bool rdma, int stride = 1) {
  KnownHosts known{{twoPackages(rate, rdma)}, {}};
  std::vector<int> hostOf;
  std::vector<cpu_set_t> bindings;
  for (int r = 0; r < hosts * each; ++r) {
    known.kindOf.push_back(0);
    hostOf.push_back(r / each);
    bindings.push_back(onCpu(r % each * stride));
  }
  LinkFacts links = linksBetween(known, hostOf, bindings, true);
  links.acrossHosts = hosts > 1;
  return links;
}

CommFacts factsOn(const LinkFacts& links, int hosts, int each) {
  CommFacts facts;
  facts.ranks = hosts * each;
  facts.cpus = static_cast<uint32_t>(each);
  facts.localRanks = each;
  facts.lanes = 2;
  facts.chunkBytes = 32 << 10;
  std::vector<int> groups;
  for (int r = 0; r < facts.ranks; ++r) groups.push_back(r / each);
  if (hosts > 1) facts.groups = RankGroups(groups);
  facts.links = links;
  setCosts({}, 0, &facts);
  return facts;
}

TEST(LinkFacts, OfOnePackageAreNothing) {
  const LinkFacts links = linksOn(1, 4, 25 * kGB, true);
  EXPECT_EQ(links.text(), "");
  EXPECT_TRUE(links.package.empty());
  EXPECT_TRUE(links.host.empty());
  const CommFacts facts = factsOn(links, 1, 4);
  EXPECT_EQ(facts.costs, HostCosts{});
}

TEST(LinkFacts, PackagesCountWhereRanksShareOne) {
  const LinkFacts links = linksOn(1, 8, 0, false);
  EXPECT_TRUE(links.apart(0, 4));
  EXPECT_FALSE(links.apart(4, 7));
  EXPECT_EQ(links.text(), "packages 60 GB/s and 100ns apart, 60 GB/s into each");
  CommFacts facts = factsOn(links, 1, 8);
  EXPECT_EQ(facts.links.apartMessage, HostCosts{}.farMessage + 200'000);
  EXPECT_EQ(facts.costs, HostCosts{});
  // A rank on each: all are equally far, and what they measure is what they pay.
  EXPECT_TRUE(linksOn(1, 2, 0, false, 4).package.empty());
}

TEST(LinkFacts, WhatWasMeasuredHolds) {
  LinkFacts links = linksOn(2, 4, 25 * kGB, true);
  HostCosts measured;
  measured.hostsPerKiB = 77'000;
  measured.hostsHop = 5'000'000;
  CommFacts facts;
  facts.links = links;
  setCosts(measured, kAllMeasured, &facts);
  EXPECT_EQ(facts.costs.farPerKiB, 77'000u);
  EXPECT_EQ(facts.costs.farHop, 5'000'000u);
  EXPECT_EQ(facts.links.apartMessage, measured.farMessage);
}

TEST(LinkFacts, CardsPriceTheWayBetweenHosts) {
  const CommFacts rdma = factsOn(linksOn(2, 4, 25 * kGB, true), 2, 4);
  EXPECT_EQ(rdma.costs.farPerKiB, 40'960u);  // 1 KiB at 25 GB/s
  const auto ofMessage = [](const HostCosts& costs) {
    return costs.farSend + costs.farHop + costs.farMessage;
  };
  HostCosts tcp;
  tcp.acrossHosts();
  EXPECT_LT(2 * ofMessage(rdma.costs), ofMessage(tcp));
  EXPECT_EQ(rdma.links.intoHost, 25 * kGB);
  const CommFacts gigabit = factsOn(linksOn(2, 4, 125'000'000, false), 2, 4);
  EXPECT_EQ(gigabit.costs.farPerKiB, 8'192'000u);
  EXPECT_EQ(gigabit.costs.farHop, HostCosts{}.hostsHop);
  // Quicker than the CPUs can fill it by TCP.
  EXPECT_EQ(factsOn(linksOn(2, 4, 25 * kGB, false), 2, 4).costs.farPerKiB, HostCosts{}.hostsPerKiB);
  // Nobody tells: as before.
  const CommFacts unknown = factsOn(linksOn(2, 4, 0, false), 2, 4);
  EXPECT_EQ(unknown.costs.farPerKiB, HostCosts{}.hostsPerKiB);
  EXPECT_EQ(unknown.links.text(), "between hosts not known");
}

/// Bytes that all ranks of host 0 send to others, from all plans.
uint64_t sentBy(const Algorithm& algorithm, const algo::Geometry& geometry, const CommFacts& facts,
                int host) {
  uint64_t sum = 0;
  for (const Plan& plan : recordAllRanks(algorithm, facts.ranks, 0, geometry, facts.groups)) {
    const auto of = [&](int rank) { return facts.links.host[static_cast<size_t>(rank)]; };
    if (of(plan.group.rank) != host) continue;
    const auto add = [&](const Step& step, uint64_t times) {
      if ((step.bits & algo::kSend) == 0 || step.kind == StepKind::Signal) return;
      for (int r = 0; r < facts.ranks; ++r) {
        const bool reads = step.to == algo::kEveryone || step.to == r;
        if (reads && of(r) != host) sum += times * elementsOf(step) * 4;
      }
    };
    for (const LaneProgram& lane : plan.lanes) {
      for (const Step& step : lane.full) add(step, plan.geometry.fullPeriods());
      for (const Step& step : lane.last) add(step, 1);
    }
  }
  return sum;
}

TEST(LinkFacts, TheBoundIsWhatTheCardsCarry) {
  const CommFacts facts = factsOn(linksOn(4, 4, kGB, true), 4, 4);
  const Request request{Collective::AllReduce, 1 << 20, 4, 0};
  int compared = 0;
  for (const Algorithm& row : registry()) {
    if (row.collective != Collective::AllReduce) continue;
    const TuneRule rule{Collective::AllReduce, 0, UINT64_MAX, &row, 1, 0};
    const Candidate candidate = rankCandidates(request, facts, {rule}).front();
    uint64_t most = 0;
    for (int host = 0; host < 4; ++host) {
      most = std::max(most, sentBy(row, candidate.geometry, facts, host));
    }
    // At 1 GB/s a byte takes a nanosecond: no plan is predicted to be quicker than its traffic, as
    // far as a few ranks tell of it.
    const double ratio = static_cast<double>(candidate.picoseconds) * 1e-3 /
                         static_cast<double>(std::max<uint64_t>(most, 1));
    EXPECT_GT(ratio, 0.7) << row.name;
    ++compared;
  }
  EXPECT_GT(compared, 8);
}

TEST(LinkFacts, SlowCardsAskForHierarchies) {
  const Request request{Collective::AllReduce, 1 << 20, 4, 0};
  const auto chosen = [&](uint64_t rate) {
    return rankCandidates(request, factsOn(linksOn(4, 4, rate, true), 4, 4), {}).front();
  };
  const Candidate slow = chosen(kGB / 8);
  EXPECT_NE(slow.algorithm->hierarchy, nullptr) << slow.algorithm->name;
  EXPECT_GT(slow.picoseconds, 10 * chosen(100 * kGB).picoseconds);
}

TEST(HostSketch, HostsAreJoinedByTheirCards) {
  const HostSketch fast = twoPackages(50 * kGB, true), slow = twoPackages(kGB, false);
  const HostSketch* const hosts[] = {&fast, &fast, &slow};
  const Graph rdma = topo::joinHosts(hosts, true);
  EXPECT_EQ(rdma.all(NodeKind::Cpu).size(), 6u);
  EXPECT_EQ(rdma.all(NodeKind::Nic).size(), 2u);
  EXPECT_EQ(topo::joinHosts(hosts, false).all(NodeKind::Nic).size(), 1u);
  EXPECT_NE(fast.hash(), slow.hash());
}

TEST(HostSketch, CardsAreReadFromTheKernel) {
  namespace fs = std::filesystem;
  std::string place = ::testing::TempDir() + "sketch_sys.XXXXXX";
  ASSERT_NE(mkdtemp(place.data()), nullptr);
  const fs::path sys = place;
  const auto put = [&](const std::string& path, const std::string& text) {
    fs::create_directories((sys / path).parent_path());
    std::ofstream(sys / path) << text << "\n";
  };
  put("devices/system/node/node1/cpulist", "4-7");
  put("devices/card0/numa_node", "1");
  fs::create_directories(sys / "class/infiniband/mlx5_0");
  fs::create_directory_symlink(sys / "devices/card0", sys / "class/infiniband/mlx5_0/device");
  put("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  put("class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)");
  put("class/infiniband/rxe0/ports/1/state", "4: ACTIVE");  // software: no card
  put("class/infiniband/rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)");
  put("devices/pci0/0000:03:00.0/virtio0/numa_node", "-1");
  fs::create_directories(sys / "class/net/eth0");
  fs::create_directory_symlink(sys / "devices/pci0/0000:03:00.0/virtio0",
                               sys / "class/net/eth0/device");
  put("class/net/eth0/speed", "10000");
  put("class/net/eth0/operstate", "up");
  put("class/net/veth0/speed", "10000");  // virtual
  put("class/net/veth0/operstate", "up");
  put("class/net/eth1/device/numa_node", "0");
  put("class/net/eth1/speed", "-1");
  put("class/net/eth1/operstate", "up");
  HostSketch sketch = twoPackages(0, false);
  std::vector<std::string> cards;
  topo::readNics(sys, &sketch, &cards);
  ASSERT_EQ(sketch.nics, 2u);
  EXPECT_EQ(sketch.nic[0].bytesPerSecond, 25 * kGB);
  EXPECT_EQ(sketch.nic[0].package, 1);
  EXPECT_EQ(sketch.nic[0].rdma, 1u);
  EXPECT_EQ(sketch.nic[1].bytesPerSecond, kGB * 5 / 4);
  EXPECT_EQ(sketch.nic[1].rdma, 0u);
  EXPECT_TRUE(sketch.hasRdma());
  EXPECT_EQ(cards, (std::vector<std::string>{"card0", "0000:03:00.0"}));
  fs::remove_all(sys);
}

/// Counts what a rank hands to gatherings.
class CountingBootstrap final : public ThreadBootstrap {
 public:
  using ThreadBootstrap::ThreadBootstrap;
  void allGather(const void* mine, size_t bytes, void* all) override {
    sent_ += bytes;
    ThreadBootstrap::allGather(mine, bytes, all);
  }
  size_t sent() const { return sent_; }

 private:
  size_t sent_ = 0;
};

/// Two ranks a host; `kindOf`: by host, its sketch. Returns what a rank has sent.
size_t gatherOn(const std::vector<int>& kindOf, const std::vector<HostSketch>& sketches) {
  const int ranks = static_cast<int>(kindOf.size()) * 2;
  ThreadGroup group(ranks);
  std::vector<int> hostOf;
  std::vector<uint64_t> hashes;
  for (int r = 0; r < ranks; ++r) {
    const auto& sketch = sketches[static_cast<size_t>(kindOf[static_cast<size_t>(r / 2)])];
    hostOf.push_back(r / 2);
    hashes.push_back(r % 2 == 0 ? sketch.hash() : 0);
  }
  std::vector<KnownHosts> known(static_cast<size_t>(ranks));
  std::vector<size_t> sent(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const auto at = static_cast<size_t>(r);
      CountingBootstrap boot(group, r);
      const HostSketch& own = sketches[static_cast<size_t>(kindOf[at / 2])];
      known[at] = gatherHosts(boot, hostOf, hashes, r % 2 == 0 ? &own : nullptr);
      sent[at] = boot.sent();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const KnownHosts& hosts : known) {
    for (size_t r = 0; r < hosts.kindOf.size(); ++r) {
      const HostSketch& got = hosts.kinds.at(static_cast<size_t>(hosts.kindOf[r]));
      EXPECT_EQ(got.hash(), sketches[static_cast<size_t>(kindOf[r / 2])].hash()) << "rank " << r;
    }
  }
  return sent.front();
}

TEST(KnownHosts, AreSentOnceWhereTheyAreAlike) {
  const std::vector<HostSketch> sketches{twoPackages(kGB, true), twoPackages(2 * kGB, true)};
  EXPECT_EQ(gatherOn({0}, sketches), sizeof(HostSketch));
  EXPECT_EQ(gatherOn({0, 1, 0}, sketches), sizeof(HostSketch));
  EXPECT_EQ(gatherOn({0, 0, 0, 0, 0, 0, 0, 0}, sketches), sizeof(HostSketch) / 8);
}

TEST(KnownHosts, RdmaIsAskedForByTransports) {
  EXPECT_TRUE(mayUseRdma(""));
  EXPECT_TRUE(mayUseRdma("rc_mlx5,sm,self"));
  EXPECT_TRUE(mayUseRdma("tcp,ib"));
  EXPECT_FALSE(mayUseRdma("tcp,self"));
  EXPECT_FALSE(mayUseRdma("^ib,cuda"));
  EXPECT_TRUE(mayUseRdma("^tcp"));
}

}  // namespace
}  // namespace rondo

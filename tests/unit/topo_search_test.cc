// Rings and trees against the flow bound, on invented and captured machines.

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "support/topo_refusal.h"
#include "topo/flow_bound.h"
#include "topo/load.h"
#include "topo/search.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::topo;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;

constexpr uint64_t kGB = 1'000'000'000;

/// Every ring visits every place once, hops lead from each to the next, every tree hangs together,
/// and no link is asked for more than it has.
void expectSound(const Graph& graph, const Channels& channels) {
  const std::set<int> all(channels.places.begin(), channels.places.end());
  for (const Ring& ring : channels.rings) {
    EXPECT_EQ(std::set<int>(ring.places.begin(), ring.places.end()), all);
    EXPECT_EQ(ring.places.size(), all.size());
    for (size_t i = 0; i < ring.hops.size(); ++i) {
      ASSERT_FALSE(ring.hops[i].arcs.empty());
      EXPECT_EQ(graph.source(ring.hops[i].arcs.front()), ring.places[i]);
      EXPECT_EQ(graph.target(ring.hops[i].arcs.back()), ring.places[(i + 1) % ring.places.size()]);
    }
  }
  for (const Tree& tree : channels.trees) {
    EXPECT_EQ(std::set<int>(tree.places.begin(), tree.places.end()), all);
    EXPECT_EQ(std::count(tree.parents.begin(), tree.parents.end(), -1), 1);
    for (size_t i = 0; i < tree.places.size(); ++i) {
      size_t at = i, steps = 0;
      while (tree.parents[at] >= 0 && steps++ <= tree.places.size()) {
        at = static_cast<size_t>(tree.parents[at]);
      }
      EXPECT_EQ(tree.parents[at], -1) << "a circle";
    }
  }
  for (const auto& loads : {ringLoads(graph, channels.rings), treeLoads(graph, channels.trees)}) {
    for (size_t arc = 0; arc < loads.size(); ++arc) {
      EXPECT_LE(loads[arc], graph.links()[arc / 2].bytesPerSecond)
          << graph.fullName(graph.source(static_cast<int>(arc))) << " to "
          << graph.fullName(graph.target(static_cast<int>(arc)));
    }
  }
}

struct Case {
  const char* machine;
  uint64_t bound;       ///< GB/s, by hand.
  double rings, trees;  ///< Least part of it; trees as rings that do the same all-reduce.
};

TEST(TopoSearch, ComesNearTheFlowBound) {
  const Case cases[] = {
      {"8 gpu nvlink=450 nvswitch", 450, 0.95, 0.95},
      {"2 cpu, 4 pci, 8 gpu nvlink=450 links=18 nvswitch, 8 nic=50", 450, 0.95, 0.95},
      {"1 cpu, 4 gpu nvlink=300 nvswitch, 1 nic", 300, 0.95, 0.95},
      {"1 cpu, 2 gpu nvlink=450 nvswitch", 450, 0.95, 0.95},
      {"4 gpu nvlink=100 ring", 100, 0.95, 0.5},
      {"5 gpu nvlink=400 mesh", 400, 0.95, 0.5},
      {"2 cpu=60, 4 pci, 8 gpu", 60, 0.95, 0.95},
      {"4 x (2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail", 400, 0.95, 0.95},
      {"5 x (2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail", 400, 0.95, 0.95},
      {"4 x (2 cpu, 4 pci, 8 gpu nvlink=300 nvswitch, 8 nic=25)", 200, 0.95, 0.95},
      {"4 x (2 cpu, 8 gpu nvlink=300 nvswitch, 4 nic=25) fattree=8", 100, 0.95, 0.95},
      {"4 x (2 cpu=60, 4 pci, 8 gpu, 1 nic=25)", 25, 0.95, 0.95},
      {"64 x (2 cpu, 1 nic=12.5) fattree=16", 0, 0.95, 0.9},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.machine);
    const Graph graph = parseSynthetic(c.machine);
    const Channels channels = searchChannels(graph);
    expectSound(graph, channels);
    const uint64_t bound = channelBound(graph, channels);
    if (c.bound != 0) {
      EXPECT_EQ(bound, c.bound * kGB);
    }
    const double n = static_cast<double>(channels.places.size());
    const double rings = static_cast<double>(channels.ringBytes()) / static_cast<double>(bound);
    const double trees =
        static_cast<double>(channels.treeBytes()) * 2 * (n - 1) / n / static_cast<double>(bound);
    std::printf("%-66s bound %4llu GB/s, %2zu rings %.3f, %2zu trees %.3f\n", c.machine,
                static_cast<unsigned long long>(bound / kGB), channels.rings.size(), rings,
                channels.trees.size(), trees);
    EXPECT_GE(rings, c.rings);
    EXPECT_LE(rings, 1.0 + 1e-9);
    EXPECT_GE(trees, c.trees);
  }
}

TEST(TopoSearch, LinksOnceBeforeTwice) {
  const Graph graph =
      parseSynthetic("4 x (2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail");
  std::vector<Ring> rings = searchChannels(graph).rings;
  for (Ring& ring : rings) ring.bytesPerSecond = 1;
  const std::vector<uint64_t> uses = ringLoads(graph, rings);
  for (size_t arc = 0; arc < uses.size(); ++arc) {
    // Every NIC's cable once each way, and nothing over the spines.
    if (graph.links()[arc / 2].kind != LinkKind::Network) continue;
    const bool spine = graph.nodes()[static_cast<size_t>(graph.links()[arc / 2].a)].host < 0;
    EXPECT_EQ(uses[arc], spine ? 0u : 1u);
  }
}

TEST(TopoSearch, BoundIsTheNarrowestCut) {
  const Graph graph = parseSynthetic("2 cpu=30, 4 gpu");
  EXPECT_EQ(maxFlow(graph, graph.find("host0/gpu0"), graph.find("host0/gpu1")), 64 * kGB);
  EXPECT_EQ(maxFlow(graph, graph.find("host0/gpu0"), graph.find("host0/gpu3")), 30 * kGB);
  EXPECT_EQ(flowBound(graph, graph.all(NodeKind::Gpu)), 30 * kGB);
}

TEST(TopoSearch, OfOnePlaceAndOfNone) {
  const Graph one = parseSynthetic("1 gpu");
  const Channels channels = searchChannels(one);
  EXPECT_EQ(channels.rings.size(), 1u);
  EXPECT_TRUE(channels.rings[0].hops.empty());
  expectPart(refusalOf([] {
               Graph graph;
               graph.addHost("a");
               searchChannels(graph);
             }),
             "neither GPUs nor CPUs");
}

TEST(TopoSearch, SaysWhatIsNotJoined) {
  const std::string apart =
      "<rondo-topology version=\"1\"><host name=\"a\"><cpu name=\"c\"/></host>"
      "<host name=\"b\"><cpu name=\"c\"/></host></rondo-topology>";
  expectPart(refusalOf([&] { searchChannels(loadTopologyXml(apart, "m.xml").graph); }),
             "there is no way from a/c to b/c");
  expectPart(refusalOf([] { searchChannels(parseSynthetic("2 gpu")); }),
             "host0 is not joined: no ring leads through all of its 2 gpus");
}

TEST(TopoSearch, RefusesHostsThatAreTooLarge) {
  expectPart(refusalOf([] { searchChannels(parseSynthetic("4096 gpu nvlink=450 nvswitch")); }),
             "host0 has 4096 gpus and 0 nics; rings are searched in hosts of up to 256 and 256");
}

/// Printed, for the performance page; asserted loosely, because machines differ and are busy.
TEST(TopoSearch, Time) {
  for (const char* machine : {"2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50",
                              "1024 x (2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail"}) {
    const Graph graph = parseSynthetic(machine);
    const auto start = std::chrono::steady_clock::now();
    const Channels channels = searchChannels(graph);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%-66s searched in %.1f ms\n", machine, took.count() * 1e3);
    EXPECT_LT(took.count(), 20.0);
    EXPECT_FALSE(channels.rings.empty());
  }
}

}  // namespace

// What rondo-topo measured of a host's links gets into the graph that communicators choose by.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "api/comm_hosts.h"
#include "coll/facts.h"
#include "topo/host_sketch.h"
#include "topo/measured_links.h"

namespace rondo {
namespace {

using topo::Graph;
using topo::HostSketch;

constexpr uint64_t kGB = 1'000'000'000;

/// A host of two packages of 4 CPUs, with an RDMA card of 25 GB/s on the second one.
HostSketch twoPackages() {
  HostSketch sketch;
  sketch.node.packages = 2;
  for (auto& level : sketch.node.places.at) {
    for (int cpu = 0; cpu < 8; ++cpu) level[cpu] = static_cast<uint8_t>(cpu / 4);
  }
  sketch.nics = 1;
  sketch.nic[0] = {25 * kGB, 1, 1};
  return sketch;
}

/// rondo-topo's file of a machine of two packages with a card on the second one.
constexpr char kMeasuredHost[] = R"(<rondo-topology version="1"><host name="there">
  <cpu name="cpu0"/><cpu name="cpu1"/><numa name="numa0"/>
  <pci name="pci0" busid="0000:40:00.0"/>
  <nic name="nic0" busid="0000:41:00.0"/><nic name="nic1" busid="0000:42:00.0"/>
  <link kind="memory" between="cpu0 numa0" bandwidth="200GB/s" latency="50ns" measured_bandwidth="20GB/s"/>
  <link kind="socket" between="cpu0 cpu1" bandwidth="60GB/s" latency="100ns" measured_bandwidth="28GB/s" measured_latency="170ns"/>
  <link kind="pci" between="cpu1 pci0" bandwidth="63GB/s" latency="250ns" measured_bandwidth="12GB/s"/>
  <link kind="pci" between="pci0 nic0" bandwidth="32GB/s" latency="250ns" measured_bandwidth="14GB/s" measured_latency="400ns"/>
  <link kind="pci" between="cpu1 nic1" bandwidth="1GB/s" latency="250ns"/>
</host></rondo-topology>
)";

/// Sketches that found this text in their file.
class MeasuredFile {
 public:
  explicit MeasuredFile(const std::string& text) {
    char name[] = "/tmp/rondo-sketch-XXXXXX";
    dir_ = mkdtemp(name);
    std::ofstream(path()) << text;
  }
  ~MeasuredFile() { std::filesystem::remove_all(dir_); }
  MeasuredFile(const MeasuredFile&) = delete;
  MeasuredFile& operator=(const MeasuredFile&) = delete;
  std::string path() const { return dir_ + "/" + topo::linksFileName(7); }
  topo::LinksFound give(HostSketch* sketch, const std::vector<std::string>& cards) const {
    return topo::sketchMeasured(7, {"/nowhere", dir_}, cards, sketch);
  }

 private:
  std::string dir_;
};

TEST(MeasuredSketch, WhatWasMeasuredIsTheGraphs) {
  const MeasuredFile file(kMeasuredHost);
  HostSketch sketch = twoPackages();
  const uint64_t model = machineModel(sketch.node), before = sketch.hash();
  const topo::LinksFound found = file.give(&sketch, {"0000:41:00.0"});
  EXPECT_EQ(found.warning, "");
  EXPECT_EQ(found.text, file.path() +
                            ": 4 measured, 2 of them between packages or on the way to network "
                            "cards");
  EXPECT_EQ(machineModel(sketch.node), model) << "rondo-tune's file would not be found any more";
  EXPECT_NE(sketch.hash(), before) << "hosts of other links are of another kind";

  const HostSketch* const hosts[] = {&sketch};
  const Graph graph = topo::joinHosts(hosts, true);
  const auto link = [&](topo::LinkKind kind, const char* a, const char* b) {
    return graph.link(graph.findLink(kind, graph.find(std::string("host0/") + a),
                                     graph.find(std::string("host0/") + b)));
  };
  EXPECT_EQ(link(topo::LinkKind::Socket, "cpu0", "cpu1").bytesPerSecond, 28 * kGB);
  EXPECT_EQ(link(topo::LinkKind::Socket, "cpu0", "cpu1").picoseconds, 170'000u);
  EXPECT_EQ(link(topo::LinkKind::Socket, "cpu0", "cpu1").claimedBytes, 60 * kGB);
  // The narrowest of what was measured, and all latencies of the way.
  EXPECT_EQ(link(topo::LinkKind::Pci, "cpu1", "nic0").bytesPerSecond, 12 * kGB);
  EXPECT_EQ(link(topo::LinkKind::Pci, "cpu1", "nic0").picoseconds, 650'000u);
}

TEST(MeasuredSketch, RanksChooseByIt) {
  const MeasuredFile file(kMeasuredHost);
  HostSketch sketch = twoPackages();
  file.give(&sketch, {"0000:41:00.0"});
  const auto linksOf = [&](int hosts, int each) {
    KnownHosts known{{sketch}, std::vector<int>(static_cast<size_t>(hosts * each), 0)};
    std::vector<int> hostOf;
    std::vector<cpu_set_t> bindings;
    for (int r = 0; r < hosts * each; ++r) {
      hostOf.push_back(r / each);
      cpu_set_t& cpus = bindings.emplace_back();
      CPU_ZERO(&cpus);
      CPU_SET(static_cast<size_t>(r % each), &cpus);
    }
    return linksBetween(known, hostOf, bindings, true);
  };
  const LinkFacts packages = linksOf(1, 8);
  EXPECT_EQ(packages.text(), "packages 28 GB/s and 170ns apart, 28 GB/s into each (measured)");
  CommFacts facts;
  facts.links = packages;
  setCosts({}, 0, &facts);
  EXPECT_EQ(facts.links.apartMessage, HostCosts{}.farMessage + 340'000);
  EXPECT_NE(linksOf(2, 4).text().find("hosts 12 GB/s and 2.64us apart, 12 GB/s into each, by RDMA "
                                      "(links measured)"),
            std::string::npos)
      << linksOf(2, 4).text();
}

TEST(MeasuredSketch, OtherCardsAndBadFilesLeaveWhatIsClaimed) {
  const MeasuredFile file(kMeasuredHost);
  HostSketch sketch = twoPackages();
  file.give(&sketch, {"0000:42:00.0"});
  EXPECT_EQ(sketch.nic[0].pciBytes, 0u) << "nobody measured it, whatever the file claims";
  sketch = twoPackages();
  file.give(&sketch, {""});
  EXPECT_EQ(sketch.nic[0].pciBytes, 0u);

  std::string bad = kMeasuredHost;
  bad.replace(bad.find("170ns"), 5, "fast ");
  std::ofstream(file.path()) << bad;
  sketch = twoPackages();
  const uint64_t claimed = sketch.hash();
  const topo::LinksFound found = file.give(&sketch, {"0000:41:00.0"});
  EXPECT_EQ(found.text, "as the machine claims (" + file.path() + " is no good)");
  EXPECT_EQ(found.warning.rfind(file.path() + ":6: measured_latency is \"fast \"; allowed: ", 0),
            0u)
      << found.warning;
  EXPECT_EQ(sketch.hash(), claimed);

  // Where the graph has no such links the file is not read.
  HostSketch one;
  EXPECT_EQ(file.give(&one, {}).warning, "");
  EXPECT_EQ(
      topo::sketchMeasured(8, {"/nowhere"}, {}, &sketch).text,
      "as the machine claims (no links-0000000000000008.xml in /nowhere; rondo-topo --measure "
      "makes it)");
}

}  // namespace
}  // namespace rondo

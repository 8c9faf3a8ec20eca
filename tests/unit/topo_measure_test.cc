// Links that are measured: by a pretended CUDA driver whose copies contradict what PCIe claims, by
// reading this host's memory, and from files.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/config_files.h"
#include "topo/discover.h"
#include "topo/graph_xml.h"
#include "topo/load.h"
#include "topo/measure.h"
#include "topo/measured_links.h"
#include "topo/memory_speed.h"
#include "topo/xml.h"

namespace {

using namespace rondo;
using namespace rondo::topo;
namespace fs = std::filesystem;

constexpr uint64_t kMachine = 0x1f0c94d6b5a7e832;

std::string machineFile(const std::string& name) {
  const char* const root = std::getenv("TEST_SRCDIR");
  return std::string(root != nullptr ? root : "..") + "/tests/topologies/" + name;
}

Graph lying() { return loadTopology(machineFile("lying_pcie.xml")).graph; }

GpuCopies pretendedCopies() {
  std::error_code fault;
  const fs::path here = fs::read_symlink("/proc/self/exe", fault).parent_path();
  return measureGpuCopies((here / ".libs/libfake_copies.so").c_str());
}

const Link& linkOf(const Graph& graph, LinkKind kind, const char* a, const char* b) {
  const int found = graph.findLink(kind, graph.find(std::string("host0/") + a),
                                   graph.find(std::string("host0/") + b));
  EXPECT_GE(found, 0);
  return graph.link(found);
}

/// A directory of its own, in which jobs look.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/rondo-links-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string file() const { return path_ + "/" + linksFileName(kMachine); }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  std::vector<std::string> apply(Graph& graph) const {
    return applyMeasured(kMachine, {path_}, graph, 0);
  }

 private:
  std::string path_;
};

TEST(TopoMeasure, CopiesHoldWherePcieLies) {
  Graph graph = lying();
  EXPECT_TRUE(addGpuCopies(pretendedCopies(), graph, 0).empty());
  // 25 GB/s by its host, 28 by its neighbour, over what claims to be one lane of 0.25.
  const Link& gpu0 = linkOf(graph, LinkKind::Pci, "pci0", "gpu0");
  EXPECT_EQ(gpu0.bytesPerSecond, 28'000'000'000u);
  EXPECT_EQ(gpu0.claimedBytes, 250'000'000u);
  EXPECT_FALSE(gpu0.claimedPicoseconds);
  // The switch above carries at least what went through it.
  EXPECT_EQ(linkOf(graph, LinkKind::Pci, "cpu0", "pci0").bytesPerSecond, 25'000'000'000u);
  // Less than it claims, by the slower direction; the link above may have the rest.
  EXPECT_EQ(linkOf(graph, LinkKind::Pci, "pci1", "gpu3").bytesPerSecond, 12'000'000'000u);
  EXPECT_FALSE(linkOf(graph, LinkKind::Pci, "cpu1", "pci1").measured());
  EXPECT_EQ(linkOf(graph, LinkKind::NvLink, "gpu2", "gpu3").bytesPerSecond, 90'000'000'000u);
  EXPECT_FALSE(linkOf(graph, LinkKind::Socket, "cpu0", "cpu1").measured());

  // The whole of it is a machine with golden answers (topo_golden_test.cc).
  const std::string golden = machineFile("lying_pcie_measured.xml");
  if (std::getenv("RONDO_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << writeGraphXml(graph);
  EXPECT_EQ(writeGraphXml(graph), readFile(golden));
}

TEST(TopoMeasure, WhatCannotBeMeasuredIsSaid) {
  setenv("FAKE_COPIES_FAIL", "2", 1);
  const GpuCopies copies = pretendedCopies();
  unsetenv("FAKE_COPIES_FAIL");
  ASSERT_EQ(copies.gpus.size(), 4u);
  Graph graph = lying();
  const std::vector<std::string> left = addGpuCopies(copies, graph, 0);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0], "GPU 0000:81:00.0: cuMemAlloc of 256 MiB: out of memory (2)");
  EXPECT_TRUE(linkOf(graph, LinkKind::Pci, "pci1", "gpu3").measured());
  EXPECT_FALSE(linkOf(graph, LinkKind::Pci, "pci1", "gpu2").measured());
  EXPECT_FALSE(linkOf(graph, LinkKind::NvLink, "gpu2", "gpu3").measured());
}

TEST(TopoMeasure, NoDriverAndNoGpu) {
  EXPECT_TRUE(measureGpuCopies("libthere-is-no-such-thing.so").gpus.empty());
  setenv("FAKE_COPIES_NONE", "1", 1);
  const GpuCopies copies = pretendedCopies();
  unsetenv("FAKE_COPIES_NONE");
  EXPECT_TRUE(copies.gpus.empty());
  EXPECT_TRUE(copies.failures.empty());
}

TEST(TopoMeasure, LaterJobsFindIt) {
  const Folder folder;
  Graph measured = lying();
  addGpuCopies(pretendedCopies(), measured, 0);
  measured.setMeasuredLatency(
      measured.findLink(LinkKind::Socket, measured.find("host0/cpu0"), measured.find("host0/cpu1")),
      77'000);
  writeConfigFile(writeGraphXml(measured), folder.file());
  Graph later = lying();
  EXPECT_TRUE(folder.apply(later).empty());
  EXPECT_EQ(writeGraphXml(later), writeGraphXml(measured));
  // What the machine claims by now is kept, not what it claimed then.
  Graph other = loadTopologyXml(
                    [] {
                      std::string xml = readFile(machineFile("lying_pcie.xml"));
                      return xml.replace(xml.find("60GB/s\" latency=\"100ns"), 22,
                                         "50GB/s\" latency=\"120ns");
                    }(),
                    "m.xml")
                    .graph;
  EXPECT_TRUE(folder.apply(other).empty());
  const Link& socket = linkOf(other, LinkKind::Socket, "cpu0", "cpu1");
  EXPECT_EQ(socket.bytesPerSecond, 50'000'000'000u);
  EXPECT_EQ(socket.picoseconds, 77'000u);
  EXPECT_EQ(socket.claimedPicoseconds, 120'000u);
}

TEST(TopoMeasure, LinksThatAreNotThereAnyMoreAreToldOnce) {
  const Folder folder;
  Graph measured = lying();
  addGpuCopies(pretendedCopies(), measured, 0);
  folder.write(writeGraphXml(measured));
  // gpu0 is another card, and gpu3 has gone, and with it an NVLink.
  std::string xml = readFile(machineFile("lying_pcie.xml"));
  xml.replace(xml.find("0000:11:00.0"), 12, "0000:12:00.0");
  for (const char* gone : {"    <gpu name=\"gpu3\"", "    <link kind=\"pci\" between=\"pci1 gpu3\"",
                           "    <link kind=\"nvlink\""}) {
    const size_t at = xml.find(gone);
    xml.erase(at, xml.find('\n', at) + 1 - at);
  }
  Graph graph = loadTopologyXml(xml, "m.xml").graph;
  const std::vector<std::string> said = folder.apply(graph);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], folder.file() +
                         ": 3 measured links are not there any more, the first is pci pci0 gpu0; "
                         "the others hold; rondo-topo --measure measures anew");
  EXPECT_FALSE(linkOf(graph, LinkKind::Pci, "pci0", "gpu0").measured());
  EXPECT_TRUE(linkOf(graph, LinkKind::Pci, "pci0", "gpu1").measured());
}

TEST(TopoMeasure, BadFilesAreRefusedAndNotUsed) {
  const std::string good = readFile(machineFile("lying_pcie_measured.xml"));
  const auto with = [&good](const char* what, const char* instead) {
    std::string text = good;
    return text.replace(text.find(what), std::string(what).size(), instead);
  };
  const struct {
    std::string text, sentence;
  } cases[] = {
      {"", ":1: "},
      {good.substr(0, good.size() / 2), ":17: not well-formed XML"},
      {with("measured_bandwidth=\"", "measured_bandwidth=\"-"), ":17: measured_bandwidth is \"-"},
      {with("latency=\"100ns\"", "latency=\"100ns\" measured_latency=\"2s\""),
       ":16: measured_latency is \"2s\"; allowed: "},
      {with("</host>", "</host><host name=\"host1\"/>"),
       ":2: there are 2 hosts; allowed: the one that was measured"},
      {"<system version=\"1\"/>", ":1: the root element is <system>; allowed: rondo-topology"},
  };
  const Folder folder;
  const std::string before = writeGraphXml(lying());
  for (const auto& bad : cases) {
    folder.write(bad.text);
    Graph graph = lying();
    const std::vector<std::string> said = folder.apply(graph);
    ASSERT_EQ(said.size(), 1u) << bad.sentence;
    EXPECT_EQ(said[0].find(folder.file() + bad.sentence), 0u) << said[0];
    EXPECT_TRUE(said[0].ends_with("; no link has what was measured")) << said[0];
    EXPECT_EQ(writeGraphXml(graph), before);
  }
  fs::remove(folder.file());
  fs::create_directory(folder.file());
  Graph graph = lying();
  EXPECT_EQ(folder.apply(graph),
            std::vector<std::string>{folder.file() +
                                     ": is no regular file; no link has what was measured"});
}

TEST(TopoMeasure, MemoryOfThisHost) {
  // It keeps memory to itself when hwloc unloads it; staying, it can be named in lsan.supp.
  dlopen("libpciaccess.so.0", RTLD_LAZY | RTLD_NODELETE);
  Graph graph = describeHost();
  const std::vector<std::string> left = measureMemoryLinks(graph, 0);
  size_t measured = 0;
  for (const Link& link : graph.links()) {
    if (link.kind != LinkKind::Memory && link.kind != LinkKind::Socket) {
      EXPECT_FALSE(link.measured());
      continue;
    }
    measured += link.claimedBytes && link.claimedPicoseconds ? 1 : 0;
  }
  EXPECT_GT(measured, 0u);
  const std::string xml = writeGraphXml(graph);
  EXPECT_EQ(writeGraphXml(loadTopologyXml(xml, "m.xml").graph), xml);
}

TEST(TopoMeasure, CpusOfANumaNode) {
  const std::vector<int> all = cpusOfNuma(0, "/nowhere");  // a kernel without NUMA
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(cpusOfNuma(1, "/nowhere").empty());
  const Folder folder;
  const fs::path nodes = fs::path(folder.path()) / "devices/system/node";
  for (const char* node : {"node0", "node3", "node4"}) fs::create_directories(nodes / node);
  std::ofstream(nodes / "node0/cpulist") << "0-1023\n";
  std::ofstream(nodes / "node3/cpulist") << "5000," << all.front() << ",x\n";
  std::ofstream(nodes / "node4/cpulist") << "\n";
  EXPECT_EQ(cpusOfNuma(0, folder.path()), all);
  EXPECT_EQ(cpusOfNuma(3, folder.path()), std::vector<int>{all.front()});
  EXPECT_TRUE(cpusOfNuma(4, folder.path()).empty());
}

}  // namespace

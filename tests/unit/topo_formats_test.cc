// Other people's descriptions: NCCL's, hwloc's, NVML's and the kernel's.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/topo_refusal.h"
#include "topo/discover.h"
#include "topo/graph_xml.h"
#include "topo/load.h"
#include "topo/nccl_xml.h"
#include "topo/nvml.h"
#include "topo/paths.h"
#include "topo/pci_speeds.h"
#include "topo/synthetic.h"
#include "topo/xml.h"

namespace {

namespace fs = std::filesystem;
using namespace rondo;
using namespace rondo::topo;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;

std::string source(const std::string& path) {
  const char* const root = std::getenv("TEST_SRCDIR");
  return std::string(root != nullptr ? root : "..") + "/" + path;
}

Graph readXml(const std::string& xml) { return loadTopologyXml(xml, "m.xml").graph; }

TEST(TopoNccl, ReadsWhatNcclDumps) {
  const Graph graph = loadTopology(source("tests/topologies/dgx_h100.nccl.xml")).graph;
  EXPECT_EQ(graph.all(NodeKind::Gpu).size(), 8u);
  EXPECT_EQ(graph.all(NodeKind::Nic).size(), 8u);
  EXPECT_EQ(graph.all(NodeKind::Pci).size(), 8u);
  const Node& gpu = graph.node(graph.find("host0/gpu3"));
  EXPECT_EQ(gpu.busId, "0000:61:00.0");
  EXPECT_EQ(gpu.model, "sm90");
  EXPECT_EQ(graph.node(graph.find("host0/nic3")).rate, 50'000'000'000u);
  EXPECT_EQ(graph.node(graph.find("host0/cpu0")).cores, 112);
  PathFinder finder(graph);
  Path path;
  ASSERT_TRUE(finder.find(graph.find("host0/gpu0"), graph.find("host0/gpu7"), &path));
  EXPECT_EQ(path.bytesPerSecond, 450'000'000'000u);
  EXPECT_EQ(graph.link(path.arcs[0] / 2).count, 18);
}

TEST(TopoNccl, RoundTrip) {
  for (const char* name : {"dgx_h100", "dgx_a100", "vm_2gpu", "vm_4gpu"}) {
    const Graph graph =
        loadTopology(source(std::string("tests/topologies/") + name + ".nccl.xml")).graph;
    const std::string xml = writeNcclXml(graph, 0);
    EXPECT_EQ(writeGraphXml(readXml(xml)), writeGraphXml(graph)) << name;
    EXPECT_EQ(writeNcclXml(readXml(xml), 0), xml) << name;
  }
}

TEST(TopoNccl, WritesSyntheticMachines) {
  const Graph graph = parseSynthetic("2 cpu, 4 pci, 8 gpu nvlink=450 links=18 nvswitch, 8 nic=50");
  const Graph again = readXml(writeNcclXml(graph, 0));
  EXPECT_EQ(again.nodes().size(), graph.nodes().size());
  EXPECT_EQ(again.links().size(), graph.links().size());
  expectPart(refusalOf([] { writeNcclXml(parseSynthetic("2 gpu nvlink=1 nvswitch"), 0); }),
             "host0 has no CPU");
}

TEST(TopoNccl, WritesC2cLinksAndTheGpusNumbers) {
  const Graph graph = readXml(
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\"><gpu dev=\"3\" "
      "sm=\"90\">"
      "<c2c bw=\"45000\" count=\"10\"/></gpu></pci></cpu><cpu numaid=\"1\"><pci "
      "busid=\"0000:02:00.0\"><gpu dev=\"1\" sm=\"90\"><c2c bw=\"900\" count=\"1024\"/></gpu></pci>"
      "</cpu></system>");
  std::vector<std::string> left;
  const std::string xml = writeNcclXml(graph, 0, &left);
  EXPECT_TRUE(left.empty());
  expectPart(xml, "<gpu dev=\"3\" ");
  expectPart(xml, "<c2c bw=\"45000\" count=\"10\"/>");
  EXPECT_EQ(writeGraphXml(readXml(xml)), writeGraphXml(graph));
  EXPECT_EQ(writeNcclXml(readXml(xml), 0), xml);
  // A bandwidth that its links do not share in whole MB/s is one link's.
  const Graph odd = parseSynthetic("2 cpu, 2 gpu c2c=450.001");
  expectPart(writeNcclXml(odd, 0), "<c2c bw=\"450001\" count=\"1\"/>");
}

TEST(TopoNccl, SaysWhatItCannotWrite) {
  const Graph graph = readXml(
      "<rondo-topology version=\"1\"><host name=\"a\"><cpu name=\"c0\"/><cpu name=\"c1\"/>"
      "<gpu name=\"gpu0\"/><gpu name=\"gpu1\"/>"
      "<link kind=\"pci\" between=\"c0 gpu0\" bandwidth=\"64GB/s\" latency=\"250ns\"/>"
      "<link kind=\"c2c\" between=\"c1 gpu0\" bandwidth=\"450GB/s\" latency=\"250ns\"/>"
      "<link kind=\"c2c\" between=\"c1 gpu1\" bandwidth=\"450GB/s\" latency=\"250ns\"/>"
      "</host></rondo-topology>");
  std::vector<std::string> left;
  writeNcclXml(graph, 0, &left);
  ASSERT_EQ(left.size(), 3u);
  expectPart(left[0], "no place for a/gpu1, to which no PCIe leads; it is left out");
  expectPart(left[1], "the C2C link between a/c1 and a/gpu0, whose PCIe is elsewhere");
}

TEST(TopoNccl, TakesHandWrittenFiles) {
  // Devices by their class alone, old spellings of the speed, comments, a GPU pair with NVLinks.
  const Graph graph = readXml(
      "<!-- by hand --><system version=\"1\"><cpu numaid=\"-1\"><pci busid=\"1\" "
      "class=\"0x060400\" "
      "link_speed=\"16 GT/s\" link_width=\"16\"><pci busid=\"2\" class=\"0x030200\" "
      "link_speed=\"16 GT/s\" link_width=\"8\"/><pci busid=\"3\" class=\"0x020700\"/></pci>"
      "<pci busid=\"4\" class=\"0x030200\" link_speed=\"\" link_width=\"0\"><gpu dev=\"5\" "
      "sm=\"80\">"
      "<nvlink target=\"6\" count=\"12\" tclass=\"0x030200\"/><c2c bw=\"50000\" count=\"2\"/></gpu>"
      "</pci><pci busid=\"6\" class=\"0x030200\"><gpu dev=\"6\" sm=\"80\">"
      "<nvlink target=\"4\" count=\"12\" tclass=\"0x030200\"/></gpu></pci></cpu></system>");
  EXPECT_EQ(graph.all(NodeKind::Gpu).size(), 3u);
  EXPECT_EQ(graph.all(NodeKind::Nic).size(), 1u);
  PathFinder finder(graph);
  Path path;
  ASSERT_TRUE(finder.find(graph.find("host0/gpu5"), graph.find("host0/gpu6"), &path));
  // 12 links, that both ends tell of.
  EXPECT_EQ(path.bytesPerSecond, 300'000'000'000u);
  ASSERT_TRUE(finder.find(graph.find("host0/gpu5"), graph.find("host0/cpu0"), &path));
  EXPECT_EQ(path.bytesPerSecond, 100'000'000'000u);
}

TEST(TopoNccl, SaysFileAndLine) {
  const std::string head = "<system version=\"1\">\n<cpu numaid=\"0\">\n";
  const std::string tail = "\n</cpu></system>";
  const std::pair<std::string, const char*> wrong[] = {
      {"<system/>", "m.xml:1: <system> needs the attribute version"},
      {"<system version=\"1\"/>", "m.xml:1: <system> has no <cpu>"},
      {head + "<pci/>" + tail, "m.xml:3: <pci> needs the attribute busid"},
      {head + "<pci busid=\"1\" link_speed=\"fast\"/>" + tail,
       "m.xml:3: link_speed is \"fast\"; allowed: 2.5, 5.0"},
      {head + "<pci busid=\"1\" link_width=\"-4\"/>" + tail,
       "m.xml:3: link_width is \"-4\"; allowed: 0 to 64"},
      {head +
           "<pci busid=\"1\"><gpu dev=\"0\" sm=\"90\">\n<nvlink target=\"x\" "
           "count=\"1\"/></gpu></pci>" +
           tail,
       "m.xml:4: target is \"x\", which is no GPU here"},
  };
  for (const auto& [xml, expected] : wrong) {
    expectPart(refusalOf([&] { readXml(xml); }), expected);
  }
}

TEST(TopoHwloc, ReadsItsXml) {
  const Graph graph = loadTopology(source("tests/topologies/no_gpu.hwloc.xml")).graph;
  EXPECT_EQ(graph.all(NodeKind::Cpu).size(), 1u);
  EXPECT_EQ(graph.node(graph.find("host0/cpu0")).cores, 2);
  EXPECT_EQ(graph.all(NodeKind::Numa).size(), 1u);
  EXPECT_TRUE(graph.all(NodeKind::Gpu).empty());
  expectPart(
      refusalOf([] { readXml("<topology version=\"2.0\"><object type=\"Toaster\"/></topology>"); }),
      "m.xml:1: hwloc does not take it");
}

TEST(TopoLoad, RefusesWhatCannotBeRead) {
  expectPart(refusalOf([] { loadTopology("there/is/none.xml"); }),
             "there/is/none.xml cannot be read: No such file");
  expectPart(refusalOf([] { loadTopology("/"); }), "/ cannot be read: ");
}

TEST(TopoPci, LanesByGeneration) {
  EXPECT_EQ(pciLaneBytes("16.0 GT/s PCIe"), pciLaneBytes("16 GT/s"));
  EXPECT_EQ(pciLaneBytes("2.5 GT/s PCIe"), 250'000'000u);
  EXPECT_EQ(pciLaneBytes("7 GT/s"), 0u);
  EXPECT_EQ(pciLaneBytes(" GT/s"), 0u);
  const PciSpeed speed = nearestPci(64'000'000'000);
  EXPECT_EQ(std::string(speed.speed), "32.0 GT/s");
  EXPECT_EQ(speed.width, 16);
}

TEST(TopoNvml, AddsNvLinks) {
  std::error_code fault;
  const fs::path here = fs::read_symlink("/proc/self/exe", fault).parent_path();
  const std::vector<NvmlGpu> gpus = readNvml((here / ".libs/libfake_nvml.so").c_str());
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[0].links.size(), 6u);
  Graph graph = parseSynthetic("1 cpu");
  addNvLinks(graph, 0, gpus);
  EXPECT_EQ(graph.node(graph.find("host0/gpu1")).model, "FAKE H200");
  PathFinder finder(graph);
  Path path;
  const unsigned nvLink = linkBit(LinkKind::NvLink);
  ASSERT_TRUE(finder.find(graph.find("host0/gpu0"), graph.find("host0/gpu1"), &path, 0, nvLink));
  EXPECT_EQ(pathText(graph, graph.find("host0/gpu0"), path), "host0/gpu0 - nvs0 - gpu1");
  EXPECT_EQ(path.bytesPerSecond, 100'000'000'000u);
  ASSERT_TRUE(finder.find(graph.find("host0/gpu2"), graph.find("host0/gpu0"), &path, 0, nvLink));
  EXPECT_EQ(path.bytesPerSecond, 50'000'000'000u);
  EXPECT_TRUE(readNvml("libthere-is-no-such-thing.so").empty());
}

TEST(TopoRdma, ReadsPortsFromSysfs) {
  char name[] = "/tmp/rondo_rdma_XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const fs::path root = name;
  const auto put = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text << "\n";
  };
  put("ib/mlx5_0/node_guid", "b83f:d203:0012:3456");
  put("ib/mlx5_0/ports/1/state", "4: ACTIVE");
  put("ib/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  put("ib/mlx5_1/ports/1/state", "1: DOWN");
  put("ib/mlx5_1/ports/1/rate", "nonsense");
  fs::create_directories(root / "pci/0000:18:00.0");
  fs::create_symlink("../../pci/0000:18:00.0", root / "ib/mlx5_0/device");
  const std::vector<RdmaPort> ports = readRdmaPorts(root / "ib");
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].busId, "0000:18:00.0");
  EXPECT_EQ(ports[0].guid, "b83f:d203:0012:3456");
  EXPECT_TRUE(ports[0].active);
  EXPECT_EQ(ports[0].bytesPerSecond, 50'000'000'000u);
  EXPECT_FALSE(ports[1].active);
  EXPECT_EQ(ports[1].bytesPerSecond, 0u);
  Graph graph = loadTopology(source("tests/topologies/dgx_h100.nccl.xml")).graph;
  graph.setRate(graph.find("host0/nic0"), 1);
  addRdmaPorts(graph, 0, ports);
  EXPECT_EQ(graph.node(graph.find("host0/nic0")).rate, 50'000'000'000u);
  EXPECT_TRUE(readRdmaPorts("/nowhere").empty());
  fs::remove_all(root);
}

TEST(TopoDiscovery, ThisHostHasCpus) {
  // It keeps memory to itself when hwloc unloads it; staying, it can be named in lsan.supp.
  dlopen("libpciaccess.so.0", RTLD_LAZY | RTLD_NODELETE);
  std::vector<std::string> warnings;
  const Graph graph = discoverHost(&warnings);
  EXPECT_EQ(graph.hosts().size(), 1u);
  EXPECT_FALSE(graph.all(NodeKind::Cpu).empty());
  const std::string xml = writeGraphXml(graph);
  EXPECT_EQ(writeGraphXml(readXml(xml)), xml);
}

/// Changes bytes of what is right: whatever comes of it is a graph or a sentence.
TEST(TopoFuzz, MutatedDescriptions) {
  std::vector<std::string> seeds;
  for (const char* name : {"dgx_h100.nccl.xml", "vm_2gpu.nccl.xml", "pcie_two_sockets.xml",
                           "lying_pcie_measured.xml", "no_gpu.hwloc.xml"}) {
    seeds.push_back(readFile(source(std::string("tests/topologies/") + name)));
  }
  const std::vector<std::string> texts = {
      "4 x (2 cpu=60 cores=8, 4 pci, 8 gpu nvlink=450 links=18 nvswitch, 8 nic=50) rail spine=2",
      "2 cpu, 4 gpu nvlink=300 mesh c2c=100", "9 x (1 cpu, 2 nic=12.5) fattree=8 latency=600"};
  uint64_t state = 20261121;
  const auto next = [&state](size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % below;
  };
  const auto mutate = [&](std::string text) {
    static const char* const pieces[] = {"<",  ">", "\"", "&x;",  "0",  "9999999999",
                                         "-1", "(", ")",  "</a>", "\0", "=",
                                         " ",  ",", "x",  "gpu",  "1e9"};
    for (size_t changes = 1 + next(4); changes > 0 && !text.empty(); --changes) {
      const size_t at = next(text.size());
      switch (next(4)) {
        case 0:
          text[at] = static_cast<char>(next(256));
          break;
        case 1:
          text.erase(at, 1 + next(12));
          break;
        case 2:
          text.insert(at, pieces[next(std::size(pieces))]);
          break;
        default:
          text.insert(at, text.substr(next(text.size()), next(40)));
      }
    }
    return text;
  };
  int refused = 0, taken = 0;
  const auto attempt = [&](auto action) {
    try {
      action();
      ++taken;
    } catch (const Error& error) {
      ++refused;
      EXPECT_FALSE(error.sentence().empty());
    }
  };
  for (int i = 0; i < 800; ++i) {
    const std::string xml = mutate(seeds[next(seeds.size())]);
    attempt([&] { loadTopologyXml(xml, "m.xml"); });
  }
  for (int i = 0; i < 3000; ++i) {
    const std::string text = mutate(texts[next(texts.size())]);
    attempt([&] { parseSynthetic(text); });
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(taken, 100);
}

}  // namespace

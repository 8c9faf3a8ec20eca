// What files in NCCL's dialect from elsewhere have and ours had not: templates that cloud providers
// ship, and dumps. The texts are our own; what they repeat of such a file is its structure
// (docs/topology.md lists the files that were loaded).

#include <gtest/gtest.h>

#include "support/topo_refusal.h"
#include "topo/graph_xml.h"
#include "topo/load.h"
#include "topo/nccl_xml.h"
#include "topo/paths.h"
#include "topo/quantities.h"

namespace {

using namespace rondo;
using namespace rondo::topo;
using rondo::testing::expectPart;

struct Read {
  Graph graph;
  std::vector<std::string> warnings;
};

/// The inside of <system>, from line 2 on.
Read readInside(const std::string& inside) {
  Loaded loaded = loadTopologyXml("<system version=\"1\">\n" + inside + "</system>", "m.xml");
  return {std::move(loaded.graph), std::move(loaded.warnings)};
}

Path pathOf(const Graph& graph, const char* from, const char* to) {
  PathFinder finder(graph);
  Path path;
  EXPECT_TRUE(finder.find(graph.find(from), graph.find(to), &path)) << from << " to " << to;
  return path;
}

std::string gpuAt(const std::string& busId, const std::string& inside, int dev = 0, int sm = 90) {
  return format("<pci busid=\"%s\" class=\"0x030200\"><gpu dev=\"%d\" sm=\"%d\" gdr=\"1\">",
                busId.c_str(), dev, sm) +
         inside + "</gpu></pci>\n";
}

const std::string kInvisibleSwitch =
    "<nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>";

TEST(TopoNcclFiles, ProvidersTemplate) {
  // Switches that are made up, devices by their class alone, PCIe domains as numbers, a comment
  // behind each element, ids that are all nought.
  std::string inside;
  for (int numa = 0; numa < 2; ++numa) {
    inside += format(
        "<cpu numaid=\"%d\" affinity=\"00000000,0000000f\" arch=\"x86_64\" vendor=\"AuthenticAMD\" "
        "familyid=\"23\" modelid=\"49\"><pci busid=\"ffff:ff:0%d.0\" class=\"0x060400\" "
        "link_speed=\"16 GT/s\" link_width=\"16\" vendor=\"0x0000\" device=\"0x0000\" "
        "subsystem_vendor=\"0x0000\" subsystem_device=\"0x0000\"> <!-- a switch -->\n",
        numa, numa + 1);
    for (int i = 0; i < 2; ++i) {
      const int device = 2 * numa + i;
      inside += format(
          "<pci busid=\"000%d:00:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" "
          "link_width=\"16\"/> <!-- a GPU -->\n<pci busid=\"010%d:00:00.0\" class=\"0x020700\" "
          "link_speed=\"16 GT/s\" link_width=\"16\"/>\n",
          device, device);
    }
    inside += "</pci></cpu>\n";
  }
  const Read read = readInside(inside);
  EXPECT_TRUE(read.warnings.empty());
  EXPECT_EQ(read.graph.all(NodeKind::Gpu).size(), 4u);
  EXPECT_EQ(read.graph.all(NodeKind::Nic).size(), 4u);
  EXPECT_EQ(read.graph.node(read.graph.find("host0/cpu1")).cores, 4);
  EXPECT_EQ(pathOf(read.graph, "host0/gpu3", "host0/nic2").arcs.size(), 2u);
  EXPECT_EQ(pathOf(read.graph, "host0/gpu0", "host0/nic2").arcs.size(), 5u);
}

TEST(TopoNcclFiles, SwitchesAlone) {
  // A template that says only which CPU is above which switch.
  const Read read = readInside(
      "<cpu numaid=\"0\"><pci busid=\"0000:00:10.0\"/><pci busid=\"0000:00:11.0\"/></cpu>\n"
      "<cpu numaid=\"1\"><pci busid=\"0000:00:12.0\"/></cpu>\n");
  EXPECT_EQ(read.graph.all(NodeKind::Cpu).size(), 2u);
  EXPECT_EQ(read.graph.all(NodeKind::Pci).size(), 3u);
  EXPECT_TRUE(read.graph.all(NodeKind::Gpu).empty());
}

TEST(TopoNcclFiles, NvLinksThatEndAtTheirOwnGpu) {
  std::string inside;
  for (int i = 0; i < 2; ++i) {
    const std::string busId = format("000%d:00:00.0", i + 1);
    inside += format("<cpu numaid=\"%d\">", i) +
              gpuAt(busId, "\n<nvlink target=\"" + busId + "\" count=\"12\" tclass=\"0x030200\"/>",
                    i, 80) +
              "</cpu>";
  }
  const Read read = readInside(inside);
  ASSERT_EQ(read.warnings.size(), 1u);
  expectPart(read.warnings[0], "m.xml:3: an <nvlink> ends at its own GPU");
  EXPECT_EQ(pathOf(read.graph, "host0/gpu0", "host0/gpu1").bytesPerSecond, 60'000'000'000u);
}

TEST(TopoNcclFiles, GpusOfOneNumber) {
  // Each GPU in a container of its own is number 0 there; a device by class alone between them.
  const Read read =
      readInside("<cpu numaid=\"0\">\n" + gpuAt("1", "") + gpuAt("2", "") +
                 "<pci busid=\"3\" class=\"0x030200\"/>\n" + gpuAt("4", "") + "</cpu>");
  ASSERT_EQ(read.warnings.size(), 1u);
  expectPart(read.warnings[0], "m.xml:4: several GPUs of one host have the same dev");
  for (const int gpu : {0, 1, 2, 3}) {
    const int node = read.graph.find(format("host0/gpu%d", gpu));
    ASSERT_GE(node, 0);
    EXPECT_EQ(read.graph.node(node).busId, std::to_string(gpu + 1));
  }
}

TEST(TopoNcclFiles, PartitionsOfAGpu) {
  const Read read = readInside(
      "<cpu numaid=\"0\"><pci busid=\"1\" class=\"0x030200\">\n"
      "<gpu dev=\"0\" sm=\"107\" mlopart=\"0\" rank=\"0\"/>\n"
      "<gpu dev=\"0\" sm=\"107\" mlopart=\"1\" rank=\"1\"/></pci></cpu>");
  EXPECT_EQ(read.graph.all(NodeKind::Gpu).size(), 1u);
  ASSERT_EQ(read.warnings.size(), 1u);
  expectPart(read.warnings[0], "m.xml:4: a <pci> has several elements");
}

TEST(TopoNcclFiles, ACardBelowSeveralCpusIsOne) {
  const std::string eth =
      "<nic><net name=\"eth0\" dev=\"0\" speed=\"10000\" port=\"0\" guid=\"0x0\" gdr=\"0\"/></nic>";
  const std::string other = "<nic><net name=\"eth1\" dev=\"1\" speed=\"10000\"/></nic>";
  const Read read = readInside("<cpu numaid=\"0\">" + eth + "</cpu>\n<cpu numaid=\"1\">" + eth +
                               other + "</cpu>");
  EXPECT_EQ(read.graph.all(NodeKind::Nic).size(), 2u);
  ASSERT_EQ(read.warnings.size(), 1u);
  expectPart(read.warnings[0], "m.xml:3: a <nic> of one name hangs on several CPUs");
}

std::string switchOf(const char* device, const char* subsystem, int number) {
  return format(
      "<pci busid=\"0000:%02d:00.0\" class=\"0x060400\" vendor=\"0x1000\" device=\"%s\" "
      "subsystem_vendor=\"0x1000\" subsystem_device=\"%s\" link_speed=\"8.0 GT/s PCIe\" "
      "link_width=\"16\">",
      number, device, subsystem);
}

TEST(TopoNcclFiles, PartsOfABroadcomSwitchAreOne) {
  struct Case {
    const char *device, *above, *below;
    size_t switches, links;  // links: on the way from one GPU to the other
  };
  const Case cases[] = {
      {"0xc010", "0xa096", "0xa096", 1, 2},  // PCIe 4
      {"0xc030", "0x0004", "0x100b", 1, 2},  // PCIe 5
      {"0xc030", "0x100b", "0x100b", 3, 4},  // two chips, one below the other
      {"0xb000", "0xa096", "0xa096", 3, 4},  // another maker's rule
  };
  for (const Case& c : cases) {
    const Read read =
        readInside("<cpu numaid=\"0\">" + switchOf(c.device, c.above, 1) +
                   switchOf(c.device, c.below, 2) + gpuAt("g0", "", 0) + "</pci>" +
                   switchOf(c.device, c.below, 3) + gpuAt("g1", "", 1) + "</pci></pci></cpu>");
    EXPECT_EQ(read.graph.all(NodeKind::Pci).size(), c.switches) << c.device << c.above;
    EXPECT_EQ(pathOf(read.graph, "host0/gpu0", "host0/gpu1").arcs.size(), c.links)
        << c.device << c.above;
    const std::string xml = writeNcclXml(read.graph, 0);
    EXPECT_EQ(writeGraphXml(loadTopologyXml(xml, "again.xml").graph), writeGraphXml(read.graph));
  }
}

TEST(TopoNcclFiles, NvLinksOfSeveralHostsAreOneFabric) {
  std::string inside;
  for (int host = 0; host < 3; ++host) {
    inside += format("<cpu host_hash=\"0x%d\" numaid=\"0\" arch=\"arm64\">", host + 7);
    for (int gpu = 0; gpu < 2; ++gpu) {
      inside += gpuAt(format("000%d:06:00.0", gpu),
                      kInvisibleSwitch + "<c2c bw=\"40000\" count=\"5\"/>", gpu, 103);
    }
    inside += "</cpu>\n";
  }
  const Read read = readInside(inside);
  EXPECT_TRUE(read.warnings.empty());
  EXPECT_EQ(read.graph.hosts().size(), 3u);
  EXPECT_EQ(pathOf(read.graph, "host0/gpu0", "host0/gpu1").arcs.size(), 2u);
  const Path far = pathOf(read.graph, "host0/gpu1", "host2/gpu0");
  EXPECT_EQ(far.bytesPerSecond, 900'000'000'000u);
  EXPECT_EQ(far.arcs.size(), 4u);
  EXPECT_EQ(pathOf(read.graph, "host1/gpu0", "host1/cpu0").bytesPerSecond, 200'000'000'000u);
  const std::string xml = writeGraphXml(read.graph);
  EXPECT_EQ(writeGraphXml(loadTopologyXml(xml, "again.xml").graph), xml);
}

TEST(TopoNcclFiles, NvLinkBridgesOfWorkstations) {
  const Read read = readInside(
      "<cpu numaid=\"0\">" +
      gpuAt("1", "<nvlink target=\"2\" count=\"4\" tclass=\"0x030000\"/>", 0, 86) +
      gpuAt("2", "<nvlink target=\"1\" count=\"4\" tclass=\"0x030000\"/>", 1, 86) + "</cpu>");
  EXPECT_EQ(pathOf(read.graph, "host0/gpu0", "host0/gpu1").bytesPerSecond, 56'250'000'000u);
}

}  // namespace

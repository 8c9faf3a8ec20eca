// Pictures of machines: everything written in them can be read, nothing lies on anything else, and
// large hosts stay as wide as a screen.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/svg_texts.h"
#include "topo/draw_svg.h"
#include "topo/graph_xml.h"
#include "topo/host_layout.h"
#include "topo/load.h"
#include "topo/search.h"
#include "topo/synthetic.h"
#include "topo/xml.h"

namespace {

using namespace rondo;
using namespace rondo::topo;
using rondo::testing::Box;
using rondo::testing::expectTextsReadable;
using rondo::testing::forSvgElements;
using rondo::testing::svgNumber;
using rondo::testing::svgPage;
using rondo::testing::SvgText;
using rondo::testing::svgTexts;

std::string drawn(const Graph& graph, const std::string& title = "a machine") {
  const topo::Channels channels = searchChannels(graph);
  return drawSvg(graph, &channels, title);
}

std::string file(const std::string& name) {
  const char* const root = std::getenv("TEST_SRCDIR");
  return std::string(root != nullptr ? root : "..") + "/tests/topologies/" + name + ".xml";
}

/// Rectangles with that attribute: boxes are round, labels have a background.
std::vector<Box> rectangles(const std::string& svg, const std::string& with) {
  std::vector<Box> out;
  forSvgElements(svg, [&](const std::string& element, const std::string&, double) {
    if (!element.starts_with("<rect") || element.find(with) == std::string::npos) return;
    const double x = svgNumber(element, "x"), y = svgNumber(element, "y");
    out.push_back({x, y, x + svgNumber(element, "width"), y + svgNumber(element, "height")});
  });
  return out;
}

size_t count(const std::string& svg, const std::string& what) {
  size_t found = 0;
  for (const SvgText& text : svgTexts(svg)) found += text.text == what ? 1 : 0;
  return found;
}

void expectClear(const std::string& svg) {
  EXPECT_EQ(parseXml(svg, "machine.svg").name, "svg");
  expectTextsReadable(svg);
  EXPECT_EQ(svg.find("no room for their numbers"), std::string::npos);
  const std::vector<Box> boxes = rectangles(svg, "rx=\"4\"");
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(boxes[i].meets(boxes[k])) << i << ", " << k;
  }
  for (const Box& label : rectangles(svg, "fill-opacity")) {
    for (const Box& box : boxes) {
      EXPECT_FALSE(label.meets(box)) << "a label at " << label.left << ", " << label.top;
    }
  }
  // A text is in a box or beside it.
  for (const SvgText& text : svgTexts(svg)) {
    for (const Box& box : boxes) {
      EXPECT_TRUE(!text.box.meets(box) || box.holds(text.box)) << text.text;
    }
  }
  // Nothing is drawn over a text: these come last, with their backgrounds.
  const size_t first = svg.find("<text");
  for (const char* const over : {"<path", "<line", "<circle", "rx=\"4\""}) {
    const size_t last = svg.rfind(over);
    EXPECT_TRUE(last == std::string::npos || last < first) << over;
  }
}

TEST(TopoPicture, CapturedMachinesAreClear) {
  for (const char* const name :
       {"vm_2gpu.nccl", "vm_4gpu.nccl", "dgx_a100.nccl", "dgx_h100.nccl", "pcie_two_sockets",
        "no_gpu.hwloc", "fat_tree_64", "lying_pcie", "lying_pcie_measured"}) {
    SCOPED_TRACE(name);
    expectClear(drawn(loadTopology(file(name)).graph, file(name)));
  }
}

TEST(TopoPicture, InventedMachinesAreClear) {
  for (const char* const machine :
       {"1 cpu", "8 cpu", "64 cpu", "200 cpu", "12 cpu, 4 gpu", "2 x (24 cpu, 2 nic=10)",
        "1 cpu, 1 gpu", "2 cpu, 8 gpu nvlink=50 mesh", "2 cpu, 8 gpu nvlink=50 ring",
        "2 cpu, 16 gpu nvlink=50 mesh, 2 nic=25", "2 cpu, 24 gpu nvlink=50 mesh",
        "8 x (4 cpu, 2 nic=25)", "2 x (1 cpu, 2 gpu nvlink=100 nvswitch, 2 nic=10)",
        "4 cpu, 16 pci, 64 gpu, 16 nic=50",
        "64 x (2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail",
        "3 x (2 cpu, 32 gpu nvlink=450 nvswitch, 32 nic=50)"}) {
    SCOPED_TRACE(machine);
    const std::string svg = drawn(parseSynthetic(machine), machine);
    expectClear(svg);
    EXPECT_LE(svgPage(svg).right, 1660) << "as wide as a screen";
  }
  for (int gpus = 1; gpus <= 64; ++gpus) {
    const std::string machine = std::to_string(gpus) + " gpu nvlink=450 nvswitch";
    SCOPED_TRACE(machine);
    const std::string svg = drawn(parseSynthetic("2 cpu, " + machine));
    expectClear(svg);
    EXPECT_LE(svgPage(svg).right, 1660);
    for (int gpu = 0; gpu < gpus; ++gpu) EXPECT_EQ(count(svg, "gpu" + std::to_string(gpu)), 1u);
  }
}

TEST(TopoPicture, EveryLinkHasItsNumber) {
  const std::string a100 = drawn(loadTopology(file("dgx_a100.nccl")).graph);
  EXPECT_EQ(count(a100, "31.51"), 4u + 16u) << "switches, and what hangs below them";
  EXPECT_EQ(count(a100, "300 (12)"), 8u);
  EXPECT_EQ(count(a100, "60"), 1u);
  // Of many NVLinks that are alike one sentence says it.
  const std::string mesh = drawn(parseSynthetic("2 cpu, 8 gpu nvlink=50 mesh"));
  EXPECT_EQ(count(mesh, "7.143"), 0u);
  EXPECT_EQ(count(mesh, "28 NVLinks in arches, 7.143 GB/s each"), 1u);
  // All between four CPUs, also those that have others between them.
  EXPECT_EQ(count(drawn(parseSynthetic("4 cpu")), "60"), 6u);
}

TEST(TopoPicture, PartsOfAHostHaveAllDevicesAndSayWhatIsLeftOut) {
  const Graph graph = parseSynthetic("4 cpu, 16 pci, 64 gpu, 16 nic=50");
  std::vector<int> devices;
  const std::vector<HostPart> parts = partsOf(graph, 0);
  EXPECT_EQ(parts.size(), 4u) << "one for each CPU's twenty";
  for (const HostPart& part : parts) {
    EXPECT_LE(part.devices.size(), 20u);
    EXPECT_EQ(part.parts, parts.size());
    devices.insert(devices.end(), part.devices.begin(), part.devices.end());
  }
  EXPECT_EQ(devices.size(), 80u);
  std::sort(devices.begin(), devices.end());
  EXPECT_EQ(std::unique(devices.begin(), devices.end()), devices.end());
  const std::string svg = drawn(graph);
  EXPECT_EQ(count(svg, "host0, part 4 of 4"), 1u);
  EXPECT_EQ(count(svg, "Not drawn, between parts: 6 links between CPUs, 60 GB/s each"), 1u);
  std::vector<int> cpus;
  for (const HostPart& part : partsOf(parseSynthetic("12 cpu, 4 gpu, 40 nic=1"), 0)) {
    cpus.insert(cpus.end(), part.idle.begin(), part.idle.end());
  }
  EXPECT_EQ(cpus.size(), 0u) << "all have a card";
  const std::string many = drawn(parseSynthetic("64 cpu"));
  for (int cpu = 0; cpu < 64; ++cpu) EXPECT_EQ(count(many, "cpu" + std::to_string(cpu)), 1u);
  EXPECT_EQ(count(many, "host0, part 7 of 7"), 1u);
  // Nothing is left out of a host that is one part.
  EXPECT_EQ(drawn(parseSynthetic("2 cpu, 8 gpu")).find("Not drawn"), std::string::npos);
}

/// Switches below switches, several NVSwitches, links of every kind.
const char* const kOdd = R"(<?xml version="1.0"?>
<rondo-topology version="1">
  <host name="odd">
    <cpu name="cpu0" cores="72" numa="0"/>
    <cpu name="cpu1" cores="128" numa="1"/>
    <numa name="numa0" numa="0"/>
    <pci name="pci0"/>
    <pci name="pci1"/>
    <pci name="pci2"/>
    <gpu name="gpu0" model="NVIDIA GH200 480GB"/>
    <gpu name="gpu1" model="NVIDIA H200"/>
    <gpu name="gpu2"/>
    <nvswitch name="nvs0"/>
    <nvswitch name="nvs1"/>
    <nvswitch name="nvs2"/>
    <nic name="nic0" rate="10GB/s"/>
    <nic name="nic1" rate="10GB/s"/>
    <link kind="memory" between="cpu0 numa0" bandwidth="1234.5GB/s" latency="50ns"/>
    <link kind="socket" between="cpu0 cpu1" bandwidth="61GB/s" latency="250ns"/>
    <link kind="pci" between="cpu0 pci0" bandwidth="62GB/s" latency="250ns"/>
    <link kind="pci" between="pci0 pci1" bandwidth="63GB/s" latency="250ns"/>
    <link kind="pci" between="pci1 pci2" bandwidth="32GB/s" latency="250ns"/>
    <link kind="pci" between="pci2 gpu0" bandwidth="64GB/s" latency="250ns"/>
    <link kind="pci" between="pci1 gpu1" bandwidth="64GB/s" latency="250ns"/>
    <link kind="pci" between="cpu1 gpu2" bandwidth="64GB/s" latency="250ns"/>
    <link kind="c2c" between="cpu0 gpu0" bandwidth="450GB/s" latency="250ns"/>
    <link kind="c2c" between="cpu1 gpu1" bandwidth="450GB/s" latency="250ns"/>
    <link kind="nvlink" between="gpu0 nvs0" bandwidth="100GB/s" latency="250ns"/>
    <link kind="nvlink" between="gpu1 nvs0" bandwidth="100GB/s" latency="250ns"/>
    <link kind="nvlink" between="gpu0 nvs1" bandwidth="100GB/s" latency="250ns"/>
    <link kind="nvlink" between="gpu1 nvs1" bandwidth="100GB/s" latency="250ns"/>
    <link kind="nvlink" between="gpu0 nvs2" bandwidth="100GB/s" latency="250ns"/>
    <link kind="nvlink" between="gpu1 nvs2" bandwidth="100GB/s" latency="250ns"/>
    <link kind="nvlink" between="gpu1 gpu2" bandwidth="25GB/s" latency="250ns"/>
    <link kind="pci" between="pci0 nic0" bandwidth="64GB/s" latency="250ns"/>
    <link kind="pci" between="cpu1 nic1" bandwidth="64GB/s" latency="250ns"/>
  </host>
</rondo-topology>
)";

TEST(TopoPicture, SwitchesBelowSwitchesAndSeveralNvSwitchesAreClear) {
  const std::string svg = drawn(loadTopologyXml(kOdd, "odd.xml").graph);
  expectClear(svg);
  EXPECT_EQ(rectangles(svg, "rx=\"4\"").size(), 13u) << "all but the memory";
  EXPECT_EQ(count(svg, "100"), 6u);
  EXPECT_EQ(count(svg, "64"), 5u);
  EXPECT_EQ(count(svg, "450"), 2u);
  EXPECT_EQ(count(svg, "72 cores, memory 1234"), 1u) << "four digits, and nothing cut";
  EXPECT_EQ(count(svg, "H200"), 1u);
  for (const char* const once : {"61", "62", "63", "32", "25"}) EXPECT_EQ(count(svg, once), 1u);
}

TEST(TopoPicture, LongNamesAreShortenedInsideTheirBoxes) {
  std::string xml =
      writeGraphXml(parseSynthetic("2 x (2 cpu, 2 gpu nvlink=100 nvswitch, 2 nic=10)"));
  const auto replaceAll = [&xml](const std::string& from, const std::string& to) {
    for (size_t at = xml.find(from); at != std::string::npos; at = xml.find(from, at + to.size())) {
      xml.replace(at, from.size(), to);
    }
  };
  const std::string name = "ip-10-0-12-123.eu-central-1.compute.internal.example.org";
  replaceAll("\"host0\"", "\"" + name + "\"");
  replaceAll("host0/", name + "/");
  replaceAll("switch0", "the-first-switch-of-the-second-floor");
  replaceAll("nic1", "mlx5_bond_with_a_long_name");
  const std::string svg = drawn(loadTopologyXml(xml, "long.xml").graph, std::string(150, 'W'));
  expectClear(svg);
  EXPECT_EQ(count(svg, name), 1u);
  EXPECT_EQ(count(svg, "mlx5_bond_with_a_long_name"), 0u);
  EXPECT_NE(svg.find(">mlx5_"), std::string::npos);
}

}  // namespace

// Captured and invented machines, and what is to be said of each: tree, matrix, bottlenecks, rings
// and trees. RONDO_WRITE_GOLDEN=1 writes the files anew, to be read before they are kept.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "topo/draw_svg.h"
#include "topo/draw_text.h"
#include "topo/graph_xml.h"
#include "topo/load.h"
#include "topo/quantities.h"
#include "topo/search.h"
#include "topo/xml.h"

namespace {

using namespace rondo;
using namespace rondo::topo;

std::string folder() {
  const char* const root = std::getenv("TEST_SRCDIR");
  return std::string(root != nullptr ? root : "..") + "/tests/topologies/";
}

std::string answers(const Graph& graph) {
  const topo::Channels channels = searchChannels(graph);
  std::string out = treeText(graph) + "\n" + matrixText(graph, 0) + "\n";
  out += channelsText(graph, channels);
  out += "rings " + shortBandwidth(channels.ringBytes()) + ", trees " +
         shortBandwidth(channels.treeBytes());
  if (channels.places.size() > 1) {
    out += ", narrowest cut " + shortBandwidth(channelBound(graph, channels));
    PathFinder finder(graph);
    Path path;
    const int from = channels.places.front(), to = channels.places.back();
    EXPECT_TRUE(finder.find(from, to, &path));
    out += "\n" + pathText(graph, from, path) + ": " + shortBandwidth(path.bytesPerSecond) + ", " +
           latencyText(path.picoseconds);
  }
  return out + "\n";
}

class TopoGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(TopoGolden, AnswersAreTheKnownOnes) {
  const std::string name = GetParam();
  const Loaded loaded = loadTopology(folder() + name + ".xml");
  EXPECT_TRUE(loaded.warnings.empty());
  const std::string found = answers(loaded.graph);
  const std::string golden = folder() + name + ".golden.txt";
  if (std::getenv("RONDO_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << found;
  EXPECT_EQ(found, readFile(golden));
}

TEST_P(TopoGolden, RoundTripIsExact) {
  const Graph graph = loadTopology(folder() + GetParam() + std::string(".xml")).graph;
  const std::string xml = writeGraphXml(graph);
  EXPECT_EQ(writeGraphXml(loadTopologyXml(xml, "m.xml").graph), xml);
}

TEST_P(TopoGolden, PictureIsWellFormedAndNamesEverything) {
  const Graph graph = loadTopology(folder() + GetParam() + std::string(".xml")).graph;
  const topo::Channels channels = searchChannels(graph);
  const std::string svg = drawSvg(graph, &channels, "a & b");
  EXPECT_EQ(parseXml(svg, "m.svg").name, "svg");
  for (const NodeKind kind : {NodeKind::Gpu, NodeKind::Nic, NodeKind::Cpu, NodeKind::NvSwitch}) {
    for (const int node : graph.all(kind, 0)) {
      EXPECT_NE(svg.find(">" + graph.node(node).name + "<"), std::string::npos)
          << graph.node(node).name;
    }
  }
  const size_t hosts = graph.hosts().size();
  const size_t columns = hosts > 1 ? hosts : channels.places.size();
  if (channels.trees.size() < 2 || columns < 2 || columns > 16) return;
  EXPECT_NE(svg.find(">Trees"), std::string::npos);
  const std::string last = ">" + std::to_string(columns - 1) + "<";
  size_t found = 0;
  for (size_t at = svg.find(last); at != std::string::npos; at = svg.find(last, at + 1)) ++found;
  EXPECT_EQ(found, 2u) << "in each of two trees once";
}

INSTANTIATE_TEST_SUITE_P(Machines, TopoGolden,
                         ::testing::Values("vm_2gpu.nccl", "vm_4gpu.nccl", "dgx_a100.nccl",
                                           "dgx_h100.nccl", "pcie_two_sockets", "no_gpu.hwloc",
                                           "fat_tree_64", "lying_pcie", "lying_pcie_measured"),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace

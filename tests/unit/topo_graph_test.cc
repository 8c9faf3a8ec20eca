// The graph, its paths, synthetic machines and Rondo's own XML.

#include <gtest/gtest.h>

#include "support/topo_refusal.h"
#include "topo/graph_xml.h"
#include "topo/load.h"
#include "topo/paths.h"
#include "topo/quantities.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::topo;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;

constexpr uint64_t kGB = 1'000'000'000;

std::string refused(const std::string& text) {
  return rondo::testing::refusalOf([&] { parseSynthetic(text); });
}

std::string refusedXml(const std::string& body) {
  return rondo::testing::refusalOf([&] { loadTopologyXml(body, "m.xml"); });
}

Path pathOf(const Graph& graph, const std::string& from, const std::string& to) {
  PathFinder finder(graph);
  Path path;
  EXPECT_TRUE(finder.find(graph.find(from), graph.find(to), &path)) << from << " to " << to;
  return path;
}

TEST(TopoQuantities, ExactBothWays) {
  uint64_t value = 0;
  const std::pair<const char*, uint64_t> bandwidths[] = {
      {"50", 50 * kGB}, {"12.5GB/s", 12'500'000'000}, {"800 MB/s", 800'000'000},
      {"1B/s", 1},      {"1TB/s", 1000 * kGB},        {"0.000000001", 1},
      {"999B/s", 999},  {"1000TB/s", 1'000'000 * kGB}};
  for (const auto& [text, bytes] : bandwidths) {
    ASSERT_TRUE(parseBandwidth(text, &value)) << text;
    EXPECT_EQ(value, bytes) << text;
    ASSERT_TRUE(parseBandwidth(bandwidthText(bytes), &value)) << bandwidthText(bytes);
    EXPECT_EQ(value, bytes) << bandwidthText(bytes);
  }
  for (const char* text : {"", "x", "-1", "0", "1e9", "1.", ".5", "1001TB/s", "0.0000000001",
                           "1 GB", "nan", "99999999999999999999999", "1.5B/s", "+3"}) {
    EXPECT_FALSE(parseBandwidth(text, &value)) << text;
  }
  for (const uint64_t latency : {uint64_t{0}, uint64_t{1}, uint64_t{999}, uint64_t{1'250},
                                 uint64_t{600'000}, uint64_t{1'234'567}, Graph::kMostLatency}) {
    ASSERT_TRUE(parseLatency(latencyText(latency), &value)) << latencyText(latency);
    EXPECT_EQ(value, latency);
  }
  ASSERT_TRUE(parseLatency("1s", &value)) << "the most that is allowed";
  EXPECT_EQ(value, Graph::kMostLatency);
  ASSERT_TRUE(parseLatency("0.25 s", &value));
  EXPECT_EQ(value, Graph::kMostLatency / 4);
  EXPECT_FALSE(parseLatency("1.5s", &value));
  EXPECT_FALSE(parseLatency("2000ms", &value));
}

TEST(TopoGraph, RefusesWhatCannotBe) {
  Graph graph;
  const int host = graph.addHost("a");
  const int gpu = graph.addNode({NodeKind::Gpu, host, 0, "gpu0", 0, -1, "", "", 0});
  const int cpu = graph.addNode({NodeKind::Cpu, host, 0, "cpu0", 4, 0, "", "", 0});
  expectPart(refusalOf([&] { graph.addHost("a"); }), "host \"a\" is there twice");
  expectPart(refusalOf([&] {
               graph.addNode({NodeKind::Gpu, host, 0, "gpu0", 0, -1, "", "", 0});
             }),
             "node \"a/gpu0\" is there twice");
  expectPart(refusalOf([&] { graph.addHost("a b"); }), "is no name");
  expectPart(refusalOf([&] {
               graph.addLink({LinkKind::Pci, gpu, gpu, kGB, 0});
             }),
             "joins a node with itself");
  expectPart(refusalOf([&] { graph.addLink({LinkKind::Pci, gpu, cpu, 0, 0}); }), "bandwidth of 0");
  expectPart(refusalOf([&] { graph.addLink({LinkKind::Pci, gpu, 9, kGB, 0}); }), "not there");
  graph.addLink({LinkKind::Pci, gpu, cpu, kGB, 0});
  expectPart(refusalOf([&] {
               graph.addLink({LinkKind::Pci, cpu, gpu, kGB, 0});
             }),
             "is there twice");
  EXPECT_EQ(graph.links().size(), 1u);
}

TEST(TopoPaths, FewestThenWidestThenQuickest) {
  const Graph dgx = parseSynthetic("2 x (2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50)");
  // NVLink and PCIe are two links each between GPUs of one switch: the wider one is taken.
  const Path near = pathOf(dgx, "host0/gpu0", "host0/gpu1");
  EXPECT_EQ(pathText(dgx, dgx.find("host0/gpu0"), near), "host0/gpu0 - nvs0 - gpu1");
  EXPECT_EQ(near.bytesPerSecond, 450 * kGB);
  EXPECT_EQ(near.picoseconds, 500'000u);
  const Path far = pathOf(dgx, "host0/gpu2", "host1/gpu7");
  EXPECT_EQ(pathText(dgx, dgx.find("host0/gpu2"), far),
            "host0/gpu2 - pci1 - nic2 - switch0 - host1/nic7 - pci3 - gpu7");
  EXPECT_EQ(far.bytesPerSecond, 50 * kGB);
  // Data do not pass through GPUs.
  const Graph boxed = parseSynthetic("2 cpu, 4 gpu nvlink=100 ring");
  EXPECT_EQ(pathText(boxed, boxed.find("host0/gpu0"), pathOf(boxed, "host0/gpu0", "host0/gpu2")),
            "host0/gpu0 - cpu0 - cpu1 - gpu2");
}

TEST(TopoPaths, NothingBetweenWhatIsNotJoined) {
  Graph graph;
  const int host = graph.addHost("a");
  const int a = graph.addNode({NodeKind::Cpu, host, 0, "cpu0", 4, 0, "", "", 0});
  const int b = graph.addNode({NodeKind::Cpu, host, 0, "cpu1", 4, 0, "", "", 0});
  Path path;
  EXPECT_FALSE(PathFinder(graph).find(a, b, &path));
  EXPECT_TRUE(PathFinder(graph).find(a, a, &path));
  EXPECT_TRUE(path.arcs.empty());
}

TEST(TopoPaths, PortsOfALeafTakeWaysOfTheirOwn) {
  const Graph tree = parseSynthetic("8 x (1 cpu, 1 nic=10) fattree=8");
  PathFinder finder(tree);
  std::vector<int> used(tree.arcs());
  for (int h = 0; h < 4; ++h) {  // the first leaf's hosts, each to one of the second leaf's
    Path path;
    ASSERT_TRUE(finder.find(tree.find("host" + std::to_string(h) + "/cpu0"),
                            tree.find("host" + std::to_string(7 - h) + "/cpu0"), &path));
    for (const Arc arc : path.arcs) ++used[static_cast<size_t>(arc)];
  }
  EXPECT_EQ(*std::max_element(used.begin(), used.end()), 1);
}

TEST(TopoSynthetic, BuildsWhatIsSaid) {
  const Graph graph = parseSynthetic(
      "16 x (2 cpu=60 cores=56, 4 pci, 8 gpu nvlink=450 links=18 nvswitch, 8 nic=50) rail");
  EXPECT_EQ(graph.hosts().size(), 16u);
  EXPECT_EQ(graph.all(NodeKind::Gpu).size(), 128u);
  EXPECT_EQ(graph.all(NodeKind::Nic, 3).size(), 8u);
  EXPECT_EQ(graph.all(NodeKind::Switch).size(), 8u + 16u);
  EXPECT_EQ(graph.node(graph.find("host0/cpu1")).cores, 56);
  // GPU 7 and NIC 7 are below the last switch, that below the second CPU.
  const Path path = pathOf(graph, "host5/gpu7", "host5/nic7");
  EXPECT_EQ(pathText(graph, graph.find("host5/gpu7"), path), "host5/gpu7 - pci3 - nic7");
}

TEST(TopoSynthetic, SaysWhereItIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "at its end: expected a number"},
      {"16 x", "expected \"(\" after \"x\""},
      {"0 x (1 cpu)", "character 1, at \"0\": expected a number of hosts from 1 to 65536"},
      {"2 x (1 cpu", "at its end: expected a comma"},
      {"2 x (1 cpu)", "several hosts without NICs"},
      {"2 x (1 cpu, 1 nic=0)", "character 19, at \"0\": expected a bandwidth"},
      {"8 gpu nvlink=450", "needs one of nvswitch, mesh, ring"},
      {"8 gpu nvswitch", "need nvlink=GB/s"},
      {"8 gpu nvlink=450 nvswitch mesh", "exclude each other"},
      {"1 cpu, 2 cpu", "each of cpu, pci, gpu and nic once"},
      {"3 disk", "expected cpu, pci, gpu or nic"},
      {"65536 x (2 cpu, 8 gpu nvlink=1 mesh, 8 nic)", "nodes; allowed: up to 262144"},
      {"1 nic", "neither CPUs nor GPUs"},
      {"2 x (1 cpu, 1 nic) fattree=1", "2 to 4096 ports"},
      {"2 x (1 cpu, 1 nic) torus", "at \"torus\": expected the end"},
  };
  for (const auto& [text, expected] : wrong) {
    expectPart(refused(text), expected);
  }
}

TEST(TopoXml, RoundTripIsExact) {
  for (const char* text :
       {"2 x (2 cpu, 4 pci, 8 gpu nvlink=450 links=18 nvswitch model=H100, 8 nic=50) rail",
        "2 cpu, 4 gpu pcie=12.345678901", "4 gpu nvlink=100 mesh c2c=3", "1 cpu cores=3"}) {
    const std::string xml = writeGraphXml(parseSynthetic(text));
    const Loaded loaded = loadTopologyXml(xml, "m.xml");
    EXPECT_EQ(writeGraphXml(loaded.graph), xml) << text;
    EXPECT_TRUE(loaded.warnings.empty());
  }
}

TEST(TopoXml, SaysFileAndLine) {
  const std::string head = "<rondo-topology version=\"1\">\n<host name=\"a\">\n<cpu name=\"c\"/>\n";
  const std::pair<std::string, const char*> wrong[] = {
      {head, "m.xml:3: it ends too early: <host> of line 2 is not closed"},
      {"", "m.xml:1: it ends before there is an element"},
      {"<a/><b/>", "m.xml:1: not well-formed"},
      {"<machine/>", "m.xml:1: the root element is <machine>; allowed: rondo-topology"},
      {"<rondo-topology version=\"2\"/>", "m.xml:1: version is \"2\"; allowed: 1"},
      {head + "<cpu name=\"c\"/></host></rondo-topology>", "m.xml:4: node \"a/c\" is there twice"},
      {head + "<gpu/></host></rondo-topology>", "m.xml:4: <gpu> needs the attribute name"},
      {head + "<switch name=\"s\"/></host></rondo-topology>",
       "m.xml:4: <switch> belongs beside a host"},
      {head + "<cpu name=\"d\" cores=\"99999999999999999999\"/></host></rondo-topology>",
       "m.xml:4: cores is \"99999999999999999999\"; allowed: 1 to 65536"},
      {head + "<link kind=\"pci\" between=\"c x\" bandwidth=\"1\" "
              "latency=\"1\"/></host></rondo-topology>",
       "m.xml:4: there is no node \"x\""},
      {head + "<link kind=\"pci\" between=\"c c\" bandwidth=\"1\" "
              "latency=\"1\"/></host></rondo-topology>",
       "joins a node with itself"},
      {head + "<link kind=\"pci\" between=\"c c\" bandwidth=\"-1\" "
              "latency=\"1\"/></host></rondo-topology>",
       "m.xml:4: bandwidth is \"-1\"; allowed: a bandwidth from 1B/s"},
      {head + "<link kind=\"usb\"/></host></rondo-topology>",
       "m.xml:4: kind is \"usb\"; allowed: memory"},
  };
  for (const auto& [body, expected] : wrong) {
    expectPart(refusedXml(body), expected);
  }
}

TEST(TopoXml, WithstandsHostileFiles) {
  std::string bomb = "<!DOCTYPE a [<!ENTITY x \"xxxxxxxxxx\">";
  for (char c = 'a'; c < 'k'; ++c) {
    bomb += std::string("<!ENTITY ") + c + " \"&x;&x;&x;&x;&x;&x;\">";
  }
  expectPart(refusedXml(bomb + "]><a b=\"&j;\">&j;</a>"), "entities are not allowed");
  expectPart(refusedXml("<!DOCTYPE a SYSTEM \"file:///etc/passwd\" [<!ENTITY e SYSTEM "
                        "\"file:///etc/passwd\">]><a>&e;</a>"),
             "entities are not allowed");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  expectPart(refusedXml(deep), "more than 64 elements inside each other");
  std::string many = "<rondo-topology version=\"1\">\n<host name=\"a\">\n";
  for (int i = 0; i < 300'000; ++i) many += "<cpu name=\"c" + std::to_string(i) + "\"/>\n";
  const std::string said = refusedXml(many + "</host></rondo-topology>");
  expectPart(said, "m.xml:262147: more than 262144 nodes");
}

TEST(TopoXml, UnknownElementsAreIgnoredWithOneWarning) {
  const Loaded loaded = loadTopologyXml(
      "<rondo-topology version=\"1\"><host name=\"a\"><cpu "
      "name=\"c\"/><toaster/>\n<toaster/></host>"
      "</rondo-topology>",
      "m.xml");
  EXPECT_EQ(loaded.graph.nodes().size(), 1u);
  EXPECT_EQ(loaded.warnings,
            std::vector<std::string>{"m.xml:1: unknown element <toaster> in <host> is ignored"});
}

}  // namespace

#include "topo/measured_links.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "topo/graph_xml.h"
#include "topo/paths.h"
#include "topo/quantities.h"
#include "topo/xml.h"

namespace rondo::topo {
namespace {

Graph readMeasured(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    throw Error(rondoInvalidArgument, path + ": is no regular file");
  }
  XmlSource source(path);
  const XmlElement root = parseXml(readFile(path), path);
  if (root.name != "rondo-topology") {
    source.refuse(root, format("the root element is <%.40s>; allowed: rondo-topology, as "
                               "rondo-topo --measure writes it",
                               root.name.c_str()));
  }
  Graph graph = readGraphXml(root, source);
  if (graph.hosts().size() != 1) {
    source.refuse(root, format("there are %zu hosts; allowed: the one that was measured",
                               graph.hosts().size()));
  }
  return graph;
}

/// The node of `host` that has this one's name, if it may be the same device; -1: none.
int counterpart(const Node& node, const Graph& graph, int host) {
  const int found = graph.find(graph.hosts()[static_cast<size_t>(host)] + "/" + node.name);
  if (found < 0) return -1;
  const Node& other = graph.node(found);
  const bool known = !node.busId.empty() && !other.busId.empty();
  return other.kind == node.kind && (!known || other.busId == node.busId) ? found : -1;
}

/// The first file that is there, or not for this user to see; empty: none.
std::string firstFile(uint64_t machine, const std::vector<std::string>& dirs) {
  for (const std::string& dir : dirs) {
    const std::string path = dir + "/" + linksFileName(machine);
    struct stat facts {};
    if (stat(path.c_str(), &facts) == 0) return path;
  }
  return {};
}

/// The links between the packages of its one host go to `sketch`.
void addSockets(const Graph& measured, HostSketch* sketch) {
  const auto packages = static_cast<int>(sketch->node.packages);
  std::vector<int> cpus;
  for (int p = 0; p < packages; ++p) {
    cpus.push_back(measured.find(measured.hosts()[0] + "/cpu" + std::to_string(p)));
  }
  for (int a = 0; a < packages; ++a) {
    for (int b = a + 1; b < packages && sketch->sockets < kMostSockets; ++b) {
      const int from = cpus[static_cast<size_t>(a)], to = cpus[static_cast<size_t>(b)];
      const int found = from < 0 || to < 0 ? -1 : measured.findLink(LinkKind::Socket, from, to);
      if (found < 0 || !measured.link(found).measured()) continue;
      const Link& link = measured.link(found);
      sketch->socket[sketch->sockets++] = {a, b, link.claimedBytes ? link.bytesPerSecond : 0,
                                           link.claimedPicoseconds ? link.picoseconds : 0};
    }
  }
}

/// What was measured of the way to a card. Returns whether something was.
bool addWay(const Graph& measured, int nic, NicSketch* card) {
  const int cpu = measured.find(measured.hosts()[0] + "/cpu" + std::to_string(card->package));
  Path path;
  if (cpu < 0 || !PathFinder(measured).find(cpu, nic, &path, 0, linkBit(LinkKind::Pci))) {
    return false;
  }
  bool latency = false;
  for (const Arc arc : path.arcs) {
    const Link& link = measured.link(arc / 2);
    latency |= link.claimedPicoseconds.has_value();
    if (!link.claimedBytes) continue;
    const uint64_t least = card->pciBytes == 0 ? UINT64_MAX : card->pciBytes;
    card->pciBytes = std::min(least, link.bytesPerSecond);
  }
  if (latency) card->pciPicoseconds = path.picoseconds;
  return card->pciBytes > 0 || latency;
}

/// Returns how many of its links and ways have something now.
size_t addToSketch(const Graph& measured, const std::vector<std::string>& cards,
                   HostSketch* sketch) {
  addSockets(measured, sketch);
  size_t used = sketch->sockets;
  for (size_t k = 0; k < cards.size(); ++k) {
    for (const int nic : measured.all(NodeKind::Nic, 0)) {
      const bool same = !cards[k].empty() && measured.node(nic).busId == cards[k];
      if (same && addWay(measured, nic, &sketch->nic[k])) ++used;
    }
  }
  return used;
}

}  // namespace

bool WayTimes::add(int a, int b, uint64_t bytesPerSecond, unsigned kinds) {
  bytesPerSecond = fourDigits(bytesPerSecond);
  Path path;
  if (!PathFinder(graph_).find(a, b, &path, 0, kinds)) return false;
  for (const Arc arc : path.arcs) {
    const Link& link = graph_.link(arc / 2);
    const auto at = static_cast<size_t>(arc / 2);
    const bool ofGpu =
        graph_.node(link.a).kind == NodeKind::Gpu || graph_.node(link.b).kind == NodeKind::Gpu;
    if ((ofGpu && !set_[at]) || link.bytesPerSecond < bytesPerSecond) {
      graph_.setMeasuredBandwidth(arc / 2, bytesPerSecond);
      set_[at] = true;
    }
  }
  return true;
}

std::string linksFileName(uint64_t machine) {
  return format("links-%016llx.xml", static_cast<unsigned long long>(machine));
}

Missing mergeMeasured(const Graph& measured, Graph& graph, int host) {
  Missing missing;
  for (const Link& link : measured.links()) {
    if (!link.measured()) continue;
    const Node& a = measured.node(link.a);
    const Node& b = measured.node(link.b);
    const int here = counterpart(a, graph, host), there = counterpart(b, graph, host);
    const int found = here < 0 || there < 0 ? -1 : graph.findLink(link.kind, here, there);
    if (found < 0) {
      if (missing.links++ == 0) {
        missing.first = std::string(linkKindName(link.kind)) + " " + a.name + " " + b.name;
      }
      continue;
    }
    if (link.claimedBytes) graph.setMeasuredBandwidth(found, link.bytesPerSecond);
    if (link.claimedPicoseconds) graph.setMeasuredLatency(found, link.picoseconds);
  }
  return missing;
}

std::vector<std::string> applyMeasured(uint64_t machine, const std::vector<std::string>& dirs,
                                       Graph& graph, int host) {
  const std::string path = firstFile(machine, dirs);
  if (path.empty()) return {};
  try {
    const Missing missing = mergeMeasured(readMeasured(path), graph, host);
    if (missing.links == 0) return {};
    return {format(
        "%s: %zu measured link%s not there any more, the first is %s; the others hold; "
        "rondo-topo --measure measures anew",
        path.c_str(), missing.links, missing.links > 1 ? "s are" : " is", missing.first.c_str())};
  } catch (const Error& error) {
    return {std::string(error.what()) + "; no link has what was measured"};
  }
}

LinksFound sketchMeasured(uint64_t machine, const std::vector<std::string>& dirs,
                          const std::vector<std::string>& cards, HostSketch* sketch) {
  const std::string path = firstFile(machine, dirs);
  if (path.empty()) {
    std::string looked;
    for (const std::string& dir : dirs) looked += (looked.empty() ? "" : " and ") + dir;
    return {format("as the machine claims (no %s in %s; rondo-topo --measure makes it)",
                   linksFileName(machine).c_str(), looked.c_str())};
  }
  // Of such a host a communicator's graph has no links, and libxml2 takes milliseconds to load.
  if (sketch->node.packages < 2 && sketch->nics == 0) {
    return {path + ": not asked for (one package, no network card that says how fast it is)"};
  }
  const HostSketch claimed = *sketch;
  try {
    const Graph measured = readMeasured(path);
    const auto links =
        static_cast<size_t>(std::count_if(measured.links().begin(), measured.links().end(),
                                          [](const Link& link) { return link.measured(); }));
    return {format("%s: %zu measured, %zu of them between packages or on the way to network cards",
                   path.c_str(), links, addToSketch(measured, cards, sketch))};
  } catch (const Error& error) {
    *sketch = claimed;
    return {"as the machine claims (" + path + " is no good)",
            std::string(error.what()) + "; no link has what was measured"};
  }
}

}  // namespace rondo::topo

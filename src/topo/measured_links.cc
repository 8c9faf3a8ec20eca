#include "topo/measured_links.h"

#include <sys/stat.h>

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
  for (const std::string& dir : dirs) {
    const std::string path = dir + "/" + linksFileName(machine);
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0) continue;  // not there, or not for this user to see
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
  return {};
}

}  // namespace rondo::topo

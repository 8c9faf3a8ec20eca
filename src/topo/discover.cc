#include "topo/discover.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "topo/hwloc_graph.h"
#include "topo/nvml.h"

namespace rondo::topo {
namespace {

std::string hostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "host0";
  std::string out = name;
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '/' || c == ' ' || c == ',' || c == '&'; },
      '-');
  return out.substr(0, 128);
}

}  // namespace

void addRdmaPorts(Graph& graph, int host, const std::vector<RdmaPort>& ports) {
  std::map<std::string, uint64_t> rates;
  for (const RdmaPort& port : ports) {
    if (port.active) rates[port.busId] += port.bytesPerSecond;
  }
  for (const int nic : graph.all(NodeKind::Nic, host)) {
    const auto found = rates.find(graph.node(nic).busId);
    if (found != rates.end()) graph.setRate(nic, found->second);
  }
}

Graph discoverHost() {
  Graph graph = readThisHost(hostName());
  addNvLinks(graph, 0, readNvml());
  addRdmaPorts(graph, 0, readRdmaPorts());
  return graph;
}

}  // namespace rondo::topo

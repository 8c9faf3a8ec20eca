#include "topo/discover.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/config_files.h"
#include "base/options.h"
#include "topo/hwloc_graph.h"
#include "topo/measure.h"
#include "topo/measured_links.h"
#include "topo/node_facts.h"
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

Graph describeHost() {
  Graph graph = readThisHost(hostName());
  addNvLinks(graph, 0, readNvml());
  addRdmaPorts(graph, 0, readRdmaPorts());
  return graph;
}

Graph discoverHost(std::vector<std::string>* warnings) {
  Graph graph = describeHost();
  *warnings =
      applyMeasured(machineModel(readNodeFacts()), configDirs(readOptions().tuneDir), graph, 0);
  return graph;
}

Graph measureHost(std::vector<std::string>* left) {
  Graph graph = describeHost();
  *left = measureMemoryLinks(graph, 0);
  const std::vector<std::string> ofGpus = addGpuCopies(measureGpuCopies(), graph, 0);
  left->insert(left->end(), ofGpus.begin(), ofGpus.end());
  return graph;
}

std::string measuredLinksPath() {
  return configDirs(readOptions().tuneDir).front() + "/" +
         linksFileName(machineModel(readNodeFacts()));
}

}  // namespace rondo::topo

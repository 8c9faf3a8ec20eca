#include "topo/load.h"

#include <sys/stat.h>

#include "topo/apart.h"
#include "topo/graph_xml.h"
#include "topo/hwloc_graph.h"
#include "topo/nccl_xml.h"
#include "topo/synthetic.h"
#include "topo/xml.h"

namespace rondo::topo {
namespace {

/// A name, not a description: those have blanks after their numbers.
bool namesFile(const std::string& text) {
  struct stat info {};
  if (stat(text.c_str(), &info) == 0) return true;
  return text.find_first_of(" (") == std::string::npos &&
         text.find_first_of("./") != std::string::npos;
}

/// Well-formed and without entities by now; what it means, hwloc knows. But it trusts what it
/// reads: hwloc 2.9 crashes where an object has a cpuset and no complete_cpuset.
Graph readHwlocApart(const std::string& xml, const std::string& name) {
  const ApartResult result = runApart([&] { return writeGraphXml(readHwlocXml(xml, name)); });
  if (result.died) {
    throw Error(rondoInvalidArgument,
                format("%s:1: hwloc falls over it; write it anew with lstopo", name.c_str()));
  }
  if (result.threw) throw Error(rondoInvalidArgument, result.text);
  XmlSource source(name);
  return readGraphXml(parseXml(result.text, name), source);
}

}  // namespace

Loaded loadTopologyXml(const std::string& xml, const std::string& name) {
  XmlSource source(name);
  const XmlElement root = parseXml(xml, name);
  Loaded out;
  out.source = name;
  if (root.name == "rondo-topology") {
    out.graph = readGraphXml(root, source);
  } else if (root.name == "system") {
    out.graph = readNcclXml(root, source);
  } else if (root.name == "topology") {
    out.graph = readHwlocApart(xml, name);
  } else {
    source.refuse(root,
                  format("the root element is <%.40s>; allowed: rondo-topology (Rondo's own), "
                         "system (NCCL's), topology (hwloc's)",
                         root.name.c_str()));
  }
  out.warnings = source.warnings();
  return out;
}

Loaded loadTopology(const std::string& fileOrText) {
  if (namesFile(fileOrText)) return loadTopologyXml(readFile(fileOrText), fileOrText);
  return {parseSynthetic(fileOrText), "\"" + fileOrText + "\"", {}};
}

}  // namespace rondo::topo

#pragma once
// hwloc's view of a host, live or from hwloc's XML, as a graph.

#include <string>

#include "topo/graph.h"

namespace rondo::topo {

/// This host. GPUs have no NVLinks yet: hwloc does not know them.
Graph readThisHost(const std::string& hostName);

/// What lstopo --of xml has written; `name` is for sentences.
Graph readHwlocXml(const std::string& xml, const std::string& name);

}  // namespace rondo::topo

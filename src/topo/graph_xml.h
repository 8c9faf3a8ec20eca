#pragma once
// Rondo's own description of a graph, to be read and written by people too.

#include <string>

#include "topo/graph.h"
#include "topo/xml.h"

namespace rondo::topo {

/// The root element is <rondo-topology version="1">. Throws Error with file and line.
Graph readGraphXml(const XmlElement& root, XmlSource& source);

/// Read back, it gives the same graph, and that the same text.
std::string writeGraphXml(const Graph& graph);

}  // namespace rondo::topo

#pragma once
// One door for every description of a machine.

#include <string>
#include <vector>

#include "topo/graph.h"

namespace rondo::topo {

struct Loaded {
  Graph graph;
  std::string source;                 ///< For sentences: a file's name or the text.
  std::vector<std::string> warnings;  ///< What was left out, a sentence each.
};

/// A file (Rondo's, NCCL's or hwloc's XML, known by its root element) or a synthetic description.
/// Throws Error with what is wrong with it, and where.
Loaded loadTopology(const std::string& fileOrText);

/// The XML of a file whose name is given for sentences.
Loaded loadTopologyXml(const std::string& xml, const std::string& name);

}  // namespace rondo::topo

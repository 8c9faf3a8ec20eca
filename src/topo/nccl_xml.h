#pragma once
// NCCL's description of a node, as NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads it.

#include <string>
#include <vector>

#include "topo/graph.h"
#include "topo/xml.h"

namespace rondo::topo {

/// The root element is <system version="1">. Bandwidths follow from link_speed x link_width, from
/// the number of NVLinks and the GPU's generation, and from a port's speed. CPUs of several
/// host_hash are several hosts.
Graph readNcclXml(const XmlElement& root, XmlSource& source);

/// The link of a card that stands on the CPU itself, without a PCIe device: as fast as its port.
constexpr uint64_t bytesOnCpu(uint64_t rate) { return rate > 0 ? rate : 1'250'000'000; }

/// One host of the graph; throws Error(rondoInvalidArgument) for one that has no CPU. NCCL's format
/// knows PCIe by generation and width: other bandwidths become the nearest one. *left: a sentence
/// for each device and C2C link that the format has no place for.
std::string writeNcclXml(const Graph& graph, int host, std::vector<std::string>* left = nullptr);

}  // namespace rondo::topo

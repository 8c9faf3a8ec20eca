#pragma once
// Machines in one line: "16 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail".

#include <string>

#include "topo/graph.h"

namespace rondo::topo {

/// [HOSTS x] ( PART, PART, ... ) [FABRIC]; the parentheses may be left out around one host's parts.
///   N cpu [=GB/s between two of them] [cores=N] [memory=GB/s]
///   N pci [=GB/s up]                   switches; without, GPUs and NICs are on the CPUs' own roots
///   N gpu [nvlink=GB/s] [links=N] [nvswitch | mesh | ring] [pcie=GB/s] [c2c=GB/s] [model=NAME]
///   N nic [=GB/s] [pcie=GB/s]
/// FABRIC: switch (the default: one), rail (one for the NICs of one number, and a spine), or
/// fattree=PORTS (leaves of so many ports, half of them up). Words after it: spine=N,
/// latency=NS (of each of its links).
/// What is many is spread evenly over what is above it. Throws Error(rondoInvalidArgument) with the
/// place and what is allowed there.
Graph parseSynthetic(const std::string& text);

}  // namespace rondo::topo

#pragma once
// Rings and trees over a machine that use every link once before any twice.

#include <cstdint>
#include <string>
#include <vector>

#include "topo/graph.h"
#include "topo/paths.h"

namespace rondo::topo {

/// Where ranks sit: the GPUs, or the CPUs of a machine that has none; host by host.
std::vector<int> placesOf(const Graph& graph);

/// From each place to the one that follows it, the last one to the first.
struct Ring {
  std::vector<int> places;
  std::vector<Path> hops;
  uint64_t bytesPerSecond;
};

/// An all-reduce goes up to the root and down again at the same time, so that each hop is used both
/// ways.
struct Tree {
  std::vector<int> places;
  std::vector<int> parents;  ///< By place in `places`: its parent's; -1: the root.
  std::vector<Path> up, down;
  uint64_t bytesPerSecond;  ///< Up, and as much down.
};

struct Channels {
  std::vector<int> places;
  std::vector<Ring> rings;
  std::vector<Tree> trees;
  /// Links that hops inside a host use: NVLinks alone where they join all its GPUs.
  unsigned insideKinds = kAllLinks;

  uint64_t ringBytes() const;  ///< Of all rings together.
  uint64_t treeBytes() const;
};

/// Throws Error(rondoInvalidArgument) that names two places with nothing between them.
Channels searchChannels(const Graph& graph);

/// The flow bound for these channels: over NVLinks where one host's rings are.
uint64_t channelBound(const Graph& graph, const Channels& channels);

/// How often each arc is used, times the bandwidth it is used with: no arc above its capacity.
std::vector<uint64_t> ringLoads(const Graph& graph, const std::vector<Ring>& rings);
std::vector<uint64_t> treeLoads(const Graph& graph, const std::vector<Tree>& trees);

/// "2 rings of 50GB/s: gpu0 gpu1 ..." a line each, rings and trees.
std::string channelsText(const Graph& graph, const Channels& channels);

}  // namespace rondo::topo

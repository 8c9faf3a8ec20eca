#include "coll/sim/device_ranks.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "topo/paths.h"

namespace rondo::sim {
namespace {

/// As on a GPU that a communicator has for itself.
constexpr int kUsualLanes = 128;

/// Where its generation is known it counts; the costs are of one that does.
bool comesClose(const topo::Node& gpu) {
  constexpr int kLeast = 90;
  int capability = kLeast;
  const std::string_view model = gpu.model;
  if (model.starts_with("sm")) {
    std::from_chars(model.data() + 2, model.data() + model.size(), capability);
  }
  return capability >= kLeast;
}

}  // namespace

DeviceFacts deviceFactsOn(const topo::Graph& graph, const std::vector<int>& gpus) {
  DeviceFacts facts;
  facts.ranks = static_cast<int>(gpus.size());
  facts.lanes = kUsualLanes;
  facts.lineStores = facts.close = true;
  topo::PathFinder finder(graph);
  uint64_t narrowest = UINT64_MAX;
  for (const int to : gpus) {
    facts.close &= comesClose(graph.node(to));
    if (graph.node(to).host != graph.node(gpus.front()).host) {
      throw Error(
          rondoUnsupported,
          format("%s and %s are of different hosts; allowed for device memory here: GPUs of "
                 "one host",
                 graph.fullName(gpus.front()).c_str(), graph.fullName(to).c_str()));
    }
    for (const int from : gpus) {
      topo::Path path;
      if (from == to) continue;
      const bool nvlink = finder.find(from, to, &path, 0, topo::linkBit(topo::LinkKind::NvLink));
      facts.lineStores &= nvlink;
      if (!nvlink && !finder.find(from, to, &path)) {
        throw Error(rondoInvalidArgument,
                    format("no way leads from %s to %s; allowed: GPUs that are joined",
                           graph.fullName(from).c_str(), graph.fullName(to).c_str()));
      }
      narrowest = std::min(narrowest, path.bytesPerSecond);
    }
  }
  if (narrowest != UINT64_MAX) facts.costs = DeviceCosts().onLinksOf(narrowest);
  return facts;
}

}  // namespace rondo::sim

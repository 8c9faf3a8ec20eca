#include "coll/sim/device_ranks.h"

#include <algorithm>

#include "base/error.h"
#include "base/options.h"
#include "topo/capability.h"
#include "topo/paths.h"

namespace rondo::sim {
namespace {

/// As on a GPU that a communicator has for itself.
constexpr int kUsualLanes = 128;
/// The first GPUs whose kernels can come close (kernels/launch.h).
constexpr int kClose = 90;

}  // namespace

DeviceFacts deviceFactsOn(const topo::Graph& graph, const std::vector<int>& gpus) {
  DeviceFacts facts;
  facts.ranks = static_cast<int>(gpus.size());
  facts.lanes = kUsualLanes;
  facts.lineStores = true;
  const bool close = readDependentLaunch() == DependentLaunch::On &&
                     std::all_of(gpus.begin(), gpus.end(), [&graph](int gpu) {
                       return topo::capabilityOf(graph, gpu) >= kClose;
                     });
  facts.close = close ? Close::kBeside : Close::kNot;
  topo::PathFinder finder(graph);
  uint64_t narrowest = UINT64_MAX;
  for (const int to : gpus) {
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

#include "explain_device.h"

#include "api/types.h"
#include "base/error.h"
#include "base/options.h"
#include "kernels/reduce_units.h"
#ifdef RONDO_HAVE_MAPS
#include "coll/sim/device_ranks.h"
#include "coll/sim/job.h"
#include "topo/load.h"
#endif

namespace rondo {
namespace {

/// As on a GPU that a communicator has for itself.
constexpr int kUsualLanes = 128;

#ifdef RONDO_HAVE_MAPS
DeviceFacts factsOn(int ranks, const std::string& topology) {
  const topo::Loaded loaded = topo::loadTopology(topology);
  for (const std::string& warning : loaded.warnings) {
    std::fprintf(stderr, "rondo-explain: %s\n", warning.c_str());
  }
  const std::vector<int> gpus = loaded.graph.all(topo::NodeKind::Gpu);
  if (static_cast<size_t>(ranks) > gpus.size()) {
    throw Error(rondoInvalidArgument,
                format("--ranks is %d; allowed on this machine's device memory: 1 to %zu, one on "
                       "each GPU",
                       ranks, gpus.size()));
  }
  return sim::deviceFactsOn(loaded.graph, {gpus.begin(), gpus.begin() + ranks});
}
#endif

}  // namespace

DeviceFacts deviceFactsOf(int ranks, const std::string& topology) {
  if (!topology.empty()) {
#ifdef RONDO_HAVE_MAPS
    return factsOn(ranks, topology);
#else
    throw Error(rondoUnsupported, "--topology: this build is without libxml2");
#endif
  }
  DeviceFacts facts;
  facts.ranks = ranks;
  facts.lanes = kUsualLanes;
  facts.lineStores = true;
  facts.close = readDependentLaunch() == DependentLaunch::On ? Close::kBeside : Close::kNot;
  return facts;
}

Reduces reducesOf(Collective collective, rondoDataType_t type) {
  if (!isReduction(collective)) return Reduces::kNothing;
  return isHot(type, rondoSum) ? Reduces::kHot : Reduces::kAll;
}

}  // namespace rondo

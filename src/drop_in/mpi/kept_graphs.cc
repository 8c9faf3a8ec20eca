#include "drop_in/mpi/kept_graphs.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace rondo::drop_in {
namespace {

std::atomic<int> alive{0};

}  // namespace

KeptGraphs::Kept* KeptGraphs::seen(const CallKey& key) {
  const uint64_t mixed = (reinterpret_cast<uintptr_t>(key.send) >> 4) * 31 +
                         (reinterpret_cast<uintptr_t>(key.recv) >> 4) * 17 + key.count * 7 +
                         static_cast<uint64_t>(key.type) * 3 + static_cast<uint64_t>(key.op);
  Kept* const places = &kept_[((mixed * 0x9e3779b97f4a7c15u) >> 61) * 2];
  for (Kept* place : {places, places + 1}) {
    if (place->key != key) continue;
    place->times = std::min(place->times + 1, kMostSeen);
    return place;
  }
  Kept& rarer = places[0].times <= places[1].times ? places[0] : places[1];
  if (--rarer.times > 0) return nullptr;
  drop(rarer);
  rarer.key = key;
  rarer.times = 1;
  return &rarer;
}

bool KeptGraphs::mayMake() { return alive.load(std::memory_order_relaxed) < kMostOfProcess; }

void KeptGraphs::keep(Kept& kept, DeviceGraph made) {
  kept.graph = std::move(made);
  kept.counted = true;
  alive.fetch_add(1, std::memory_order_relaxed);
}

void KeptGraphs::drop(Kept& kept) {
  if (kept.counted) alive.fetch_sub(1, std::memory_order_relaxed);
  kept = {};
}

void KeptGraphs::clear(bool lost) {
  for (Kept& kept : kept_) {
    if (lost) kept.graph.leave();
    drop(kept);
  }
}

}  // namespace rondo::drop_in

#pragma once
// The plans of one communicator that were used last: a bounded LRU, with a small direct-mapped
// front for the hot path.

#include <array>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "coll/bound_plan.h"

namespace rondo {

/// Everything agreed that a call's plan depends on.
struct PlanKey {
  uint64_t count;
  int32_t type;
  int32_t op;
  int32_t root;
  Collective collective;
  bool uneven = false;  ///< A v-collective; `count` is then a typical slot's.
  /// A call that moves nothing.
  bool nothing() const { return count == 0 && collective != Collective::Barrier; }
  bool operator==(const PlanKey&) const = default;
  uint64_t hash() const {
    uint64_t h = count * 0x9e3779b97f4a7c15u;
    h ^= (static_cast<uint64_t>(static_cast<uint32_t>(type)) << 8) ^
         (static_cast<uint64_t>(static_cast<uint32_t>(op)) << 20) ^
         (static_cast<uint64_t>(static_cast<uint32_t>(root)) << 32) ^
         static_cast<uint64_t>(collective) ^ (static_cast<uint64_t>(uneven) << 7);
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 29);
  }
};

class PlanCache {
 public:
  explicit PlanCache(size_t most = 512) : most_(most) {}

  /// The plan of `key`, or nullptr. Valid until the next insert.
  const BoundPlan* find(const PlanKey& key) {
    const uint64_t hash = key.hash();
    const Front& front = front_[hash % front_.size()];
    if (front.plan != nullptr && front.key == key) [[likely]]
      return front.plan;
    return findSlow(key, hash);
  }
  const BoundPlan* insert(const PlanKey& key, BoundPlan plan);
  size_t size() const { return order_.size(); }

 private:
  struct Entry {
    PlanKey key;
    BoundPlan plan;
  };
  struct Front {
    PlanKey key;
    const BoundPlan* plan;
  };
  struct Hash {
    size_t operator()(const PlanKey& key) const { return key.hash(); }
  };
  const BoundPlan* findSlow(const PlanKey& key, uint64_t hash);

  size_t most_;
  std::list<Entry> order_;  // used last, first
  std::unordered_map<PlanKey, std::list<Entry>::iterator, Hash> index_;
  std::array<Front, 32> front_{};
};

}  // namespace rondo

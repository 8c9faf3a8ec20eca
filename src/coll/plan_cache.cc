#include "coll/plan_cache.h"

namespace rondo {

const BoundPlan* PlanCache::findSlow(const PlanKey& key, uint64_t hash) {
  const auto it = index_.find(key);
  if (it == index_.end()) return nullptr;
  order_.splice(order_.begin(), order_, it->second);
  front_[hash % front_.size()] = {key, &it->second->plan};
  return &it->second->plan;
}

const BoundPlan* PlanCache::insert(const PlanKey& key, BoundPlan plan) {
  if (order_.size() >= most_) {
    // Hits in the front do not reorder the list, so what looks oldest may be hot: the front is
    // emptied with it.
    front_.fill({});
    index_.erase(order_.back().key);
    order_.pop_back();
  }
  order_.push_front({key, std::move(plan)});
  index_[key] = order_.begin();
  return findSlow(key, key.hash());
}

}  // namespace rondo

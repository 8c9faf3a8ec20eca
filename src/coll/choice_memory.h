#pragma once
// What a communicator has chosen, by size class: ranking all candidates takes 10 us with two ranks
// and 130 with eight, which programs whose counts differ from call to call would pay in each.

#include <unordered_map>

#include "coll/planner.h"

namespace rondo {

class ChoiceMemory {
 public:
  struct Choice {
    const Algorithm* algorithm;
    int lanes;
    Count chunk;  ///< Elements.
  };

  /// What was chosen for requests of this one's class, under this rule; nullptr: nothing yet.
  const Choice* find(const Request& request, const TuneRule* rule) const {
    const auto found = choices_.find(keyOf(request, rule));
    return found == choices_.end() ? nullptr : &found->second;
  }
  void keep(const Request& request, const TuneRule* rule, const Candidate& best) {
    if (choices_.size() >= kMost) choices_.clear();
    choices_[keyOf(request, rule)] = {best.algorithm, best.geometry.lanes, best.geometry.chunk};
  }

 private:
  static constexpr size_t kMost = 4096;

  struct Key {
    Collective collective;
    bool uneven;
    int root;
    size_t elementBytes;
    Count count;
    const TuneRule* rule;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t h = key.count * 0x9e3779b97f4a7c15u;
      h ^= static_cast<uint64_t>(key.collective) ^ (key.elementBytes << 8) ^
           (static_cast<uint64_t>(static_cast<uint32_t>(key.root)) << 16) ^
           (static_cast<uint64_t>(key.uneven) << 48) ^ reinterpret_cast<uintptr_t>(key.rule);
      h *= 0xbf58476d1ce4e5b9u;
      return h ^ (h >> 29);
    }
  };
  static Key keyOf(const Request& request, const TuneRule* rule) {
    return {request.collective,
            request.uneven,
            request.root,
            request.elementBytes,
            typicalCount(request.count),
            rule};
  }

  std::unordered_map<Key, Choice, Hash> choices_;
};

}  // namespace rondo

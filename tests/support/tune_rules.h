#pragma once
// Tune rules that together run the algorithms of the registry.

#include <string>
#include <vector>

#include "coll/registry.h"

namespace rondo::testing {

/// Rules that together name every algorithm that `takes`, of each collective one a rule, each rule
/// once with every one of `endings`: "/2/1K" for lanes and chunks. The first rule is "", the
/// planner's choice.
template <class Takes>
std::vector<std::string> tuneRules(const Takes& takes, const std::vector<std::string>& endings) {
  std::vector<std::string> rules{""};
  for (size_t k = 0;; ++k) {
    bool any = false;
    std::vector<std::string> now(endings.size());
    for (int c = 0; c < kCollectives; ++c) {
      std::vector<std::string> names;
      for (const Algorithm& row : registry()) {
        if (row.collective == static_cast<Collective>(c) && takes(row)) names.push_back(row.name);
      }
      if (names.empty()) continue;
      any |= k < names.size();
      const std::string rule = std::string(collectiveName(static_cast<Collective>(c))) +
                               ":host:0-:" + names[k % names.size()];
      for (size_t e = 0; e < endings.size(); ++e) {
        now[e] += (now[e].empty() ? "" : ",") + rule + endings[e];
      }
    }
    if (!any) return rules;
    rules.insert(rules.end(), now.begin(), now.end());
  }
}

}  // namespace rondo::testing

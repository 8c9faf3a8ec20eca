#pragma once
// Random programs for random arrangements of ranks on hosts: what all ranks draw alike. Run by
// support/storm_rank.h.

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "support/far_world.h"
#include "support/storm_calls.h"

namespace rondo::testing {

/// Calls that are issued one after the other, as a group, or captured and replayed.
struct StormStep {
  enum How { kAlone, kGroup, kGraph, kGroupInGraph };
  How how = kAlone;
  int replays = 1;
  bool finish = false;  ///< Results are looked at, before the next.
  std::vector<StormCall> calls;
  std::vector<StormCall> between;  ///< Replays, one each.
};

enum class StormStreams { kOne, kBoth, kOneEach };  ///< kOneEach: a communicator has its own.

struct StormPlan {
  uint32_t seed;
  std::vector<int> hostOf;
  FarWorld world;
  std::string tune;
  StormStreams streams = StormStreams::kOne;
  uint32_t counters = 0;          ///< Numbers of chunks and pieces begin here.
  std::vector<int> colors, keys;  ///< Of a second communicator; empty: there is none.
  std::vector<StormStep> steps;

  std::string text() const;
  std::string program() const;
};

inline std::string StormPlan::program() const {
  constexpr const char* kHows[] = {"alone", "group", "graph", "group in a graph"};
  std::string all = text() + "\n";
  for (size_t k = 0; k < steps.size(); ++k) {
    const StormStep& step = steps[k];
    all += "step " + std::to_string(k) + ": " + kHows[step.how] + " x " +
           std::to_string(step.replays) + (step.finish ? ", finished\n" : "\n");
    for (const auto* calls : {&step.calls, &step.between}) {
      for (const StormCall& call : *calls) {
        all += (calls == &step.calls ? "  " : "  between: ") +
               call.text(static_cast<int>(hostOf.size())) + ", " + std::to_string(call.bytes) +
               " bytes\n";
      }
    }
  }
  return all;
}

inline std::string StormPlan::text() const {
  std::string all = "seed " + std::to_string(seed) + ", hosts";
  for (const int host : hostOf) all += " " + std::to_string(host);
  if (!colors.empty()) all += ", colors";
  for (const int color : colors) all += " " + std::to_string(color);
  return all + ", " + std::to_string(world.lanes) + " lanes, " + std::to_string(world.blocks) +
         " blocks, zero copy " + std::to_string(static_cast<int>(world.zeroCopy)) +
         (world.near ? ", near" : "") + (world.reproducible ? ", reproducible" : "") +
         ", streams " + std::to_string(static_cast<int>(streams)) + ", from " +
         std::to_string(counters) + ", calls before " + std::to_string(world.callsBefore) +
         ", tune \"" + tune + "\"";
}

/// Numbers in the order in which they first come.
inline std::vector<int> numberedByFirst(const std::vector<int>& names) {
  std::vector<int> seen, out;
  for (const int name : names) {
    const auto at = std::find(seen.begin(), seen.end(), name);
    out.push_back(static_cast<int>(at - seen.begin()));
    if (at == seen.end()) seen.push_back(name);
  }
  return out;
}

/// Ranks of one color, in the order of their keys.
inline std::vector<int> stormMembers(const StormPlan& plan, int color) {
  std::vector<int> members;
  for (size_t r = 0; r < plan.colors.size(); ++r) {
    if (plan.colors[r] == color) members.push_back(static_cast<int>(r));
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return plan.keys[static_cast<size_t>(a)] < plan.keys[static_cast<size_t>(b)];
  });
  return members;
}
inline std::vector<int> hostsOfMembers(const StormPlan& plan, const std::vector<int>& members) {
  std::vector<int> hosts;
  for (const int r : members) hosts.push_back(plan.hostOf[static_cast<size_t>(r)]);
  return numberedByFirst(hosts);
}

StormPlan drawStorm(uint32_t seed, size_t budget, int calls);

}  // namespace rondo::testing

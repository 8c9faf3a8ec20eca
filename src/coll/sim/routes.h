#pragma once
// Ways between ranks, looked up once.

#include <unordered_map>
#include <vector>

#include "coll/sim/fair_links.h"
#include "topo/paths.h"

namespace rondo::sim {

struct Route {
  std::vector<topo::Arc> arcs;
  Time latency = 0;
  bool network = false;  ///< Cards carry it on, whatever the sender does meanwhile.
  uint64_t ends = 0;     ///< From x ranks + to, of the first pair that asked.
};

class Routes {
 public:
  Routes(const topo::Graph& graph, const std::vector<int>& places);

  /// Between two ranks. Those of one CPU reach each other through its memory. Throws
  /// Error(rondoInvalidArgument) if there is no way.
  int find(int from, int to);
  const Route& at(int index) const { return routes_[static_cast<size_t>(index)]; }
  const std::vector<Route>& all() const { return routes_; }

 private:
  void throughMemory(int place, Route* route) const;
  void overLinks(int from, int to, Route* route);

  const topo::Graph& graph_;
  const std::vector<int>& places_;
  topo::PathFinder finder_;
  std::vector<Route> routes_;
  std::unordered_map<uint64_t, int> known_;  // by places
};

}  // namespace rondo::sim

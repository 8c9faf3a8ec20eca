#pragma once
// Flows over links that share their bandwidth max-min fairly: no flow can get more without another
// that has no more getting less.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "coll/sim/link_course.h"
#include "topo/graph.h"

namespace rondo::sim {

/// In picoseconds.
using Time = uint64_t;
/// What takes longer is refused, so that no sum of two times wraps.
constexpr Time kMostTime = Time{1} << 62;  // 53 days
/// Throws Error(rondoInvalidArgument): `what` takes longer.
[[noreturn]] void refuseTime(const char* what);

class FairLinks {
 public:
  /// Bytes per second of each arc; 0 closes it. `record`: what each carries when is kept.
  explicit FairLinks(std::vector<uint64_t> capacities, bool record = false);

  /// `arcs` must outlive the flow, and be at least one; `tag` comes back when it ends.
  void start(const std::vector<topo::Arc>* arcs, uint64_t bytes, uint64_t tag, Time now);
  /// Shares anew what flows have started or ended on since the last time. Throws
  /// Error(rondoInvalidArgument) where one would end after kMostTime.
  void settle(Time now);

  /// When the next flow ends, as far as is known; kNever: there is none. After settle().
  static constexpr Time kNever = ~Time{0};
  Time nextEnd();
  /// Takes away one flow that ends by now; false: there is none.
  bool takeEnded(Time now, uint64_t* tag);

  size_t active() const { return flows_.size() - free_.size(); }
  /// Bytes per second of a flow, by its tag; for tests. 0: no such flow.
  double rateOf(uint64_t tag) const;
  /// By arc, after the last flow has ended; empty if nothing is kept.
  const std::vector<LinkCourse>& courses() const { return courses_; }

 private:
  struct Flow {
    const std::vector<topo::Arc>* arcs = nullptr;  ///< nullptr: not in use.
    double left = 0, rate = 0;                     ///< Bytes, and bytes per picosecond.
    Time since = 0, end = 0;
    uint64_t tag = 0;
    uint32_t version = 0;
    uint32_t seen = 0;
    bool fixed = false;
  };
  struct ArcState {
    double capacity = 0;  ///< Bytes per picosecond.
    double left = 0, used = 0;
    uint32_t open = 0;  ///< Flows that have no rate yet.
    uint32_t seen = 0;
    std::vector<int> flows;
  };
  struct End {
    Time time;
    uint64_t order;
    int flow;
    uint32_t version;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  void collect();
  void share();
  void fix(int flow, double rate);
  void apply(int flow, Time now);

  std::vector<Flow> flows_;
  std::vector<int> free_;
  std::vector<ArcState> arcs_;
  std::vector<LinkCourse> courses_;  // by arc; empty: not kept
  std::vector<topo::Arc> dirty_;
  std::vector<int> touched_;       // flows
  std::vector<topo::Arc> shared_;  // arcs
  std::vector<std::pair<int, double>> rates_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  uint64_t order_ = 0;
  uint32_t epoch_ = 0;
};

}  // namespace rondo::sim

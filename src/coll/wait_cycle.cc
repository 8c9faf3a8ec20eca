#include "coll/wait_cycle.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"

namespace rondo {
namespace {

/// Whether `next`, which `waiter` sends to (or receives from), does its part of that, or may.
bool takesPart(const WaitNote& next, const WaitNote& waiter, bool sends) {
  if (next.comm != waiter.comm || !OpFacts::of(next.call).isTransfers()) return false;
  return next.whole == 0 || std::any_of(next.whom, next.whom + next.awaited, [&](const auto& each) {
           return each.rank == waiter.rank && (each.sends != 0) != sends;
         });
}

/// Whether `next` keeps its process from the call that `waiter` waits for.
bool holds(const WaitNote& next, const WaitNote& waiter) {
  if (next.comm == waiter.comm && next.rank == waiter.rank) return false;
  const OpFacts wanted = OpFacts::of(waiter.call), made = OpFacts::of(next.call);
  const bool goesOn = std::count(next.free, next.free + WaitNote::kMostFree, waiter.comm) != 0;
  if (next.comm != waiter.comm && goesOn) return false;
  if (next.comm == waiter.comm && needsAll(wanted) && !made.isTransfers() &&
      made.sequence >= wanted.sequence) {
    return false;  // it has come meanwhile
  }
  return std::any_of(waiter.whom, waiter.whom + waiter.awaited, [&](const auto& each) {
    return each.process != 0 && each.process == next.process &&
           (next.comm != waiter.comm || each.rank == next.rank) &&
           !(wanted.isTransfers() && takesPart(next, waiter, each.sends != 0));
  });
}

class Search {
 public:
  Search(std::vector<WaitNote> links, uint64_t id, int rank) : links_(std::move(links)) {
    const auto first = std::find_if(links_.begin(), links_.end(), [&](const WaitNote& each) {
      return each.comm == id && each.rank == rank;
    });
    if (first == links_.end()) return;
    path_.push_back(&*first);
    found_ = walk();
  }
  /// Each waits for the next, the last for the first; empty: there is no cycle.
  std::vector<const WaitNote*> path() const {
    return found_ ? path_ : std::vector<const WaitNote*>{};
  }

 private:
  /// The ranks of one call wait for each other while it goes on. And all waited at one moment:
  /// what was told of another host may be long past.
  bool isCycle() const {
    int64_t last = INT64_MIN, until = INT64_MAX;
    bool differ = false;
    for (const WaitNote* const each : path_) {
      last = std::max(last, each->started);
      until = std::min(until, each->seen);
      const OpFacts facts = OpFacts::of(each->call);
      differ = differ || facts.isTransfers() || each->comm != path_.front()->comm ||
               facts.sequence != OpFacts::of(path_.front()->call).sequence;
    }
    return differ && last <= until;
  }

  /// From the last of the path on.
  bool walk() {
    const WaitNote& waiter = *path_.back();
    for (const WaitNote& next : links_) {
      if (!holds(next, waiter)) continue;
      if (next.sameCall(*path_.front())) {
        if (isCycle()) return true;
        continue;
      }
      if (std::find(tried_.begin(), tried_.end(), &next) != tried_.end()) continue;
      tried_.push_back(&next);
      path_.push_back(&next);
      if (walk()) return true;
      path_.pop_back();
    }
    return false;
  }

  const std::vector<WaitNote> links_;
  std::vector<const WaitNote*> path_, tried_;
  bool found_ = false;
};

std::string waiterText(const WaitNote& waiter, bool near) {
  const OpFacts facts = OpFacts::of(waiter.call);
  const std::string host =
      near ? std::string() : format("host \"%s\", ", printable(waiter.host).c_str());
  return format("rank %d of communicator \"%s\" (%spid %d) in its %s, %s", waiter.rank,
                printable(waiter.name).c_str(), host.c_str(), waiter.pid,
                facts.numberText().c_str(), flightText(facts).c_str());
}

}  // namespace

std::string waitCycleText(const std::vector<FlightProcess>& near,
                          const std::vector<FlightProcess>& far, uint64_t id, int rank) {
  const Search search(waitLinks(near, far, INT64_MAX), id, rank);
  const std::vector<const WaitNote*> path = search.path();
  if (path.empty()) return "";
  std::string out;
  bool transfers = false;
  for (const WaitNote* const waiter : path) {
    const bool isNear = std::any_of(near.begin(), near.end(), [&](const FlightProcess& each) {
      return keyOf(each) == waiter->process;
    });
    out += waiterText(*waiter, isNear) + ", waits for ";
    transfers = transfers || OpFacts::of(waiter->call).isTransfers();
  }
  return out + "the first to make that call; allowed: the same order of calls on all ranks, " +
         (transfers ? "sends and receives that wait for each other in one group "
                      "(rondoGroupStart), "
                    : "") +
         "or calls that do not block (rondoGroupEndAsync)";
}

}  // namespace rondo

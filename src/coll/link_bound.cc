#include "coll/link_bound.h"

#include <algorithm>
#include <map>

namespace rondo {
namespace {

/// Bytes of one rank in a whole call.
struct Traffic {
  uint64_t intoPackage = 0, intoHost = 0, outOfHost = 0;
};

class Counter {
 public:
  Counter(const Plan& plan, size_t elementBytes, const LinkFacts& links)
      : plan_(plan), elementBytes_(elementBytes), links_(links) {}

  Traffic count() {
    const uint64_t periods = plan_.geometry.fullPeriods();
    for (const LaneProgram& lane : plan_.lanes) {
      for (const Step& step : lane.full) add(step, elementsOf(step) * elementBytes_ * periods);
      for (const Step& step : lane.last) add(step, elementsOf(step) * elementBytes_);
    }
    return sum_;
  }

 private:
  void add(const Step& step, uint64_t bytes) {
    if (bytes == 0 || step.kind == StepKind::Wait || step.kind == StepKind::Signal) return;
    const bool moves = step.kind == StepKind::Move && (step.bits & algo::kRecv) != 0;
    if (moves || step.kind == StepKind::Fetch) {
      take(step.from, bytes);
      if (moves) take(step.from2, bytes);
    } else if (step.kind == StepKind::Reduce) {
      for (int rank = step.from; rank < step.from2; ++rank) take(rank, bytes);
    }
    if ((step.bits & algo::kSend) == 0) return;
    if (step.to != algo::kEveryone) return send(step.to, bytes);
    for (int rank = 0; rank < plan_.group.size; ++rank) send(rank, bytes);
  }
  void take(int from, uint64_t bytes) {
    if (from < 0 || from == plan_.group.rank) return;
    if (!links_.sameHost(from, plan_.group.rank)) {
      sum_.intoHost += bytes;
    } else if (links_.apart(from, plan_.group.rank)) {
      sum_.intoPackage += bytes;  // who reads pulls
    }
  }
  void send(int to, uint64_t bytes) {
    if (to >= 0 && !links_.sameHost(to, plan_.group.rank)) sum_.outOfHost += bytes;
  }

  const Plan& plan_;
  size_t elementBytes_;
  const LinkFacts& links_;
  Traffic sum_;
};

/// What some ranks of an area of `size` move, as the whole area's.
uint64_t wholeOf(const std::vector<uint64_t>& some, size_t size) {
  const uint64_t most = *std::max_element(some.begin(), some.end());
  if (some.size() == 1) return most * size;
  uint64_t rest = 0;
  for (const uint64_t bytes : some) rest += bytes;
  rest -= most;
  return most + rest * (size - 1) / (some.size() - 1);
}

using Counts = std::map<int, std::vector<uint64_t>>;  // by area: of the ranks that are known

uint64_t slowestOf(const Counts& counts, const std::vector<int>& areaOf, uint64_t bytesPerSecond) {
  uint64_t slowest = 0;
  for (const auto& [area, some] : counts) {
    const auto size = static_cast<size_t>(std::count(areaOf.begin(), areaOf.end(), area));
    const unsigned __int128 bytes = wholeOf(some, size);
    slowest = std::max(slowest, static_cast<uint64_t>(bytes * 1'000'000'000'000 / bytesPerSecond));
  }
  return slowest;
}

}  // namespace

uint64_t linkBound(const std::vector<Plan>& plans, size_t elementBytes, const CommFacts& facts) {
  const LinkFacts& links = facts.links;
  const bool packages = links.intoPackage > 0 && !links.package.empty();
  const bool hosts = links.intoHost > 0 && !links.host.empty();
  if (!packages && !hosts) return 0;
  Counts intoPackage, intoHost, outOfHost;
  for (const Plan& plan : plans) {
    const Traffic traffic = Counter(plan, elementBytes, links).count();
    const auto rank = static_cast<size_t>(plan.group.rank);
    if (packages && links.package[rank] >= 0) {
      intoPackage[links.package[rank]].push_back(traffic.intoPackage);
    }
    if (!hosts) continue;
    intoHost[links.host[rank]].push_back(traffic.intoHost);
    outOfHost[links.host[rank]].push_back(traffic.outOfHost);
  }
  uint64_t bound = 0;
  if (packages) bound = slowestOf(intoPackage, links.package, links.intoPackage);
  if (hosts) {
    bound = std::max({bound, slowestOf(intoHost, links.host, links.intoHost),
                      slowestOf(outOfHost, links.host, links.intoHost)});
  }
  return bound;
}

}  // namespace rondo

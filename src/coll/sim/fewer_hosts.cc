// Calls on so many hosts that their simulation takes minutes: what it takes on fewer, drawn on.

#include <algorithm>
#include <set>

#include "coll/sim/rehearsal.h"

namespace rondo::sim {
namespace {

/// Beginnings of a line are no line: with fewer hosts than these nothing is drawn on.
constexpr int kLeastHosts = 8;
/// Of what may be simulated unasked, for two simulations instead of one.
constexpr double kShare = 0.25;

/// The places of the ranks on the first `most` hosts.
std::vector<int> placesOnFirst(const topo::Graph& graph, const std::vector<int>& places, int most) {
  std::set<int> hosts;
  std::vector<int> out;
  for (const int place : places) {
    const int host = graph.node(place).host;
    if (hosts.count(host) == 0 && static_cast<int>(hosts.size()) == most) continue;
    hosts.insert(host);
    out.push_back(place);
  }
  return out;
}

/// The call among fewer ranks, each of whose slots is as long.
CallShape withRanks(const CallShape& call, int of, int ranks) {
  CallShape out = call;
  out.root = call.root % ranks;
  if (hasSlots(call.collective)) {
    out.bytes = std::max<uint64_t>(call.bytes / static_cast<uint64_t>(of), 1) *
                static_cast<uint64_t>(ranks);
  }
  return out;
}

}  // namespace

std::optional<Outcome> Rehearsal::fromFewerHosts(const Algorithm& algorithm,
                                                 const CallShape& call) const {
  if (!parts_.whole()) return std::nullopt;
  Settings settings = settings_;
  settings.record = false;
  const auto on = [&](int hosts) {
    return Rehearsal(graph_, placesOnFirst(graph_, places_, hosts), settings, {});
  };
  const double most = std::min(settings_.mostSteps, kShare * settings_.mostPlanned);
  int hosts = groups_[0].count();
  double work = 0;
  do {
    hosts /= 2;
    if (hosts < kLeastHosts) return std::nullopt;
    const Rehearsal fewer = on(hosts);
    const CallShape shape = withRanks(call, partRanks_, fewer.ranks());
    work = fewer.workOf(algorithm, fewer.geometryOf(algorithm, shape), shape.root);
  } while (work > most);
  double times[2] = {}, ranks[2] = {};
  for (const int half : {0, 1}) {
    const Rehearsal fewer = on(half == 0 ? hosts : hosts / 2);
    const CallShape shape = withRanks(call, partRanks_, fewer.ranks());
    const Outcome out =
        fewer.simulate(algorithm, fewer.geometryOf(algorithm, shape), shape.root, false);
    checkEnded(out.result);
    times[half] = static_cast<double>(out.result.picoseconds);
    ranks[half] = fewer.ranks();
  }
  const double slope = std::max(0.0, (times[0] - times[1]) / (ranks[0] - ranks[1]));
  Outcome out{&algorithm, geometryOf(algorithm, call), {}, 0, true, hosts};
  out.result.picoseconds = static_cast<Time>(times[0] + slope * (partRanks_ - ranks[0]));
  out.result.arcBytes.resize(graph_.arcs());
  out.result.periods = out.geometry.fullPeriods();
  out.result.seenFull = true;
  return out;
}

}  // namespace rondo::sim

#include "coll/levels_choice.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "coll/far_predict.h"
#include "coll/far_staging.h"

namespace rondo {
namespace {

/// What no algorithm serves is not chosen, and sums of such times do not wrap.
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max() / 8;

uint64_t partsOf(uint64_t whole, uint64_t part) { return (whole + part - 1) / part; }

/// A rail has a rank of each host, as near to the network as any, and its part of the card.
CommFacts railFacts(const LevelsFacts& facts) {
  CommFacts rail = facts.all;
  std::vector<int> hosts(static_cast<size_t>(facts.hosts));
  std::iota(hosts.begin(), hosts.end(), 0);
  rail.ranks = facts.hosts;
  rail.groups = RankGroups(hosts);
  rail.links.package.clear();
  rail.links.host = hosts;
  rail.links.intoHost /= static_cast<uint64_t>(facts.places);
  return rail;
}

/// What the rank that has most to do gives and gets of a call that has `ranks` ranks, in slots.
struct SlotsMoved {
  uint64_t in, out;
  bool oneWay = false;  ///< A rank does one of both.
};
SlotsMoved slotsMoved(Collective collective, int ranks) {
  const auto slots = static_cast<uint64_t>(ranks);
  switch (collective) {
    case Collective::AllGather:  // its own stays
      return {1, slots - 1};
    case Collective::ReduceScatter:
      return {slots, 1};
    case Collective::Broadcast:
      return {1, 1, true};
    default:  // all-reduce, and reduce's root
      return {1, 1};
  }
}

/// Calls at once share the links into a host and out of it.
CommFacts shared(CommFacts facts, int together) {
  facts.links.intoHost /= static_cast<uint64_t>(together);
  return facts;
}

}  // namespace

NearTimes NearTimes::of(const DeviceRunner& near) {
  constexpr uint32_t kElement = 4;
  NearTimes times;
  for (size_t k = 0; k < kSizes; ++k) {
    const uint64_t count = (uint64_t{1} << (kFirst + k)) / kElement;
    times.reduceScatter[k] =
        near.choose({Collective::ReduceScatter, count, kElement, Reduces::kHot}).picoseconds;
    times.allGather[k] =
        near.choose({Collective::AllGather, count, kElement, Reduces::kNothing}).picoseconds;
  }
  return times;
}

void NearTimes::worst(const NearTimes& other) {
  for (size_t k = 0; k < kSizes; ++k) {
    reduceScatter[k] = std::max(reduceScatter[k], other.reduceScatter[k]);
    allGather[k] = std::max(allGather[k], other.allGather[k]);
  }
}

uint64_t NearTimes::at(const Times& times, uint64_t bytes) {
  const int above = static_cast<int>(std::bit_width(bytes)) - 1 - kFirst;
  if (above < 0) return times.front();
  const int k = std::min(above, kSizes - 1);
  const uint64_t base = uint64_t{1} << (kFirst + k), low = times[static_cast<size_t>(k)];
  // Up to the next one, or as much again for as many bytes.
  const uint64_t next = k + 1 < kSizes ? times[static_cast<size_t>(k) + 1] : 2 * low;
  const uint64_t more = next - std::min(low, next);
  return low + static_cast<uint64_t>(static_cast<unsigned __int128>(more) * (bytes - base) / base);
}

LevelsChoice::LevelsChoice(LevelsFacts facts)
    : facts_(std::move(facts)), rail_(railFacts(facts_)) {}

const char* LevelsChoice::impossible(Collective collective, uint64_t count) const {
  if (facts_.all.reproducible && isReduction(collective)) return "reproducible has one order";
  switch (collective) {
    case Collective::ReduceScatter:
    case Collective::AllGather:
      return facts_.order == LevelsOrder::Other ? "ranks are neither by host nor by rail" : nullptr;
    case Collective::Broadcast:
    case Collective::Reduce:
      if (!facts_.exchanges) return "hosts have too many ranks";
      break;
    case Collective::AllReduce:
      break;
    default:
      return "this collective never does";
  }
  return count < static_cast<uint64_t>(facts_.places) ? "there is not an element for each rail"
                                                      : nullptr;
}

/// One chunk as a call on host memory, of the size class that stands for it, while as many as
/// `together` run.
uint64_t LevelsChoice::chunkTime(const Part& part, uint64_t count, int together) {
  const uint64_t typical = typicalCount(count);
  const std::array<uint64_t, 5> key{static_cast<uint64_t>(part.collective), typical,
                                    part.elementBytes, part.onRail ? 1u : 0u,
                                    static_cast<uint64_t>(together)};
  const auto known = chunks_.find(key);
  if (known != chunks_.end()) return known->second;
  const std::vector<Candidate> ranking =
      rankCandidates({part.collective, typical, part.elementBytes, 0},
                     shared(part.onRail ? rail_ : facts_.all, together), facts_.tune);
  return chunks_[key] = ranking.empty() ? kNever : ranking.front().picoseconds;
}

/// Chunks go into page-locked memory, as many at once as there are lanes are calls on host memory,
/// and come out again.
uint64_t LevelsChoice::farTime(const Part& part, uint64_t count) {
  if (count == 0) return 0;
  const int ranks = part.onRail ? facts_.hosts : facts_.all.ranks;
  const SlotsMoved moved = slotsMoved(part.collective, ranks);
  const uint64_t chunk =
      std::min(count, farChunk(part.collective, count, part.elementBytes, ranks, facts_.lanes));
  FarCourse course{partsOf(count, chunk), facts_.lanes, {}, {}, moved.oneWay};
  const int together =
      static_cast<int>(std::min(course.chunks, static_cast<uint64_t>(facts_.lanes)));
  const auto timesOf = [&](uint64_t elements) {
    const auto copies = [&](uint64_t slots) {
      return slots * elements * part.elementBytes * facts_.costs.farPerKiB / 1024;
    };
    return FarChunkTimes{copies(moved.in), chunkTime(part, elements, together), copies(moved.out)};
  };
  course.each = timesOf(chunk);
  if (course.each.call >= kNever) return kNever;
  const uint64_t rest = count - (course.chunks - 1) * chunk;
  course.last = rest == chunk ? course.each : timesOf(rest);
  return facts_.costs.farCall + farCourseTime(course);
}

/// What the levels runner does (levels_runner.cc). What goes from one rank of a host to all others,
/// or to one from all, takes what an all-gather does, whose ranks each send as much.
uint64_t LevelsChoice::levelsTime(Collective collective, uint64_t count, uint32_t elementBytes) {
  const NearTimes::Times &reduce = facts_.near.reduceScatter, &gather = facts_.near.allGather;
  if (hasSlots(collective)) {
    const auto hosts = static_cast<uint64_t>(facts_.hosts);
    const auto& times = collective == Collective::ReduceScatter ? reduce : gather;
    const uint64_t bytes = count * elementBytes;
    const uint64_t near = facts_.order == LevelsOrder::ByHost ? hosts * NearTimes::at(times, bytes)
                                                              : NearTimes::at(times, hosts * bytes);
    return near + farTime({collective, elementBytes, true}, count);
  }
  const auto places = static_cast<uint64_t>(facts_.places);
  const uint64_t slot = count / places, bytes = slot * elementBytes;
  const auto& first = isReduction(collective) ? reduce : gather;
  return NearTimes::at(first, bytes) + NearTimes::at(gather, bytes) +
         farTime({collective, elementBytes, true}, slot) +
         farTime({collective, elementBytes, false}, count % places);
}

LevelsForecast LevelsChoice::forecast(Collective collective, uint64_t count,
                                      uint32_t elementBytes) {
  LevelsForecast out;
  const TuneRule* const rule =
      findRule(DeviceRequest{collective, count, elementBytes, Reduces::kNothing}, facts_.tune);
  out.why = impossible(collective, count);
  if (out.why == nullptr) {
    out.host = farTime({collective, elementBytes, false}, count);
    out.levels = levelsTime(collective, count, elementBytes);
  }
  if (rule != nullptr) out.rule = rule->algorithm->name;
  out.byLevels = out.why == nullptr &&
                 (rule != nullptr ? rule->algorithm->hierarchy != nullptr : out.levels < out.host);
  return out;
}

std::string LevelsChoice::explain(Collective collective, uint64_t bytes,
                                  const LevelsForecast& forecast) const {
  const auto micro = [](uint64_t picoseconds) { return static_cast<double>(picoseconds) * 1e-6; };
  std::string text = format("rondo: %s of %llu bytes on device memory of %d hosts of %d ranks\n",
                            collectiveName(collective), static_cast<unsigned long long>(bytes),
                            facts_.hosts, facts_.places);
  if (forecast.why != nullptr) {
    return text + format("rondo:   runs on host memory; not in levels: %s\n", forecast.why);
  }
  const std::string levels =
      format("in levels (kernels in hosts, host memory between), predicted %.2f us",
             micro(forecast.levels));
  const std::string host = format("on host memory, predicted %.2f us", micro(forecast.host));
  text += "rondo:   runs " + (forecast.byLevels ? levels : host);
  if (forecast.rule != nullptr) text += format(" (a rule asks for %s)", forecast.rule);
  return text + "\nrondo:     or " + (forecast.byLevels ? host : levels) + "\n";
}

}  // namespace rondo

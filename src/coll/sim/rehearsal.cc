#include "coll/sim/rehearsal.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "coll/device_forecast.h"
#include "coll/planner.h"
#include "coll/sim/device_ranks.h"
#include "coll/sim/shorten.h"
#include "p2p/channel_view.h"
#include "p2p/shm_layout.h"

namespace rondo::sim {
namespace {

/// A kernel's 64 lanes do the same at the same time: as many bytes in two lanes are the same flows.
constexpr int kDeviceLanes = 2;
constexpr int kHostLanes = 2;
/// That many take a few seconds.
constexpr uint64_t kStepsToFull = 2'000'000;
/// How often blocks are made shorter, and bytes of the shortest.
constexpr int kFinerTries = 4;
constexpr uint64_t kLeastChunk = 64;

/// Messages without data are handed on in the same way.
Count slotCount(const CallShape& call, int ranks) {
  if (call.collective == Collective::Barrier) return 0;
  const uint64_t slots = hasSlots(call.collective) ? static_cast<uint64_t>(ranks) : 1;
  return std::max<uint64_t>(call.bytes / slots, 1);
}

bool hasGpus(const topo::Graph& graph) { return !graph.all(topo::NodeKind::Gpu).empty(); }

std::vector<RankGroups> groupsOf(const Parts& parts, const std::vector<int>& hosts) {
  if (parts.whole()) return {RankGroups(hosts)};
  std::vector<RankGroups> out;
  for (const std::vector<int>& members : parts.members) {
    std::vector<int> own;
    for (const int rank : members) own.push_back(hosts[static_cast<size_t>(rank)]);
    out.emplace_back(own);
  }
  return out;
}

/// Of the first part.
std::vector<Seat> seatsOf(const topo::Graph& graph, const Parts& parts,
                          const std::vector<int>& places) {
  std::vector<Seat> seats;
  const auto add = [&](int place) { seats.push_back({graph.node(place).host, place, true}); };
  if (parts.whole()) {
    for (const int place : places) add(place);
  } else {
    for (const int rank : parts.members[0]) add(places[static_cast<size_t>(rank)]);
  }
  return seats;
}

}  // namespace

void stretch(Result* result, Time whole) {
  const Time was = result->picoseconds;
  if (was == 0) return;
  const auto at = [&](Time time) {
    return static_cast<Time>(static_cast<unsigned __int128>(time) * whole / was);
  };
  for (Transfer& transfer : result->transfers) {
    transfer.start = at(transfer.start);
    transfer.end = at(transfer.end);
  }
  for (LinkCourse& course : result->courses) course.stretch(whole, was);
  for (Span& span : result->spans) {
    span.ready = at(span.ready);
    span.start = at(span.start);
    span.end = at(span.end);
  }
  result->leftOutAt = at(result->leftOutAt);
  result->leftOutTime = at(result->leftOutTime);
  result->picoseconds = whole;
  result->stretched *= static_cast<double>(whole) / static_cast<double>(was);
}

Time leastTime(const topo::Graph& graph, const std::vector<uint64_t>& arcBytes) {
  double most = 0;
  for (size_t arc = 0; arc < arcBytes.size(); ++arc) {
    const uint64_t perSecond = graph.links()[arc / 2].bytesPerSecond;
    most = std::max(most, static_cast<double>(arcBytes[arc]) / static_cast<double>(perSecond));
  }
  return most * 1e12 > static_cast<double>(kMostTime) ? kMostTime + 1
                                                      : static_cast<Time>(std::ceil(most * 1e12));
}

int placesOn(const topo::Graph& graph) {
  const bool gpus = hasGpus(graph);
  int64_t places = 0;
  for (const int node : graph.all(gpus ? topo::NodeKind::Gpu : topo::NodeKind::Cpu)) {
    places += gpus ? 1 : std::max(graph.node(node).cores, 1);
  }
  return static_cast<int>(std::min<int64_t>(places, kMostPlaces));
}

Rehearsal::Rehearsal(const topo::Graph& graph, int ranks, Settings settings, Parts parts)
    : Rehearsal(graph, placeRanks(graph, ranks > 0 ? ranks : placesOn(graph)), std::move(settings),
                std::move(parts)) {}

Rehearsal::Rehearsal(const topo::Graph& graph, std::vector<int> places, Settings settings,
                     Parts parts)
    : graph_(graph),
      settings_(std::move(settings)),
      device_(hasGpus(graph)),
      places_(std::move(places)),
      parts_(std::move(parts)),
      partRanks_(parts_.whole() ? static_cast<int>(places_.size())
                                : static_cast<int>(parts_.members[0].size())),
      groups_(groupsOf(parts_, hostsOf(graph, places_))) {
  layered_ = std::all_of(groups_.begin(), groups_.end(), [this](const RankGroups& g) {
    return g.layered() && g.text() == groups_[0].text();
  });
  if (!device_) links_ = linkFactsOf(graph, seatsOf(graph, parts_, places_));
  const bool usual = settings_.lanes == 0 && settings_.chunk == 0 && settings_.depth < 0;
  const bool near = std::all_of(groups_.begin(), groups_.end(),
                                [](const RankGroups& hosts) { return hosts.count() == 1; });
  if (!device_ || !usual || !near) return;
  std::vector<int> gpus = places_;
  if (!parts_.whole()) {
    gpus.clear();
    for (const int rank : parts_.members[0]) gpus.push_back(places_[static_cast<size_t>(rank)]);
  }
  kernels_ = deviceFactsOn(graph, gpus);
  // Ranks of a part are in another communicator, too.
  if (!parts_.whole()) kernels_->close = std::min(kernels_->close, Close::kAtItsEnd);
  // Parts that share PCIe links hinder each other, which the planner does not know.
  if (!parts_.whole() && !kernels_->lineStores) kernels_.reset();
}

DeviceChoice Rehearsal::planned(const Algorithm& algorithm, Count bytes) const {
  if (!kernels_ || partRanks_ < 2 || algorithm.collective == Collective::Barrier) return {};
  constexpr uint32_t kElement = 4;
  const bool reduces = isReduction(algorithm.collective);
  const DeviceRequest request{algorithm.collective, std::max<Count>(bytes / kElement, 1), kElement,
                              reduces ? Reduces::kHot : Reduces::kNothing};
  const DeviceChoice exchange = chooseExchange(request, *kernels_);
  if (exchange.algorithm != nullptr) {
    return algorithm.name == std::string_view(exchange.algorithm) ? exchange : DeviceChoice{};
  }
  TuneRule rule{};
  rule.collective = algorithm.collective;
  rule.to = ~uint64_t{0};
  rule.algorithm = &algorithm;
  rule.device = true;
  const DeviceChoice choice = chooseDevice(request, *kernels_, {rule});
  // A rule that nothing can follow is only a wish.
  const bool follows =
      choice.algorithm != nullptr && std::string_view(choice.algorithm) == algorithm.name;
  return follows ? choice : DeviceChoice{};
}

std::optional<Time> Rehearsal::exchangeTime(int rank,
                                            const std::vector<PeerTransfer>& transfers) const {
  if (!kernels_) return std::nullopt;
  std::vector<rondo::Transfer> all;
  for (const PeerTransfer& t : transfers) all.push_back({t.peer, t.sends, nullptr, t.bytes});
  const std::optional<ExchangeWork> work = exchangeWork(*kernels_, rank, all);
  if (!work || work->lanes() == 0) return std::nullopt;
  return work->time(kernels_->costs, false);
}

bool Rehearsal::mayRun(const Algorithm& row) const {
  if (row.hierarchy != nullptr && !layered_) return false;
  const bool window = std::string(row.header).find("window") != std::string::npos;
  return !(device_ && window && partRanks_ > kMaxWindowRanks);
}

std::vector<const Algorithm*> Rehearsal::candidates(Collective collective) const {
  std::vector<const Algorithm*> out;
  std::string known;
  for (const Algorithm& row : registry()) {
    if (row.collective != collective) continue;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
    const bool wanted = settings_.algorithm.empty() ? mayRun(row) : settings_.algorithm == row.name;
    if (wanted) out.push_back(&row);
  }
  const auto unplanned = [this](const Algorithm* row) {
    return planned(*row, 1).algorithm == nullptr;
  };
  if (settings_.algorithm.empty() && !std::all_of(out.begin(), out.end(), unplanned)) {
    std::erase_if(out, unplanned);
  }
  if (out.empty() && !settings_.algorithm.empty()) {
    throw Error(rondoInvalidArgument,
                format("the algorithm is \"%s\"; allowed for %s: %s", settings_.algorithm.c_str(),
                       collectiveName(collective), known.c_str()));
  }
  return out;
}

algo::Geometry Rehearsal::geometryOf(const Algorithm& algorithm, const CallShape& call) const {
  const int lanes = settings_.lanes > 0 ? settings_.lanes : device_ ? kDeviceLanes : kHostLanes;
  uint64_t chunk =
      device_ ? uint64_t{kSliceBytes} * kRingLanes / kDeviceLanes : ShmLayout::kMostArea / 2;
  if (settings_.chunk > 0) chunk = settings_.chunk;
  return {slotCount(call, partRanks_), lanes, blocksOf(algorithm, partRanks_, groups_[0]), chunk,
          std::min<uint64_t>(64, chunk)};
}

void Rehearsal::checkRoot(int root) const {
  if (root >= 0 && root < partRanks_) return;
  throw Error(rondoInvalidArgument, format("--root is %d; allowed: 0 to %d", root, partRanks_ - 1));
}

Job Rehearsal::jobOf(const Algorithm& algorithm, const algo::Geometry& geometry, int root) const {
  checkRoot(root);
  Job job;
  job.graph = &graph_;
  job.places = places_;
  job.parts = parts_;
  job.plan = [this, &algorithm, geometry, root](int rank) {
    const auto at = static_cast<size_t>(rank);
    const int number = parts_.whole() ? rank : parts_.number[at];
    const RankGroups& groups = groups_[parts_.whole() ? 0 : static_cast<size_t>(parts_.of[at])];
    return recordPlan(algorithm, {number, partRanks_, root, groups.placement()}, geometry);
  };
  job.depth = settings_.depth >= 0 ? settings_.depth
                                   : static_cast<int>(device_ ? kFifoSlots / kSliceSlots : 2);
  job.costs = device_ ? deviceCosts() : hostCosts(HostCosts{});
  job.periods = settings_.periods;
  job.repeats = settings_.repeats;
  job.record = settings_.record;
  job.recordLinks = settings_.record && settings_.recordLinks;
  return job;
}

Outcome Rehearsal::course(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                          bool record, bool foretold) const {
  Job job = jobOf(algorithm, geometry, root);
  job.record = record && stepsOf(algorithm, geometry, root, true) <= settings_.mostKept;
  job.recordLinks = job.record && settings_.recordLinks;
  job.periods = job.record ? keptPeriods(algorithm, geometry, root)
                           : enoughPeriods(algorithm, geometry, root);
  const bool asked = !settings_.wholeIfKept || settings_.periods == 0;
  if (!job.record && !asked && !foretold) job.stepsToFull = kStepsToFull;
  if (foretold) job.costs = Costs{};  // links alone: all else is in what is foretold
  return {&algorithm, geometry, sim::simulate(job), 0};
}

/// A kernel hands on what it has of a block, so that its pipeline is full earlier than one of whole
/// blocks. Shorter ones are tried while the links' course takes longer than the kernel.
Outcome Rehearsal::foretell(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                            bool record, Time predicted) const {
  Outcome out = course(algorithm, geometry, root, record, true);
  if (!out.result.blocked.empty()) return out;
  const Time whole = std::max(predicted, leastTime(graph_, out.result.arcBytes));
  if (whole > kMostTime) refuseTime("the call");
  algo::Geometry finer = geometry;
  const bool kept = !out.result.transfers.empty();
  for (int tries = 0; kept && tries < kFinerTries && out.result.picoseconds > whole; ++tries) {
    finer.chunk = std::min(finer.chunk, (geometry.count + static_cast<Count>(finer.lanes) - 1) /
                                            static_cast<Count>(finer.lanes)) /
                  4;
    if (finer.chunk < kLeastChunk) break;
    if (stepsOf(algorithm, finer, root, true) > settings_.mostKept) break;
    Outcome next = course(algorithm, finer, root, record, true);
    if (next.result.picoseconds >= out.result.picoseconds) break;
    out.result = std::move(next.result);
  }
  stretch(&out.result, whole);
  out.result.seenFull = true;
  return out;
}

Outcome Rehearsal::simulate(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                            bool record) const {
  const auto start = std::chrono::steady_clock::now();
  const DeviceChoice choice = planned(algorithm, geometry.count);
  Outcome out = choice.algorithm != nullptr
                    ? foretell(algorithm, geometry, root, record, choice.picoseconds)
                    : course(algorithm, geometry, root, record, false);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

std::vector<Outcome> Rehearsal::simulateAll(const CallShape& call, std::vector<LeftOut>* leftOut,
                                            bool record,
                                            const std::function<void(const Outcome&)>& done) const {
  checkRoot(call.root);
  std::vector<Outcome> outcomes;
  for (const Algorithm* algorithm : candidates(call.collective)) {
    const algo::Geometry geometry = geometryOf(*algorithm, call);
    const double steps = workOf(*algorithm, geometry, call.root);
    if (settings_.algorithm.empty() && steps > settings_.mostSteps) {
      leftOut->push_back({algorithm, steps});
      continue;
    }
    outcomes.push_back(simulate(*algorithm, geometry, call.root, record));
    if (done) done(outcomes.back());
  }
  std::stable_sort(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
    const bool aStuck = !a.result.blocked.empty(), bStuck = !b.result.blocked.empty();
    return aStuck != bStuck ? bStuck : a.result.picoseconds < b.result.picoseconds;
  });
  return outcomes;
}

Outcome Rehearsal::simulatePlanned(const CallShape& call) const {
  CommFacts facts;
  facts.ranks = partRanks_;
  facts.lanes = settings_.lanes > 0 ? settings_.lanes : kHostLanes;
  facts.chunkBytes = settings_.chunk > 0 ? settings_.chunk : ShmLayout::kMostArea / 2;
  facts.cpus = static_cast<uint32_t>(partRanks_);  // a core for each rank
  const bool acrossHosts = groups_[0].count() > 1;
  if (acrossHosts) facts.groups = groups_[0];
  facts.links = links_;
  facts.links.acrossHosts = acrossHosts;
  setCosts({}, 0, &facts);
  const Request request{call.collective, slotCount(call, partRanks_), 1, call.root};
  const std::vector<Candidate> ranking = rankCandidates(request, facts, {});
  const Candidate& best = ranking.front();
  if (workOf(*best.algorithm, best.geometry, call.root) > settings_.mostPlanned) {
    Outcome out{best.algorithm, best.geometry, {}, 0, true};
    out.result.picoseconds = best.picoseconds;
    out.result.arcBytes.resize(graph_.arcs());
    out.result.periods = best.geometry.fullPeriods();
    out.result.seenFull = true;
    return out;
  }
  return simulate(*best.algorithm, best.geometry, call.root, settings_.record);
}

Outcome Rehearsal::findBest(const CallShape& call) const {
  if (!device_ && settings_.algorithm.empty()) return simulatePlanned(call);
  std::vector<LeftOut> leftOut;
  std::vector<Outcome> outcomes = simulateAll(call, &leftOut, false);
  if (!outcomes.empty() && !settings_.record) return std::move(outcomes.front());
  if (!outcomes.empty()) {
    return simulate(*outcomes[0].algorithm, outcomes[0].geometry, call.root, true);
  }
  const auto shortest =
      std::min_element(leftOut.begin(), leftOut.end(),
                       [](const LeftOut& a, const LeftOut& b) { return a.steps < b.steps; });
  if (shortest == leftOut.end()) {
    throw Error(rondoUnsupported, format("no algorithm for %s runs on %d ranks",
                                         collectiveName(call.collective), partRanks_));
  }
  if (shortest->steps > settings_.mostPlanned) {
    if (const auto out = fromFewerHosts(*shortest->algorithm, call)) return *out;
  }
  return simulate(*shortest->algorithm, geometryOf(*shortest->algorithm, call), call.root,
                  settings_.record);
}

const Outcome& Rehearsal::best(const CallShape& call) {
  const auto found = known_.find(call.key());
  if (found != known_.end()) return found->second;
  checkRoot(call.root);
  Outcome best = findBest(call);
  checkEnded(best.result);
  return known_.emplace(call.key(), std::move(best)).first->second;
}

}  // namespace rondo::sim

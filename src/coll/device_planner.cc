#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_planner.h"

#include <algorithm>

#include "base/error.h"

namespace rondo {
namespace {

using algo::Geometry;

Count divideUp(Count a, Count b) { return (a + b - 1) / b; }

/// What things cost on a device, in picoseconds. Fitted to rondo-bench on 4 x H200 over NVLink,
/// 2026-11-21 (rings on 2 as well), from a graph; eagerly every kernel costs the same constant
/// more.
struct DeviceCosts {
  Count launch = 900'000;    ///< A kernel of one block that does nothing.
  Count laneLL = 3'500;      ///< Each block, to be started and waited for.
  Count lane = 10'000;       ///< The same of LL128 and Simple.
  Count flagLL = 1'600'000;  ///< Data from one rank to another, with all that is done to them.
  Count flagLL128 = 2'200'000;
  Count further = 1'400'000;        ///< A second exchange that waits for the first...
  Count furtherOnePeer = 900'000;   ///< ... where it waits for one peer only.
  Count thread = 500;               ///< Each peer's packet of a block's threads above 128.
  Count round = 900'000;            ///< A further packet of a thread.
  Count overlappedRound = 400'000;  ///< The same where two exchanges overlap.
  Count period = 500'000;           ///< A further period: other lanes are in theirs.
  Count wireLLPerKiB = 3'400;       ///< Stores to all peers, 300 GB/s.
  Count wirePerKiB = 3'200;         ///< The same of LL128, 320 GB/s.
  Count overlapPerKiB = 3'050;      ///< Where two exchanges overlap, 335 GB/s.
  Count onePeerPerKiB = 2'700;      ///< Either where all go to the same peer.
  Count ringStart = 6'000'000;      ///< Round a ring, however long it is...
  Count ringHop = 1'800'000;        ///< ... and each hop.
  Count pipeHop = 2'700'000;        ///< From a rank of a pipeline to the next.
  Count ringPerKiB = 2'900;         ///< Stores to one peer, 353 GB/s...
  Count ringLanePerKiB = 205'000;   ///< ... but no more than a lane can do, 5 GB/s.
};
constexpr DeviceCosts kCosts;

/// An algorithm through windows.
struct WindowForm {
  Collective collective;
  const char* algorithm;
  bool blockPerRank;
  int exchanges;
};
constexpr WindowForm kWindowForms[] = {
    {Collective::AllReduce, "oneshot", false, 1},    {Collective::AllReduce, "twoshot", true, 2},
    {Collective::ReduceScatter, "direct", false, 1}, {Collective::AllGather, "direct", false, 1},
    {Collective::AllToAll, "direct", false, 1},      {Collective::Reduce, "oneshot", false, 1},
    {Collective::Broadcast, "oneshot", false, 1},
};

/// An algorithm round the ring.
struct RingForm {
  Collective collective;
  bool blockPerRank;
  int rounds;  ///< Hops of a period, in times of ranks - 1; 0: a pipeline along all ranks.
};
constexpr RingForm kRingForms[] = {
    {Collective::AllReduce, true, 2},  {Collective::ReduceScatter, false, 1},
    {Collective::AllGather, false, 1}, {Collective::Reduce, false, 0},
    {Collective::Broadcast, false, 0},
};

constexpr int kLaneCounts[] = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128};

class Search {
 public:
  Search(const DeviceRequest& request, const DeviceFacts& facts, const TuneRule* rule)
      : request_(request),
        facts_(facts),
        rule_(rule),
        align_(std::max<Count>(1, 16 / request.elementBytes)) {}

  template <class Take>
  void all(Take take) const {
    for (const WindowForm& form : kWindowForms) {
      if (form.collective != request_.collective || !allowed(form.algorithm)) continue;
      windows(form, Protocol::kLL, take);
      windows(form, Protocol::kLL128, take);
    }
    for (const RingForm& form : kRingForms) {
      if (form.collective == request_.collective && allowed("ring")) rings(form, take);
    }
  }

 private:
  bool allowed(const char* algorithm) const {
    return rule_ == nullptr || rule_->algorithm->name == std::string_view(algorithm);
  }
  bool allowed(Protocol protocol) const {
    return rule_ == nullptr || rule_->protocol.empty() || rule_->protocol == protocolName(protocol);
  }
  const Kernel* kernel(const char* algorithm, Protocol protocol) const {
    return findKernel(collectiveName(request_.collective), algorithm, protocol, request_.reduces,
                      facts_.ranks);
  }
  /// Calls body(lanes) for every number of lanes up to `most` that is worth a look.
  template <class Body>
  void lanes(int most, Body body) const {
    most = std::min(most, facts_.lanes);
    if (rule_ != nullptr && rule_->lanes != 0) return body(std::min(rule_->lanes, most));
    for (const int lanes : kLaneCounts) {
      if (lanes > most) break;
      body(lanes);
      // more would not have a packet for each of their threads
      if (static_cast<Count>(lanes) * 512 > request_.count * request_.elementBytes) return;
    }
    if (most < kLaneCounts[std::size(kLaneCounts) - 1]) body(most);
  }

  template <class Take>
  void windows(const WindowForm& form, Protocol protocol, Take take) const {
    const int n = facts_.ranks;
    const bool isLL = protocol == Protocol::kLL;
    // Rooted collectives and all-to-all have no other form where a rank is alone.
    if (n > kMaxWindowRanks || (!isLL && !facts_.lineStores)) return;
    if (n == 1 && form.collective != Collective::AllToAll) return;
    if (!allowed(protocol)) return;
    const Kernel* const found = kernel(form.algorithm, protocol);
    if (found == nullptr) return;
    const WindowShape shape = isLL ? facts_.windowLL : facts_.windowLL128;
    const Count lineBytes = request_.reduces == Reduces::kAll ? 112 : 120;
    const Count place = isLL ? shape.placeBytes(n) / 2 : shape.placeBytes(n) / 128 * lineBytes;
    const Count chunk = place / request_.elementBytes / align_ * align_;
    lanes(shape.lanes, [&](int lanes) {
      const Geometry g{request_.count, lanes, form.blockPerRank ? n : 1, chunk, align_};
      const Count block = blockOf(g) * request_.elementBytes;
      const Count vectors = isLL ? divideUp(block, 8) : divideUp(block, 4 * lineBytes) * 32;
      const Count threads = std::min<Count>(divideUp(vectors, 32) * 32, kBlockThreads);
      const Count periods = divideUp(request_.count, g.period());
      const Count exchanges = static_cast<Count>(form.exchanges);
      const Count wire = request_.count * request_.elementBytes * exchanges *
                         static_cast<Count>(n - 1) / static_cast<Count>(g.blocks);
      Count cost = kCosts.launch + (isLL ? kCosts.flagLL : kCosts.flagLL128);
      cost += static_cast<Count>(lanes) * (isLL ? kCosts.laneLL : kCosts.lane);
      cost += (exchanges - 1) * (n == 2 ? kCosts.furtherOnePeer : kCosts.further) +
              (periods - 1) * kCosts.period;
      const Count peers = static_cast<Count>(n - 1);
      if (threads > 128) cost += exchanges * peers * (threads - 128) * kCosts.thread;
      cost += exchanges * (divideUp(vectors, threads) - 1) *
              (exchanges > 1 ? kCosts.overlappedRound : kCosts.round);
      const Count linePerKiB = n == 2          ? kCosts.onePeerPerKiB
                               : exchanges > 1 ? kCosts.overlapPerKiB
                                               : kCosts.wirePerKiB;
      cost +=
          isLL ? wire * 2 * kCosts.wireLLPerKiB / 1024 : wire * 128 / lineBytes * linePerKiB / 1024;
      take(DeviceChoice{form.algorithm, protocol, g, static_cast<int>(threads), found, cost});
    });
  }

  template <class Take>
  void rings(const RingForm& form, Take take) const {
    if (!allowed(Protocol::kSimple)) return;
    const Kernel* const found = kernel("ring", Protocol::kSimple);
    if (found == nullptr) return;
    const Count hops = static_cast<Count>(facts_.ranks - 1);
    const int blocks = form.blockPerRank ? facts_.ranks : 1;
    const Count most = kBlockSlots * kSlotBytes / request_.elementBytes / align_ * align_;
    lanes(facts_.ringLanes, [&](int lanes) {
      // Periods of equal length: a short one at the end would take as many hops as a long one.
      const Count cuts = static_cast<Count>(lanes * blocks);
      const Count periods = divideUp(request_.count, cuts * most);
      const Count even = divideUp(divideUp(request_.count, cuts * periods), align_) * align_;
      const Geometry g{request_.count, lanes, blocks, std::min(most, even), align_};
      // Slices of a period follow each other, and so do periods: hops cost once a call.
      const Count rounds = static_cast<Count>(form.rounds);
      const Count passes = rounds > 0 ? hops * rounds : 1;
      const Count wire =
          request_.count * request_.elementBytes * passes / static_cast<Count>(blocks);
      const Count perKiB =
          std::max(kCosts.ringPerKiB, kCosts.ringLanePerKiB / static_cast<Count>(lanes));
      const Count way =
          rounds > 0 ? kCosts.ringStart + passes * kCosts.ringHop : hops * kCosts.pipeHop;
      const Count cost =
          kCosts.launch + static_cast<Count>(lanes) * kCosts.lane + way + wire * perKiB / 1024;
      take(DeviceChoice{"ring", Protocol::kSimple, g, kRingThreads, found, cost});
    });
  }

  /// Elements of the longest block there is.
  static Count blockOf(const Geometry& g) {
    return g.fullPeriods() > 0 ? g.chunk : algo::lastPart(g, 0).block;
  }

  const DeviceRequest& request_;
  const DeviceFacts& facts_;
  const TuneRule* rule_;
  const Count align_;
};

const TuneRule* findRule(const DeviceRequest& request, const std::vector<TuneRule>& rules) {
  const uint64_t bytes = request.count * request.elementBytes;
  for (const TuneRule& rule : rules) {
    if (rule.device && rule.collective == request.collective && bytes >= rule.from &&
        bytes < rule.to) {
      return &rule;
    }
  }
  return nullptr;
}

}  // namespace

DeviceChoice chooseDevice(const DeviceRequest& request, const DeviceFacts& facts,
                          const std::vector<TuneRule>& rules) {
  DeviceChoice best{};
  const auto take = [&best](const DeviceChoice& choice) {
    if (best.algorithm == nullptr || choice.picoseconds < best.picoseconds) best = choice;
  };
  const TuneRule* const rule = findRule(request, rules);
  Search(request, facts, rule).all(take);
  // A rule that asks for what cannot be had is a wish.
  if (best.algorithm == nullptr && rule != nullptr) Search(request, facts, nullptr).all(take);
  return best;
}

std::string explainDevice(const DeviceRequest& request, const DeviceFacts& facts) {
  std::vector<DeviceChoice> best;
  Search(request, facts, nullptr).all([&](const DeviceChoice& choice) {
    for (DeviceChoice& other : best) {
      if (other.kernel != choice.kernel) continue;
      if (choice.picoseconds < other.picoseconds) other = choice;
      return;
    }
    best.push_back(choice);
  });
  std::stable_sort(best.begin(), best.end(), [](const DeviceChoice& a, const DeviceChoice& b) {
    return a.picoseconds < b.picoseconds;
  });
  std::string text =
      format("rondo: %s of %llu bytes on device memory\n", collectiveName(request.collective),
             static_cast<unsigned long long>(request.count * request.elementBytes));
  for (const DeviceChoice& choice : best) {
    text += format("rondo:   %s %s %s, %d lane%s of %d threads, predicted %.2f us\n",
                   &choice == best.data() ? "runs" : "  or", choice.algorithm,
                   protocolName(choice.protocol), choice.geometry.lanes,
                   choice.geometry.lanes == 1 ? "" : "s", choice.threads,
                   static_cast<double>(choice.picoseconds) * 1e-6);
  }
  return text;
}

}  // namespace rondo

#endif  // HAVE_CUDA

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "coll/device_planner.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "coll/device_predict.h"
#include "coll/flight_recorder.h"
#include "kernels/direct_call.h"

namespace rondo {
namespace {

using algo::Geometry;

Count divideUp(Count a, Count b) { return (a + b - 1) / b; }

/// An algorithm through windows.
struct WindowForm {
  Collective collective;
  const char* algorithm;
  bool blockPerRank;
  int exchanges;
  bool copiesOwn = false;
};
constexpr WindowForm kWindowForms[] = {
    {Collective::AllReduce, "oneshot", false, 1},     {Collective::AllReduce, "twoshot", true, 2},
    {Collective::ReduceScatter, "direct", false, 1},  {Collective::AllGather, "direct", false, 1},
    {Collective::AllToAll, "direct", false, 1, true}, {Collective::Reduce, "oneshot", false, 1},
    {Collective::Broadcast, "oneshot", false, 1},     {Collective::Scan, "oneshot", false, 1},
    {Collective::Exscan, "oneshot", false, 1},
};

/// An algorithm over the links of the ring.
struct RingForm {
  Collective collective;
  const char* algorithm;
  bool blockPerRank;
  int rounds;  ///< Hops of a period, in times of ranks - 1; 0: a pipeline along all ranks.
};
constexpr RingForm kRingForms[] = {
    {Collective::AllReduce, "ring", true, 2},  {Collective::ReduceScatter, "ring", false, 1},
    {Collective::AllGather, "ring", false, 1}, {Collective::Reduce, "ring", false, 0},
    {Collective::Broadcast, "ring", false, 0}, {Collective::Scan, "chain", false, 0},
    {Collective::Exscan, "chain", false, 0},
};

static_assert(WindowShape::kPassBytes == kBlockThreads * 16);

/// A lane's block from which on a call may go round a ring straight: an all-gather, an all-reduce,
/// which has twice as many hops, and a broadcast where ranks wait in a row for each block to come
/// whole: of 256 MiB on four GPUs it took 816 us instead of 798, of 1 GiB 3.03 ms instead of
/// 3.14 (4 x H200, 2026-11-29).
constexpr Count kStraightRingFrom = 64u << 10;
constexpr Count kStraightSumFrom = 128u << 10;
constexpr Count kStraightPipeFrom = 4u << 20;

/// A window's blocks are the shorter the more there are, and a warp stores whole lines: of 256 KiB
/// for each of four ranks 32 lanes' warps store 80 KiB, 28 lanes' 70.
constexpr int kWindowLanes[] = {1, 2, 4, 8, 16, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128};
constexpr int kRingLaneCounts[] = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 112, 128};

class Search {
 public:
  Search(const DeviceRequest& request, const DeviceFacts& facts, const TuneRule* rule)
      : request_(request),
        facts_(facts),
        costs_(facts.costs),
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
      if (form.collective == request_.collective && allowed(form.algorithm)) rings(form, take);
    }
  }

 private:
  bool allowed(const char* algorithm) const {
    return rule_ == nullptr || rule_->algorithm->name == std::string_view(algorithm);
  }
  bool allowed(Protocol protocol) const {
    return rule_ == nullptr || rule_->protocol.empty() || rule_->protocol == protocolName(protocol);
  }
  /// What instantiate.cu makes of it; a build without CUDA predicts all the same.
  const Kernel* kernel(const char* algorithm, Protocol protocol) const {
#ifdef HAVE_CUDA
    return findKernel(collectiveName(request_.collective), algorithm, protocol, request_.reduces,
                      facts_.ranks);
#else
    static_cast<void>(algorithm);
    static_cast<void>(protocol);
    return nullptr;
#endif
  }
  /// LL is for what is shortest: all-reduces of common types and broadcasts, where its latency
  /// counts (between two GPUs others take the same by LL128, or less), and everything that has no
  /// other form of low latency.
  bool worthLL(Collective collective) const {
    const bool asked = rule_ != nullptr && rule_->protocol == protocolName(Protocol::kLL);
    return collective == Collective::AllReduce || collective == Collective::Broadcast ||
           !facts_.lineStores || asked;
  }
  bool served(const char* algorithm, Protocol protocol) const {
    return hasDeviceKernel(request_, algorithm, protocol, facts_.ranks);
  }
  /// Calls body(lanes) for every one of `counts` up to `most` that is worth a look, and for `most`.
  template <class Body>
  void lanes(std::span<const int> counts, int most, Body body) const {
    most = std::min(most, facts_.lanes);
    if (rule_ != nullptr && rule_->lanes != 0) return body(std::min(rule_->lanes, most));
    for (const int lanes : counts) {
      if (lanes > most) break;
      body(lanes);
      // more would not have a packet for each of their threads
      if (static_cast<Count>(lanes) * 512 > request_.count * request_.elementBytes) return;
    }
    if (most < counts.back()) body(most);
  }

  template <class Take>
  void windows(const WindowForm& form, Protocol protocol, Take take) const {
    const int n = facts_.ranks;
    const bool isLL = protocol == Protocol::kLL;
    // All-to-all has no other form where a rank is alone.
    if (n > kMaxWindowRanks || (!isLL && !facts_.lineStores)) return;
    if (n == 1 && form.collective != Collective::AllToAll) return;
    if (!allowed(protocol) || (isLL && !worthLL(form.collective))) return;
    if (!served(form.algorithm, protocol)) return;
    const Kernel* const found = kernel(form.algorithm, protocol);
    const WindowShape shape = isLL ? facts_.windowLL : facts_.windowLL128;
    const Count lineBytes = request_.reduces == Reduces::kAll ? 112 : 120;
    const Count place = isLL ? shape.placeBytes(n) / 2 : shape.placeBytes(n) / 128 * lineBytes;
    const Count chunk = place / request_.elementBytes / align_ * align_;
    lanes(kWindowLanes, shape.lanes, [&](int lanes) {
      const Geometry g{request_.count, lanes, form.blockPerRank ? n : 1, chunk, align_};
      const Count block = blockOf(g) * request_.elementBytes;
      const Count vectors = isLL ? divideUp(block, 8) : divideUp(block, 4 * lineBytes) * 32;
      const Count threads = std::min<Count>(divideUp(vectors, 32) * 32, kBlockThreads);
      const Count bytes = request_.count * request_.elementBytes;
      const WindowWork work{.ranks = n,
                            .exchanges = form.exchanges,
                            .copiesOwn = form.copiesOwn,
                            .oneWay = isRooted(form.collective),
                            .linesOf128 = !isLL,
                            .lanes = lanes,
                            .threads = static_cast<int>(threads),
                            .packets = vectors,
                            .blockBytes = block,
                            .periods = divideUp(request_.count, g.period()),
                            .slotBytes = bytes,
                            .sentBytes = bytes * sentBlocks(form) / static_cast<Count>(g.blocks),
                            .foldedBytes = form.collective == Collective::ReduceScatter
                                               ? bytes * static_cast<Count>(n - 1)
                                               : 0,
                            .close = facts_.closeOf(lanes)};
      const Count cost = windowTime(work, costs_);
      take(DeviceChoice{form.algorithm, protocol, g, static_cast<int>(threads), found, cost});
    });
  }

  /// By a rank, in blocks, as if one after the other. What further ranks send to a root comes
  /// beside the first one's: reduces of 256 and 512 KiB took 3.8 and 5.7 us, where one peer's data
  /// take 2.4 and 3.8 (4 x H200, 2026-11-30).
  Count sentBlocks(const WindowForm& form) const {
    const auto peers = static_cast<Count>(facts_.ranks - 1);
    if (form.collective == Collective::Reduce) return (peers + 1) / 2;
    return static_cast<Count>(form.exchanges) * peers;
  }

  template <class Take>
  void rings(const RingForm& form, Take take) const {
    if (!allowed(Protocol::kSimple)) return;
    if (!served(form.algorithm, Protocol::kSimple)) return;
    const Kernel* const found = kernel(form.algorithm, Protocol::kSimple);
    const int hops = facts_.ranks - 1;
    const int blocks = form.blockPerRank ? facts_.ranks : 1;
    const Count most = kBlockSlices * kSliceBytes / request_.elementBytes / align_ * align_;
    lanes(kRingLaneCounts, facts_.ringLanes, [&](int lanes) {
      // Periods of equal length: a short one at the end would take as many hops as a long one.
      const Count cuts = static_cast<Count>(lanes * blocks);
      const Count periods = divideUp(request_.count, cuts * most);
      const Count even = divideUp(divideUp(request_.count, cuts * periods), align_) * align_;
      const Geometry g{request_.count, lanes, blocks, std::min(most, even), align_};
      // Slices of a period follow each other, and so do periods: hops cost once a call.
      const int passes = form.rounds > 0 ? hops * form.rounds : 1;
      const Count bytes = request_.count * request_.elementBytes;
      RingWork work{.ranks = facts_.ranks,
                    .lanes = lanes,
                    .pipeline = form.rounds == 0,
                    .hops = form.rounds == 0 ? hops : passes,
                    .sentBytes = bytes * static_cast<Count>(passes) / static_cast<Count>(blocks),
                    .keptBytes = form.rounds == 0 ? 0 : bytes / static_cast<Count>(blocks),
                    .foldedBytes = request_.collective == Collective::ReduceScatter
                                       ? std::min(bytes, g.period() * request_.elementBytes)
                                       : 0,
                    .close = facts_.closeOf(lanes)};
      work.straight = mayGoStraight(bytes / cuts) && straightIsQuicker(work, costs_);
      const Count cost = ringTime(work, costs_);
      take(DeviceChoice{form.algorithm, Protocol::kSimple, g, kRingThreads, found, cost, false, 0,
                        work.straight});
    });
  }

  /// Of a ring of which a lane has blocks of so many bytes. Which kernels can:
  /// instantiate_rings.cu.
  bool mayGoStraight(Count blockBytes) const {
    if (!facts_.straight || facts_.ranks < 2 || facts_.ranks > kMaxWindowRanks) return false;
    switch (request_.collective) {
      case Collective::AllReduce:
        return request_.reduces == Reduces::kHot && blockBytes >= kStraightSumFrom;
      case Collective::AllGather:
        return blockBytes >= kStraightRingFrom;
      case Collective::Broadcast:
        return blockBytes >= (facts_.ranks == 2 ? kStraightRingFrom : kStraightPipeFrom);
      default:
        return false;
    }
  }

  /// Elements of the longest block there is.
  static Count blockOf(const Geometry& g) {
    return g.fullPeriods() > 0 ? g.chunk : algo::lastPart(g, 0).block;
  }

  const DeviceRequest& request_;
  const DeviceFacts& facts_;
  const DeviceCosts& costs_;
  const TuneRule* rule_;
  const Count align_;
};

ExchangeWork allToAllWork(const DeviceRequest& request, const DeviceFacts& facts, int lanes) {
  ExchangeWork work(lanes, facts.closeLanes());
  for (int peer = 1; peer < facts.ranks; ++peer) {
    for (const bool sends : {false, true}) {
      work.add(peer, sends, request.count * request.elementBytes);
    }
  }
  return work;
}

/// An all-to-all without lines: LL moves every byte twice.
bool quickerByTransfers(const DeviceRequest& request, const DeviceFacts& facts,
                        const DeviceChoice& best) {
  if (request.collective != Collective::AllToAll) return false;
  if (best.algorithm == nullptr) return true;
  const int lanes = facts.lanesOfPair();
  if (facts.lineStores || lanes == 0) return false;
  return allToAllWork(request, facts, lanes).time(facts.costs, false) < best.picoseconds;
}

/// What a long all-to-all with lines takes if it goes straight; 0: no less than `best`. Between two
/// ranks windows are nearly as quick, and what no peer can map takes one and a half times as long
/// through slots; between four about as long (16 MiB to each, 4 x H200, 2026-11).
uint64_t timeStraight(const DeviceRequest& request, const DeviceFacts& facts,
                      const DeviceChoice& best) {
  if (request.collective != Collective::AllToAll || best.algorithm == nullptr) return 0;
  const int lanes = facts.lanesOfPair();
  if (!facts.lineStores || !facts.straight || lanes == 0 || facts.ranks < 3) return 0;
  if (request.count * request.elementBytes < kAsksFrom) return 0;
  const uint64_t time = allToAllWork(request, facts, lanes).straightTime(facts.costs);
  return time < best.picoseconds ? time : 0;
}

}  // namespace

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

bool hasDeviceKernel(const DeviceRequest& request, std::string_view algorithm, Protocol protocol,
                     int ranks) {
  const Collective collective = request.collective;
  if (isReduction(collective) != (request.reduces != Reduces::kNothing)) return false;
  if (isScan(collective) && request.reduces == Reduces::kScaled) return false;
  if (protocol == Protocol::kSimple) {
    return std::any_of(std::begin(kRingForms), std::end(kRingForms), [&](const RingForm& form) {
      return form.collective == collective && algorithm == form.algorithm;
    });
  }
  // Of the usual all-reduce there is a kernel for each number of ranks.
  const bool sum = collective == Collective::AllReduce && request.reduces != Reduces::kAll;
  const bool usual = sum && request.reduces == Reduces::kHot;
  if (usual && (ranks < 2 || ranks > kMaxWindowRanks)) return false;
  const bool isLL = protocol == Protocol::kLL;
  if (isLL && collective == Collective::AllReduce) return sum && algorithm == "oneshot";
  if (isLL && request.reduces != Reduces::kHot && isReduction(collective)) return false;
  return std::any_of(std::begin(kWindowForms), std::end(kWindowForms), [&](const WindowForm& form) {
    return form.collective == collective && algorithm == form.algorithm;
  });
}

DeviceChoice chooseDevice(const DeviceRequest& request, const DeviceFacts& facts,
                          const std::vector<TuneRule>& rules) {
  DeviceChoice best{};
  const auto take = [&best](const DeviceChoice& choice) {
    if (best.algorithm == nullptr || choice.picoseconds < best.picoseconds) best = choice;
  };
  const TuneRule* const rule = findRule(request, rules);
  Search(request, facts, rule).all(take);
  const bool obeyed = rule != nullptr && best.algorithm != nullptr;
  // A rule that asks for what cannot be had is a wish.
  if (best.algorithm == nullptr && rule != nullptr) Search(request, facts, nullptr).all(take);
  best.byTransfers = !obeyed && quickerByTransfers(request, facts, best);
  best.straight = obeyed ? 0 : timeStraight(request, facts, best);
  return best;
}

DeviceServed servedBy(Collective collective, const DeviceChoice& choice) {
  if (choice.algorithm == nullptr) return {};
  const Algorithm* const algorithm = findAlgorithm(collective, choice.algorithm);
  const DeviceWay way = choice.protocol == Protocol::kLL      ? DeviceWay::kLL
                        : choice.protocol == Protocol::kLL128 ? DeviceWay::kLL128
                                                              : DeviceWay::kSimple;
  return {way, algorithm == nullptr ? OpFacts::kNoAlgorithm
                                    : choiceOf(algorithm, choice.geometry.lanes)};
}

DeviceChoice chooseExchange(const DeviceRequest& request, const DeviceFacts& facts) {
  const bool gathers = request.collective == Collective::Gather;
  if (!gathers && request.collective != Collective::Scatter) return {};
  const int lanes = facts.lanesOfPair();
  if (!facts.lineStores || facts.ranks < 2 || lanes == 0) return {};
  const Count bytes = request.count * request.elementBytes;
  ExchangeWork root(lanes, facts.closeLanes());
  if (!gathers) root.cutTo(lanesOfScatter(lanes, facts.lanes, facts.ranks));
  for (int peer = 1; peer < facts.ranks; ++peer) root.add(peer, !gathers, bytes);
  const Count chunk = kPairLineData / request.elementBytes;
  const Geometry geometry{request.count, std::max(root.lanes(), 1), 1, chunk, 1};
  return {"direct",         Protocol::kLL128, geometry,
          kExchangeThreads, nullptr,          root.time(facts.costs, true)};
}

std::string explainDevice(const DeviceRequest& request, const DeviceFacts& facts,
                          const std::vector<TuneRule>& rules) {
  std::vector<DeviceChoice> best;
  Search(request, facts, nullptr).all([&](const DeviceChoice& choice) {
    for (DeviceChoice& other : best) {
      if (std::string_view(other.algorithm) != choice.algorithm ||
          other.protocol != choice.protocol) {
        continue;
      }
      if (choice.picoseconds < other.picoseconds) other = choice;
      return;
    }
    best.push_back(choice);
  });
  const DeviceChoice exchange = chooseExchange(request, facts);
  if (exchange.algorithm != nullptr) best.push_back(exchange);
  std::stable_sort(best.begin(), best.end(), [](const DeviceChoice& a, const DeviceChoice& b) {
    return a.picoseconds < b.picoseconds;
  });
  // What a rule has cut otherwise is no candidate of its own.
  const DeviceChoice chosen = chooseDevice(request, facts, rules);
  if (!rules.empty() && chosen.algorithm != nullptr) {
    std::erase_if(best, [&](const DeviceChoice& other) {
      return std::string_view(other.algorithm) == chosen.algorithm &&
             other.protocol == chosen.protocol;
    });
    best.insert(best.begin(), chosen);
  }
  std::string text =
      format("rondo: %s of %llu bytes on device memory\n", collectiveName(request.collective),
             static_cast<unsigned long long>(request.count * request.elementBytes));
  if (chosen.straight != 0) {
    text += format("rondo:   runs as sends and receives, predicted %.2f us (in place as below)\n",
                   static_cast<double>(chosen.straight) * 1e-6);
  }
  for (const DeviceChoice& choice : best) {
    const bool runs = &choice == best.data() && chosen.straight == 0;
    text += format("rondo:   %s %s %s, %d lane%s of %d threads, predicted %.2f us\n",
                   runs ? "runs" : "  or", choice.algorithm, protocolName(choice.protocol),
                   choice.geometry.lanes, choice.geometry.lanes == 1 ? "" : "s", choice.threads,
                   static_cast<double>(choice.picoseconds) * 1e-6);
  }
  return text;
}

}  // namespace rondo

#include "coll/levels_runner.h"

#include <cstdio>
#include <utility>

#include "api/types.h"
#include "base/error.h"
#include "coll/device_choices.h"
#include "coll/device_in_place.h"
#include "coll/device_request.h"
#include "coll/stream_memory.h"

namespace rondo {
namespace {

/// Slots of a buffer, one for each place.
struct Slices {
  const void* whole;  ///< Of the root.
  const void* own;    ///< Of any other rank: its slot alone.
};

class LevelsRunner final : public DeviceRunner {
 public:
  LevelsRunner(std::unique_ptr<DeviceRunner> near, std::unique_ptr<FarRunner> far,
               const LevelsLayout& layout, LevelsFacts facts, bool explain)
      : near_(std::move(near)),
        far_(std::move(far)),
        layout_(layout),
        sendsInside_(facts.exchanges),
        choice_(std::move(facts)),
        explain_(explain) {
    far_->checkRailsBy([near = near_.get()] { near->check(); });
  }

  int device() const override { return far_->device(); }
  DeviceServed run(const DeviceCall& call) override;
  void exchange(const char* name, std::span<const Transfer> transfers,
                std::span<const rondoStream_t> streams) override;
  void exchangeInPlace(const char* name, std::span<const Transfer> transfers,
                       rondoStream_t stream) override {
    runInPlace(name, transfers, layout_.rank, stream, *far_, [&](std::span<const Transfer> part) {
      exchange(name, part, {&stream, 1});
    });
  }
  void order(rondoStream_t first, rondoStream_t later) override { far_->order(first, later); }
  uint64_t serial() const override { return far_->serial(); }
  void check() const override {
    far_->check();
    near_->check();
  }
  /// On either level a kernel may wait for what the other one was to bring. First the rails: they
  /// must neither take what kernels leave that have ended, nor ask near_ and give that as a cause.
  void abort() noexcept override {
    far_->abort();
    near_->abort();
  }
  std::chrono::milliseconds takeLongWait() noexcept override { return near_->takeLongWait(); }
  bool captures(rondoStream_t stream) const override { return far_->captures(stream); }
  DeviceChoice choose(const DeviceRequest& request) const override { return far_->choose(request); }
  const LevelsFacts* levels() const override { return &choice_.facts(); }
  void startEpochsAt(uint32_t value) override {
    near_->startEpochsAt(value);
    far_->startEpochsAt(value);
  }
  void onFailure(const std::function<void(rondoResult_t)>& call) override { far_->onFailure(call); }
  std::string failure(rondoResult_t* code) const override { return far_->failure(code); }

 private:
  bool goesInLevels(const DeviceCall& call);
  void allReduce(const DeviceCall& call);
  void reduceScatter(const DeviceCall& call);
  void allGather(const DeviceCall& call);
  void broadcast(const DeviceCall& call);
  void reduce(const DeviceCall& call);
  void rest(const DeviceCall& call);
  void sort(std::span<const Transfer> transfers);
  void exchangeBoth(const char* name, std::span<const rondoStream_t> streams);
  void passOn(const DeviceCall& call, int root, bool fromRoot, const Slices& slices);
  uint64_t slotOf(const DeviceCall& call) const {
    return call.count / static_cast<uint64_t>(layout_.places);
  }

  const std::unique_ptr<DeviceRunner> near_;
  const std::unique_ptr<FarRunner> far_;  // ends first: its threads look at near_
  const LevelsLayout layout_;
  const bool sendsInside_;
  LevelsChoice choice_;
  DeviceChoices<bool> byLevels_;
  std::vector<Transfer> nearTransfers_, farTransfers_;  // of one launch
  const bool explain_;
};

/// nullptr stays: not every rank has both buffers.
const void* at(const void* buffer, uint64_t elements, rondoDataType_t type) {
  if (buffer == nullptr) return nullptr;
  return static_cast<const char*>(buffer) + elements * typeSize(type);
}
void* at(void* buffer, uint64_t elements, rondoDataType_t type) {
  return const_cast<void*>(at(static_cast<const void*>(buffer), elements, type));
}

/// A part of `call` as a collective of its own.
DeviceCall part(const DeviceCall& call, Collective collective, const void* send, void* recv,
                uint64_t count) {
  DeviceCall out = call;
  out.collective = collective;
  out.send = send;
  out.recv = recv;
  out.count = count;
  if (!isReduction(collective)) {
    out.op = rondoSum;
    out.scaled = nullptr;
  }
  return out;
}

/// The reduction inside the host: an average is divided once, between the hosts.
DeviceCall inside(const DeviceCall& call, const void* send, void* recv, uint64_t count) {
  DeviceCall out = part(call, Collective::ReduceScatter, send, recv, count);
  if (out.op == rondoAvg) out.op = rondoSum;
  return out;
}

/// What goes on between the hosts: each rank's scalar is in it already.
DeviceCall between(const DeviceCall& call, Collective collective, const void* send, void* recv,
                   uint64_t count) {
  DeviceCall out = part(call, collective, send, recv, count);
  if (out.scaled != nullptr) out.op = rondoSum;
  out.scaled = nullptr;
  return out;
}

bool LevelsRunner::goesInLevels(const DeviceCall& call) {
  const auto element = static_cast<uint32_t>(typeSize(call.type));
  const auto choose = [&](const DeviceRequest& wanted) {
    const LevelsForecast forecast =
        choice_.forecast(wanted.collective, wanted.count, wanted.elementBytes);
    if (explain_) {
      const uint64_t bytes = wanted.count * wanted.elementBytes;
      std::fputs(choice_.explain(wanted.collective, bytes, forecast).c_str(), stderr);
    }
    return forecast.byLevels;
  };
  // What kernels can reduce makes no difference.
  return byLevels_.find({call.collective, call.count, element, Reduces::kNothing}, choose);
}

DeviceServed LevelsRunner::run(const DeviceCall& call) {
  check();
  if (call.count == 0) return {};
  if (!goesInLevels(call)) return far_->run(call);
  checkDeviceCall(call, layout_.rank);  // near_ would tell of places and of parts of buffers
  switch (call.collective) {
    case Collective::AllReduce:
      allReduce(call);
      break;
    case Collective::ReduceScatter:
      reduceScatter(call);
      break;
    case Collective::AllGather:
      allGather(call);
      break;
    case Collective::Broadcast:
      broadcast(call);
      break;
    default:
      reduce(call);
  }
  return {DeviceWay::kLevels};
}

/// A slot for each place: reduced to it in the host, on its rail between the hosts, and from there
/// to all of the host. What is left, less than an element a place, goes among all ranks.
void LevelsRunner::allReduce(const DeviceCall& call) {
  const uint64_t slot = slotOf(call);
  void* const mine = at(call.recv, static_cast<uint64_t>(layout_.place) * slot, call.type);
  near_->run(inside(call, call.send, mine, slot));
  far_->runOnRail(between(call, Collective::AllReduce, mine, mine, slot), slot);
  near_->run(between(call, Collective::AllGather, mine, call.recv, slot));
  rest(call);
}

/// The slots of a rail's ranks, reduced in the host to the rank of that rail: side by side in
/// scratch in the order of the hosts, as the rail takes them.
void LevelsRunner::reduceScatter(const DeviceCall& call) {
  const auto hosts = static_cast<uint64_t>(layout_.hosts);
  const auto places = static_cast<uint64_t>(layout_.places);
  const StreamMemory sums(*far_, call, hosts * call.count * typeSize(call.type));
  if (layout_.order == LevelsOrder::ByPlace) {
    near_->run(inside(call, call.send, sums.get(), hosts * call.count));
  } else {
    for (uint64_t h = 0; h < hosts; ++h) {
      near_->run(inside(call, at(call.send, h * places * call.count, call.type),
                        at(sums.get(), h * call.count, call.type), call.count));
    }
  }
  far_->runOnRail(between(call, Collective::ReduceScatter, sums.get(), call.recv, call.count),
                  call.count);
}

/// First each rank has the slots of its rail, then those of the other rails from its neighbours.
void LevelsRunner::allGather(const DeviceCall& call) {
  const auto hosts = static_cast<uint64_t>(layout_.hosts);
  const auto places = static_cast<uint64_t>(layout_.places);
  const auto place = static_cast<uint64_t>(layout_.place);
  const auto gather = [&](uint64_t own, uint64_t all, uint64_t count) {
    near_->run(between(call, Collective::AllGather, at(call.recv, own, call.type),
                       at(call.recv, all, call.type), count));
  };
  const bool byPlace = layout_.order == LevelsOrder::ByPlace;
  const uint64_t first = byPlace ? place * hosts * call.count : place * call.count;
  far_->runOnRail(
      between(call, Collective::AllGather, call.send, at(call.recv, first, call.type), call.count),
      byPlace ? call.count : places * call.count);
  if (byPlace) return gather(first, 0, hosts * call.count);
  for (uint64_t h = 0; h < hosts; ++h) {
    gather((h * places + place) * call.count, h * places * call.count, call.count);
  }
}

/// A slot for each place: from the root to its neighbours, on every rail to the other hosts, and in
/// each host to all.
void LevelsRunner::broadcast(const DeviceCall& call) {
  const uint64_t slot = slotOf(call);
  const auto root = static_cast<size_t>(call.root);
  const int rootHost = layout_.hostOf[root], rootPlace = layout_.placeOf[root];
  const uint64_t first = static_cast<uint64_t>(layout_.place) * slot;
  void* const mine = at(call.recv, first, call.type);
  if (layout_.host == rootHost) passOn(call, rootPlace, true, {call.send, mine});
  const bool isRoot = layout_.host == rootHost && layout_.place == rootPlace;
  DeviceCall rail = between(call, Collective::Broadcast,
                            isRoot ? at(call.send, first, call.type) : mine, mine, slot);
  rail.root = rootHost;
  far_->runOnRail(rail, slot);
  near_->run(between(call, Collective::AllGather, mine, call.recv, slot));
  rest(call);
}

/// The other way round; only the root has memory for the result.
void LevelsRunner::reduce(const DeviceCall& call) {
  const uint64_t slot = slotOf(call);
  const auto root = static_cast<size_t>(call.root);
  const int rootHost = layout_.hostOf[root], rootPlace = layout_.placeOf[root];
  const bool isRoot = layout_.host == rootHost && layout_.place == rootPlace;
  const StreamMemory sums(*far_, call, slot * typeSize(call.type));
  near_->run(inside(call, call.send, sums.get(), slot));
  void* const into =
      isRoot ? at(call.recv, static_cast<uint64_t>(rootPlace) * slot, call.type) : sums.get();
  DeviceCall rail = between(call, Collective::Reduce, sums.get(), into, slot);
  rail.root = rootHost;
  far_->runOnRail(rail, slot);
  if (layout_.host == rootHost) passOn(call, rootPlace, false, {call.recv, sums.get()});
  rest(call);
}

/// Inside the root's host: each other rank's slot, from the root or to it.
void LevelsRunner::passOn(const DeviceCall& call, int root, bool fromRoot, const Slices& slices) {
  const uint64_t bytes = slotOf(call) * typeSize(call.type);
  const auto transfer = [&](int peer, bool sends, const void* buffer, int slot) {
    char* const data = static_cast<char*>(const_cast<void*>(buffer));
    return Transfer{peer, sends, data + static_cast<uint64_t>(slot) * bytes, bytes};
  };
  nearTransfers_.clear();
  if (layout_.place != root) {
    nearTransfers_.push_back(transfer(root, !fromRoot, slices.own, 0));
  } else {
    for (int p = 0; p < layout_.places; ++p) {
      if (p != root) nearTransfers_.push_back(transfer(p, fromRoot, slices.whole, p));
    }
  }
  near_->passOn(call.name, nearTransfers_, call.stream);
}

/// Which way a transfer goes is a matter of its peer alone, so that both ranks take the same.
void LevelsRunner::sort(std::span<const Transfer> transfers) {
  nearTransfers_.clear();
  farTransfers_.clear();
  bool meetsNear = false;
  for (const Transfer& each : transfers) {
    if (each.bytes == 0) continue;
    const auto peer = static_cast<size_t>(each.peer);
    const bool isNear = sendsInside_ && layout_.hostOf[peer] == layout_.host;
    if (!isNear) {
      farTransfers_.push_back(each);
      continue;
    }
    nearTransfers_.push_back(each);
    nearTransfers_.back().peer = layout_.placeOf[peer];
    meetsNear = meetsNear || each.peer != layout_.rank;
  }
  if (meetsNear) return;
  // Only to this rank itself, if anything: no reason for a second launch.
  for (Transfer& own : nearTransfers_) {
    own.peer = layout_.rank;
    farTransfers_.push_back(own);
  }
  nearTransfers_.clear();
}

void LevelsRunner::exchange(const char* name, std::span<const Transfer> transfers,
                            std::span<const rondoStream_t> streams) {
  check();
  sort(transfers);
  if (nearTransfers_.empty()) return far_->exchange(name, farTransfers_, streams);
  if (farTransfers_.empty()) return near_->exchange(name, nearTransfers_, streams);
  exchangeBoth(name, streams);
}

/// Two launches at once. One after the other they could wait in a circle: a neighbour may send only
/// after what reaches it, by way of other hosts, from the second of them.
void LevelsRunner::exchangeBoth(const char* name, std::span<const rondoStream_t> streams) {
  const rondoStream_t stream = streams[0];
  for (const rondoStream_t other : streams.subspan(1)) {
    // One that is not captured yet joins the capture behind the launches.
    if (!captures(stream) || captures(other)) order(other, stream);
  }
  far_->beside(
      name, stream,
      [&](rondoStream_t branch) {
        far_->exchange(name, farTransfers_, {&branch, 1});
      },
      [&] {
        near_->exchange(name, nearTransfers_, {&stream, 1});
      });
  for (const rondoStream_t other : streams.subspan(1)) order(stream, other);
}

/// Less than an element for each place.
void LevelsRunner::rest(const DeviceCall& call) {
  const uint64_t from = slotOf(call) * static_cast<uint64_t>(layout_.places);
  if (from == call.count) return;
  far_->run(part(call, call.collective, at(call.send, from, call.type),
                 at(call.recv, from, call.type), call.count - from));
}

}  // namespace

std::unique_ptr<DeviceRunner> createLevelsRunner(std::unique_ptr<DeviceRunner> near,
                                                 std::unique_ptr<FarRunner> far,
                                                 const LevelsLayout& layout, const NearTimes& times,
                                                 const DeviceConfig& config) {
  LevelsFacts facts{layout.hosts, layout.places, layout.order, far->lanes(),
                    far->facts(), config.costs,  times,        config.tune};
  facts.exchanges = layout.places <= kMaxPairRanks;
  const bool explain = config.explain && layout.host == 0 && layout.place == 0;
  return std::make_unique<LevelsRunner>(std::move(near), std::move(far), layout, std::move(facts),
                                        explain);
}

}  // namespace rondo

#pragma once
// Ranks as threads on hosts of their own, with devices that are pretended.

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/device_group.h"
#include "api/group.h"
#include "api/handle.h"
#include "coll/flight_view.h"
#include "coll/levels_layout.h"
#include "support/pretended_device.h"
#include "support/pretended_near.h"
#include "support/world.h"

namespace rondo::testing {

using Ints = std::vector<int32_t>;

/// Where a communicator's ranks sit in hosts.
struct NearPlaces {
  std::deque<PretendedHost>* hosts;
  LevelsLayout layout;
};

struct FarRank {
  rondoComm_t comm;
  int rank, size;
  PretendedStream &stream, &other;
  std::barrier<>& barrier;
  PretendedHost* host;  ///< This rank's, if there are pretended runners inside hosts.
  /// Of the communicator that is made next.
  NearPlaces* nearPlaces = nullptr;

  rondoResult_t collective(Collective collective, const Ints& in, int32_t* out, size_t count,
                           int root = 0, rondoRedOp_t op = rondoSum,
                           const ScaledOp* scaled = nullptr) const {
    return runOnDevice(comm, DeviceCall{"rondoTest", collective, in.data(), out, count, rondoInt32,
                                        op, root, stream.handle(), scaled});
  }
  rondoResult_t transfer(std::initializer_list<Transfer> transfers) const {
    return runOnDevice(comm, {"rondoTest", {transfers.begin(), transfers.size()}, stream.handle()});
  }
  void good(rondoResult_t result) const {
    ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(comm);
  }
};

inline Transfer transferOf(int peer, bool sends, int32_t* data, size_t count) {
  return {peer, sends, reinterpret_cast<char*>(data), count * sizeof *data};
}

struct FarWorld {
  int without = -1;          ///< This rank has no device.
  bool near = false;         ///< Hosts have runners of their own.
  int withoutNear = -1;      ///< But for this rank.
  const char* tune = "";     ///< RONDO_TUNE
  uint64_t nearCost = 1000;  ///< Picoseconds a KiB that their runners predict.
  bool reproducible = false;
  ZeroCopyUse zeroCopy = ZeroCopyUse::Auto;
  int lanes = 2;  ///< Chunks that move at once.
  int blocks = PretendedDevice::kBlocks;
  uint64_t callsBefore = 0;             ///< Config::callsBefore
  std::atomic<int>* arrived = nullptr;  ///< Pieces that the network wrote into device memory.
  std::vector<int> deviceOf = {};       ///< By rank; empty: each has its own.
  std::vector<DeviceSharers>* sharers = nullptr;  ///< By rank: what their devices were told.
  /// By rank: kernels inside the host have given up.
  std::deque<std::atomic<bool>>* broken = nullptr;
};

/// All that can go in levels does.
inline constexpr const char* kAllLevels =
    "allreduce:device:0-:stripes,reducescatter:device:0-:hier,allgather:device:0-:hier,"
    "broadcast:device:0-:hier,reduce:device:0-:hier";
inline const FarWorld kLevels{.near = true, .tune = kAllLevels};

/// One for each that `hostOf` names.
inline void pretendHosts(const std::vector<int>& hostOf, uint64_t nearCost,
                         std::deque<PretendedHost>* hosts) {
  const int count = LevelsLayout::of(hostOf, 0).hosts;
  for (int h = 0; h < count; ++h) {
    hosts->emplace_back(static_cast<int>(std::count(hostOf.begin(), hostOf.end(), h)));
    hosts->back().picosecondsPerKiB = nearCost;
  }
}

/// body(rank) on ranks of which rank r is on host hostOf[r].
inline void onHosts(const std::vector<int>& hostOf, const std::function<void(const FarRank&)>& body,
                    const FarWorld& world = {}) {
  const int n = static_cast<int>(hostOf.size());
  ThreadGroup group(n);
  std::barrier<> barrier(n);
  std::deque<PretendedHost> hosts;
  pretendHosts(hostOf, world.nearCost, &hosts);
  onRanks(n, [&](int r) {
    ThreadBootstrap boot(group, r);
    const auto at = static_cast<size_t>(r);
    PretendedHost& host = hosts[static_cast<size_t>(hostOf[at])];
    NearPlaces places{&hosts, LevelsLayout::of(hostOf, r)};
    Config config = checkConfig("onHosts", nullptr);
    config.options.hostId = "host" + std::to_string(hostOf[at]);
    config.options.tune = world.tune;
    config.options.reproducible = world.reproducible;
    config.options.zeroCopy = world.zeroCopy;
    config.farLanes = world.lanes;
    config.callsBefore = world.callsBefore;
    config.farDevice = [&world, at](int rank) -> std::unique_ptr<FarDevice> {
      if (rank == world.without) throw Error(rondoUnsupported, "it was sold");
      auto device = std::make_unique<PretendedDevice>(world.arrived, world.blocks);
      device->is(world.deviceOf.empty() ? rank : world.deviceOf[at],
                 world.sharers == nullptr ? nullptr : &(*world.sharers)[at]);
      return device;
    };
    if (world.near) {
      config.nearDevice = [&](int rank) -> std::unique_ptr<DeviceRunner> {
        if (rank == world.withoutNear) return nullptr;
        const std::atomic<bool>* const broken =
            world.broken != nullptr ? &(*world.broken)[static_cast<size_t>(rank)] : nullptr;
        const LevelsLayout& layout = places.layout;
        PretendedHost& here = (*places.hosts)[static_cast<size_t>(layout.host)];
        return std::make_unique<PretendedNear>(here, layout.place, broken);
      };
    }
    PretendedStream stream, other;
    CommPtr comm;
    ASSERT_EQ(guarded(nullptr, "onHosts", [&] { comm = createComm(boot, config, {}); }),
              rondoSuccess)
        << rondoGetLastError(nullptr);
    body({comm.get(), r, n, stream, other, barrier, world.near ? &host : nullptr, &places});
    comm.reset();
  });
}

/// Kernels so far that meet others, on all ranks of this host.
inline int launches(const FarRank& me, Collective collective) {
  me.barrier.arrive_and_wait();
  const int all = me.host->launches(collective);
  me.barrier.arrive_and_wait();
  return all;
}

inline int32_t element(int rank, size_t i) { return rank * 1000003 + static_cast<int32_t>(i) * 7; }
inline int32_t sumOf(int ranks, size_t i) {
  int32_t sum = 0;
  for (int r = 0; r < ranks; ++r) sum += element(r, i);
  return sum;
}
inline Ints dataOf(int rank, size_t count) {
  Ints data(count);
  for (size_t i = 0; i < count; ++i) data[i] = element(rank, i);
  return data;
}
/// How many of out[0, count) are not value(i).
template <class Value>
size_t wrong(const int32_t* out, size_t count, const Value& value) {
  size_t bad = 0;
  for (size_t i = 0; i < count; ++i) bad += out[i] != value(i) ? 1 : 0;
  return bad;
}

/// Of three ranks: the transfers of a group do not wait for each other. What rank 0 hears last
/// comes only after the last of what it sends.
inline void expectQueuesOfTheirOwn(const FarRank& me, size_t count) {
  Ints a = dataOf(me.rank, count), b(count, -1), c(count, -1);
  if (me.rank == 0) {
    me.good(
        me.transfer({transferOf(2, false, b.data(), count), transferOf(1, true, a.data(), count),
                     transferOf(1, true, a.data(), count)}));
  } else if (me.rank == 1) {
    me.good(me.transfer({transferOf(0, false, b.data(), count)}));
    me.good(me.transfer({transferOf(0, false, c.data(), count)}));
    me.good(me.transfer({transferOf(2, true, a.data(), 5)}));
  } else {
    me.good(me.transfer({transferOf(1, false, c.data(), 5)}));
    me.good(me.transfer({transferOf(0, true, a.data(), count)}));
  }
  me.stream.synchronize();
  if (me.rank == 2) return;
  EXPECT_EQ(wrong(b.data(), count, [&](size_t i) { return element(2 - 2 * me.rank, i); }), 0u);
  if (me.rank == 0) return;
  EXPECT_EQ(wrong(c.data(), count, [](size_t i) { return element(0, i); }), 0u);
}

/// What the flight record says of the one call on device memory that the rank has made.
inline void expectServed(const FarRank& me, const std::string& served) {
  me.stream.synchronize();
  bool found = false;
  const std::vector<FlightProcess> all = readNearFlights();
  for (const FlightComm& comm : all.front().comms) {
    if (comm.id != me.comm->impl->recorder().id() || comm.rank != me.rank) continue;
    found = true;
    ASSERT_EQ(comm.device.size(), 1u);
    EXPECT_EQ(comm.device[0].facts.served(), served);
  }
  EXPECT_TRUE(found);
}

/// After a failure: streams end, and the next call of every rank says why, in these words.
inline void expectBroken(const FarRank& me, rondoResult_t code, const std::string& words) {
  me.stream.synchronize();
  const Ints in(10);
  Ints out(10);
  rondoResult_t result = rondoSuccess;
  while (result == rondoSuccess) {  // what one rank knows, others hear a little later
    result = me.collective(Collective::AllReduce, in, out.data(), 10);
    me.stream.synchronize();
  }
  EXPECT_EQ(result, code);
  const std::string why = rondoGetLastError(me.comm);
  EXPECT_NE(why.find(words), std::string::npos) << why;
  rondoResult_t state = rondoSuccess;
  while (state == rondoSuccess) {
    ASSERT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
  }
  EXPECT_EQ(state, code);
  me.barrier.arrive_and_wait();  // nobody leaves who might be asked
}

}  // namespace rondo::testing

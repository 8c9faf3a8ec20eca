// What grows with the number of ranks, and what must not: ranks as threads, each or a few on a host
// of their own. tests/many_hosts.sh measures the same of processes.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "api/handle.h"
#include "coll/call_log.h"
#include "coll/far_calls.h"
#include "coll/flight_recorder.h"
#include "p2p/trace_ports.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// Rank r of `ranks` is on host r / each.
std::vector<int> hostsOf(int ranks, int each) {
  std::vector<int> out(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; ++r) out[static_cast<size_t>(r)] = r / each;
  return out;
}

void good(rondoResult_t result) { ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr); }

void sum(const Rank& me, size_t count) {
  const std::vector<int32_t> in(count, 1);
  std::vector<int32_t> out(count);
  good(rondoAllReduce(in.data(), out.data(), count, rondoInt32, rondoSum, me.comm, nullptr));
  EXPECT_EQ(out.back(), me.size);
}

size_t heapInUse() {
  const struct mallinfo2 memory = mallinfo2();
  return memory.uordblks + memory.hblkhd;
}

/// Bytes of the heap that a communicator of `ranks` hosts has at each rank for each other one.
size_t bytesPerPair(int ranks) {
  const size_t before = heapInUse();
  size_t after = 0;
  std::barrier<> all(ranks);
  World(ranks).hosts(hostsOf(ranks, 1)).run([&](const Rank& me) {
    all.arrive_and_wait();
    if (me.rank == 0) after = heapInUse();
    all.arrive_and_wait();
  });
  return (after - std::min(before, after)) / static_cast<size_t>(ranks * (ranks - 1));
}

/// A rank has something for every other one; what it has for those that it never speaks to is what
/// 512 ranks are made of: 2,760 bytes of the heap. When arrivals, records and boards were there
/// from the start a copy of a communicator had 33,800 resident (many_hosts.sh 64 64 4, 2026-11-25).
TEST(ManyRanks, ARankTakesLittleForOneThatItNeverSpeaksTo) {
  bytesPerPair(4);  // what a process has once
  const size_t bytes = bytesPerPair(48);
  RecordProperty("bytesPerPair", std::to_string(bytes));
  EXPECT_LT(bytes, 4500u);
}

/// A lease is a part of a pool of 16 MiB, of which communicators on device memory take thirteen.
TEST(ManyRanks, ALeaseDoesNotGrowWithRanksOfOtherHosts) {
  const Env pool("RONDO_POOL_BYTES", "256K");  // so that staging is as little as it gets
  const auto leaseOf = [](int hosts) {
    const uint64_t before = Segment::own().poolUsed();
    uint64_t after = 0;
    World(2 * hosts).hosts(hostsOf(2 * hosts, 2)).run([&](const Rank& me) {
      good(rondoBarrier(me.comm, nullptr));
      if (me.rank == 0) after = Segment::own().poolUsed();
      good(rondoBarrier(me.comm, nullptr));
    });
    return (after - before) / static_cast<uint64_t>(2 * hosts);
  };
  EXPECT_EQ(leaseOf(16), leaseOf(2));
}

/// Messages of the busiest rank while each makes a copy of its communicator.
size_t messagesOfACopy(int ranks) {
  const auto log = std::make_shared<MessageLog>();
  std::vector<size_t> sent(static_cast<size_t>(ranks));
  World world(ranks);
  world.hosts(hostsOf(ranks, 1)).decorate([&log](Channels& channels, int rank) {
    tracePorts(channels, rank, log);
  });
  world.run([&](const Rank& me) {
    good(rondoBarrier(me.comm, nullptr));
    if (me.rank == 0) log->take();
    good(rondoBarrier(me.comm, nullptr));
    rondoComm_t copy = nullptr;
    good(rondoCommDup(me.comm, &copy, nullptr));
    good(rondoCommDestroy(copy));
    good(rondoBarrier(me.comm, nullptr));
    if (me.rank != 0) return;
    for (const TracedMessage& each : log->take()) {
      if (each.port.sends) ++sent[static_cast<size_t>(each.port.rank)];
    }
  });
  return *std::max_element(sent.begin(), sent.end());
}

/// A gathering among ranks that have a communicator takes each log n messages, and not n: 100 and
/// 128 here, 354 and 724 when all sent to all.
TEST(ManyRanks, ACopyTakesFewMessages) {
  const size_t few = messagesOfACopy(16), many = messagesOfACopy(32);
  RecordProperty("messages", std::to_string(few) + " and " + std::to_string(many));
  EXPECT_LE(many, few * 5 / 4 + 4);
}

/// A network on which only calls are told, and counted.
class CountsTells final : public FarTransport {
 public:
  explicit CountsTells(std::vector<int>* told) : told_(*told) {}
  std::unique_ptr<SendPort> sendTo(int, int, const uint32_t*) override { return nullptr; }
  std::unique_ptr<SendPort> sendToAll(int, const uint32_t*) override { return nullptr; }
  std::unique_ptr<RecvPort> recvFrom(int, int, bool) override { return nullptr; }
  void progress() override {}
  void abort(uint32_t, uint32_t, std::string_view) override {}
  void tell(int rank, std::span<const ToldCall>) override { told_.push_back(rank); }
  void share(const FarNews&, int) override {}
  std::string linkText(int) const override { return ""; }

 private:
  std::vector<int>& told_;
};

/// A wait of some milliseconds, which a rank that computes a little longer makes of all others', is
/// no reason to tell all ranks of other hosts what one is at: some, each once, however long it is.
TEST(ManyRanks, AWaitTellsFew) {
  constexpr int kRanks = 512, kMe = 300;
  ThreadGroup group(1);
  ThreadBootstrap boot(group, 0);
  constexpr uint64_t kPool = 16u << 20;
  std::vector<Fabric::Member> members;
  for (int r = 0; r < kRanks; ++r) members.push_back({"host", 1, r});
  std::swap(members[0], members[kMe]);
  std::vector<int> told;
  Fabric fabric(kMe, {kMe},
                ShmTransport::create(boot, nullptr, {0}, {kPool, kPool, ShmLayout::kLeastArea}),
                members);
  fabric.join(std::make_unique<CountsTells>(&told));
  const RankPlace place{kMe, kRanks, 0, 1};
  FlightRecorder recorder({1, "many", place, {}, 0});
  CallLog log(&fabric, place, &recorder);
  HostRequest request{};
  request.key = {10, rondoInt32, rondoSum, 0, Collective::AllReduce};
  std::set<int> all;
  log.announce(request, 1, OpOrigin::Call, 0);
  for (int wait = 0; wait < 100; ++wait) {
    told.clear();
    EXPECT_FALSE(log.someoneElsewhere(true));
    EXPECT_LE(told.size(), static_cast<size_t>(CallLog::kMostToldAtOnce));
    for (const int rank : told) EXPECT_TRUE(all.insert(rank).second) << rank;
    if (wait == 0) {
      EXPECT_EQ(told.front(), 384);  // the first behind this one
    }
  }
  EXPECT_EQ(all.size(), 17u);  // 1, 2, 4, ... 256 further on, as far back
}

/// What a wait looks at, and how often: not all ranks' names with each of them.
TEST(ManyRanks, WhatOthersWaitInIsReadWithoutAllNames) {
  World(8).hosts(hostsOf(8, 2)).run([](const Rank& me) {
    sum(me, 10);
    const uint64_t id = me.comm->impl->recorder().id();
    size_t far = 0;
    for (const FlightProcess& process : FarCalls::one().read()) {
      for (const FlightComm& comm : process.comms) {
        if (comm.id != id) continue;
        ++far;
        EXPECT_TRUE(comm.members.empty());
      }
    }
    EXPECT_GT(far, 0u);
    good(rondoBarrier(me.comm, nullptr));
  });
}

}  // namespace
}  // namespace rondo::testing

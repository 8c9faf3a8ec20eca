// What a group launches on a device, and in which order: a runner that only writes down what it is
// asked for.

#include "api/device_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api/device_uneven.h"
#include "api/group.h"
#include "api/handle.h"
#include "coll/device_runner.h"
#include "coll/flight_view.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

rondoStream_t streamOf(int number) {
  return reinterpret_cast<rondoStream_t>(static_cast<uintptr_t>(number) * 64);
}
int numberOf(rondoStream_t stream) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(stream) / 64);
}

constexpr int kRefused = 13;  // a stream that the runner refuses

/// Joins all neighbours; "run allreduce 8 on 1", "joint 2 on 1", "exchange 3 on 1 2", "order 1 2".
class NotingRunner final : public DeviceRunner {
 public:
  NotingRunner(std::vector<std::string>* notes, const std::set<int>* captured)
      : notes_(*notes), captured_(*captured) {}

  int device() const override { return 0; }
  DeviceServed run(const DeviceCall& call) override {
    if (numberOf(call.stream) == kRefused) throw Error(rondoInvalidArgument, "refused");
    note(format("run %s %zu on %d", call.name, call.count, numberOf(call.stream)));
    return {};
  }
  size_t joins(std::span<const DeviceCall> calls) override {
    return calls.size() > 1 ? calls.size() : 0;
  }
  DeviceServed runJoint(std::span<const DeviceCall> calls) override {
    if (numberOf(calls.front().stream) == kRefused) throw Error(rondoInvalidArgument, "refused");
    note(format("joint %zu on %d", calls.size(), numberOf(calls.front().stream)));
    return {DeviceWay::kLL};
  }
  void exchange(const char* name, std::span<const Transfer> transfers,
                std::span<const rondoStream_t> streams) override {
    note(format("exchange %s %zu on %d", name, transfers.size(), numberOf(streams.front())));
  }
  void exchangeInPlace(const char* name, std::span<const Transfer> transfers,
                       rondoStream_t stream) override {
    note(format("in place %s %zu on %d", name, transfers.size(), numberOf(stream)));
  }
  void order(rondoStream_t first, rondoStream_t later) override {
    note(format("order %d %d", numberOf(first), numberOf(later)));
  }
  uint64_t serial() const override { return 1; }
  void check() const override {}
  void abort() noexcept override {}
  bool captures(rondoStream_t stream) const override {
    return captured_.count(numberOf(stream)) > 0;
  }
  DeviceChoice choose(const DeviceRequest&) const override { return {}; }
  void startEpochsAt(uint32_t) override {}

 private:
  void note(std::string text) { notes_.push_back(std::move(text)); }
  std::vector<std::string>& notes_;
  const std::set<int>& captured_;
};

/// A rank whose device only writes down; `captured`: streams in a capture.
struct NotingRank {
  rondoComm_t comm;
  int rank;
  std::vector<std::string>& notes;
  std::set<int>& captured;
  int32_t* data;

  rondoResult_t sum(size_t count, int stream) const {
    return runOnDevice(comm, DeviceCall{"sum", Collective::AllReduce, data, data, count, rondoInt32,
                                        rondoSum, 0, streamOf(stream)});
  }
  rondoResult_t gather(std::vector<uint64_t> counts, int stream) const {
    UnevenBlocks all;
    for (const uint64_t count : counts) {
      all.counts.push_back(count);
      all.displs.push_back(all.total);
      all.total += count;
    }
    return runOnDevice(comm, UnevenDeviceCall{"gather", Collective::Gather, data, data, rondoInt32,
                                              rondoSum, 0, streamOf(stream), all, all});
  }
};

void onNotingRanks(int ranks, const std::function<void(const NotingRank&)>& body) {
  ThreadGroup group(ranks);
  onRanks(ranks, [&](int r) {
    ThreadBootstrap boot(group, r);
    std::vector<std::string> notes;
    std::set<int> captured;
    std::vector<int32_t> data(1000);
    Config config = checkConfig("onNotingRanks", nullptr);
    config.nearDevice = [&](int) { return std::make_unique<NotingRunner>(&notes, &captured); };
    CommPtr comm;
    ASSERT_EQ(guarded(nullptr, "onNotingRanks", [&] { comm = createComm(boot, config, {}); }),
              rondoSuccess)
        << rondoGetLastError(nullptr);
    body({comm.get(), r, notes, captured, data.data()});
    comm.reset();
  });
}

using Notes = std::vector<std::string>;

TEST(DeviceGroup, NeighboursJoin) {
  onNotingRanks(1, [](const NotingRank& me) {
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(me.sum(8, 1), rondoSuccess);
    EXPECT_EQ(me.sum(9, 1), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    EXPECT_EQ(me.notes, Notes{"joint 2 on 1"});
  });
}

/// A rank that is refused a call, and makes it rightly then, is where its peers are.
TEST(DeviceGroup, WhatIsRefusedIsNotCounted) {
  onNotingRanks(1, [](const NotingRank& me) {
    const auto ops = [&me] {
      for (const FlightProcess& process : readNearFlights()) {
        for (const FlightComm& each : process.comms) {
          if (each.id == me.comm->impl->recorder().id()) return each.device;
        }
      }
      return std::vector<FlightOp>{};
    };
    EXPECT_EQ(me.sum(8, kRefused), rondoInvalidArgument);
    EXPECT_EQ(me.sum(9, 1), rondoSuccess);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(me.sum(8, kRefused), rondoSuccess);
    EXPECT_EQ(me.sum(9, kRefused), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
    EXPECT_EQ(me.sum(10, 1), rondoSuccess);
    std::vector<uint64_t> numbers;
    for (const FlightOp& op : ops()) numbers.push_back(op.facts.sequence);
    EXPECT_EQ(numbers, (std::vector<uint64_t>{0, 1, 0, 0, 2}));
  });
}

/// Each of them was launched, and how, as the flight record has it.
TEST(DeviceGroup, WhatIsJoinedIsRecordedCallByCall) {
  onNotingRanks(1, [](const NotingRank& me) {
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    for (const size_t count : {8u, 9u, 10u}) EXPECT_EQ(me.sum(count, 1), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    const std::vector<FlightProcess> all = readNearFlights();
    const auto& comms = all.front().comms;
    const auto mine = std::find_if(comms.begin(), comms.end(), [&](const FlightComm& each) {
      return each.id == me.comm->impl->recorder().id();
    });
    ASSERT_NE(mine, comms.end());
    ASSERT_EQ(mine->device.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const FlightOp& op = mine->device[i];
      EXPECT_FALSE(op.running()) << i;
      EXPECT_EQ(op.facts.count, 8 + i);
      EXPECT_EQ(op.facts.sequence, 1 + i);
      EXPECT_EQ(op.facts.wayText(), "LL") << i;
    }
  });
}

// What stands between them keeps neighbours apart on all ranks, or some would wait for a launch of
// another form.
TEST(DeviceGroup, WhatKeepsNeighboursApartDoesSoOnRanksWithoutAPartInIt) {
  onNotingRanks(3, [](const NotingRank& me) {
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(me.sum(8, 1), rondoSuccess);
    // The one without a part has no buffer, and is known by its stream.
    EXPECT_EQ(me.rank < 2 ? me.gather({4, 4, 0}, 2)
                          : rondoGatherV(nullptr, 0, nullptr, nullptr, nullptr, rondoInt32, 0,
                                         me.comm, streamOf(2)),
              rondoSuccess);
    EXPECT_EQ(me.sum(9, 1), rondoSuccess);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
    const Notes root{"run sum 8 on 1", "order 1 2", "exchange gather 3 on 2", "order 2 1",
                     "run sum 9 on 1"};
    const Notes giver{"run sum 8 on 1", "order 1 2", "exchange gather 1 on 2", "order 2 1",
                      "run sum 9 on 1"};
    const Notes idle{"run sum 8 on 1", "run sum 9 on 1"};
    EXPECT_EQ(me.notes, me.rank == 0 ? root : me.rank == 1 ? giver : idle) << me.rank;
  });
}

// Behind sends and receives of the same group on another stream: what may be some itself shares
// their slots and waits for them, a sum does not, unless it is to join their capture.
TEST(DeviceGroup, WhatMayBeTransfersWaitsForThoseOfItsGroup) {
  onNotingRanks(2, [](const NotingRank& me) {
    const auto swapAnd = [&](Collective collective) {
      me.notes.clear();
      ASSERT_EQ(rondoGroupStart(), rondoSuccess);
      const int peer = 1 - me.rank;
      const Transfer both[] = {{peer, true, reinterpret_cast<char*>(me.data), 16},
                               {peer, false, reinterpret_cast<char*>(me.data + 8), 16}};
      EXPECT_EQ(runOnDevice(me.comm, TransferCall{"rondoSendRecv", both, streamOf(1)}),
                rondoSuccess);
      EXPECT_EQ(runOnDevice(me.comm, DeviceCall{"next", collective, me.data + 16, me.data + 32, 4,
                                                rondoInt32, rondoSum, 0, streamOf(2)}),
                rondoSuccess);
      ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(me.comm);
    };
    const Notes ordered{"exchange rondoSendRecv 2 on 1", "order 1 2", "run next 4 on 2"};
    const Notes apart{"exchange rondoSendRecv 2 on 1", "run next 4 on 2"};
    swapAnd(Collective::AllToAll);
    EXPECT_EQ(me.notes, ordered);
    swapAnd(Collective::AllReduce);
    EXPECT_EQ(me.notes, apart);
    me.captured = {1};
    swapAnd(Collective::AllReduce);
    EXPECT_EQ(me.notes, ordered);
  });
}

TEST(DeviceGroup, NothingIsLaunchedForARankWithoutAPart) {
  onNotingRanks(3, [](const NotingRank& me) {
    EXPECT_EQ(me.gather({4, 4, 0}, 2), rondoSuccess);
    EXPECT_EQ(me.notes.size(), me.rank == 2 ? 0u : 1u);
  });
}

TEST(DeviceGroup, AStreamThatIsNotCapturedCannotComeBeforeOneThatIs) {
  onNotingRanks(1, [](const NotingRank& me) {
    me.captured = {2};
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(me.sum(8, 1), rondoSuccess);
    EXPECT_EQ(me.sum(9, 2), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    EXPECT_EQ(me.notes, Notes{});
    const std::string said = rondoGetLastError(me.comm);
    EXPECT_NE(said.find("rondoGroupEnd: rank 0: stream 0x80 is captured, and stream 0x40"),
              std::string::npos)
        << said;
    me.captured = {1};
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    EXPECT_EQ(me.sum(8, 1), rondoSuccess);
    EXPECT_EQ(me.gather({4}, 2), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(me.comm);
  });
}

}  // namespace
}  // namespace rondo::testing

// rondoGroupPredict on communicators that are there: what it says is what is chosen by, and nothing
// runs. Virtual ones are in virtual_comm_test.cc, hosts in levels_device_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/device_group.h"
#include "api/handle.h"
#include "coll/device_forecast.h"
#include "coll/device_joint.h"
#include "coll/device_request.h"
#include "coll/planner.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr uint64_t kUnset = 77;

void expectPredicted(rondoComm_t comm, rondoResult_t code, const std::string& part) {
  uint64_t time = kUnset;
  EXPECT_EQ(rondoGroupPredict(&time), code);
  EXPECT_NE(std::string(rondoGetLastError(comm)).find(part), std::string::npos)
      << rondoGetLastError(comm);
  EXPECT_EQ(time, kUnset);
}

uint64_t predicted() {
  uint64_t time = kUnset;
  EXPECT_EQ(rondoGroupPredict(&time), rondoSuccess) << rondoGetLastError(nullptr);
  return time;
}

/// Of an all-reduce of floats on host memory, as the planner ranks it.
uint64_t chosenBy(rondoComm_t comm, size_t count) {
  return rankCandidates({Collective::AllReduce, count, 4, 0}, comm->impl->facts(), {})
      .front()
      .picoseconds;
}

TEST(GroupPredict, HostCallsTakeWhatTheyAreChosenBy) {
  World(3).run([](const Rank& me) {
    constexpr size_t kLong = 100'000;
    std::vector<float> in(kLong, 1.0f), out(kLong, -1.0f);
    const auto sums = [&](int calls, size_t count) {
      rondoGroupStart();
      for (int i = 0; i < calls; ++i) {
        EXPECT_EQ(rondoAllReduce(in.data(), out.data() + static_cast<size_t>(i) * count, count,
                                 rondoFloat32, rondoSum, me.comm, nullptr),
                  rondoSuccess);
      }
    };
    sums(1, kLong);
    EXPECT_EQ(predicted(), chosenBy(me.comm, kLong));
    sums(2, kLong / 2);
    EXPECT_EQ(predicted(), 2 * chosenBy(me.comm, kLong / 2));
    // Short neighbours are one call on the sum of their counts.
    sums(8, 16);
    EXPECT_EQ(predicted(), chosenBy(me.comm, 8 * 16));
    sums(0, 0);
    EXPECT_EQ(predicted(), 0u);
    EXPECT_EQ(out, std::vector<float>(kLong, -1.0f)) << "something ran";
    // One rank has predicted more than the others, who do not miss it.
    if (me.rank == 1) {
      sums(1, 8);
      EXPECT_GT(predicted(), 0u);
    }
    sums(1, kLong);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(out, std::vector<float>(kLong, 3.0f));
  });
}

TEST(GroupPredict, CommunicatorsFollowEachOther) {
  World(2).run([](const Rank& me) {
    rondoComm_t other = nullptr;
    ASSERT_EQ(rondoCommDup(me.comm, &other, nullptr), rondoSuccess);
    std::vector<float> data(5000, 1.0f);
    float* const at = data.data();
    rondoGroupStart();
    rondoAllReduce(at, at, 1000, rondoFloat32, rondoSum, me.comm, nullptr);
    rondoAllReduce(at + 1000, at + 1000, 4000, rondoFloat32, rondoSum, other, nullptr);
    EXPECT_EQ(predicted(), chosenBy(me.comm, 1000) + chosenBy(other, 4000));
    EXPECT_EQ(data, std::vector<float>(5000, 1.0f));
    EXPECT_EQ(rondoCommDestroy(other), rondoSuccess);
  });
}

TEST(GroupPredict, WhatNothingPredictsIsRefused) {
  World(2).run([](const Rank& me) {
    int data[4] = {};
    const size_t counts[] = {1, 2};
    rondoGroupStart();
    rondoSend(data, 1, rondoInt32, 1 - me.rank, me.comm, nullptr);
    expectPredicted(me.comm, rondoUnsupported,
                    "nothing predicts sends and receives on host memory");
    rondoGroupStart();
    const size_t displs[] = {0, 1};
    rondoAllGatherV(data + 3, counts[me.rank], data, counts, displs, rondoInt32, me.comm, nullptr);
    expectPredicted(me.comm, rondoUnsupported, "with counts of its own on host memory");
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
  });
}

TEST(GroupPredict, IsAnEndLikeTheOthers) {
  World(2).run([](const Rank& me) {
    uint64_t time = kUnset;
    float in = 1, out = 0;
    expectPredicted(nullptr, rondoInvalidUsage, "no open group on this thread");
    rondoGroupStart();
    rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr);
    EXPECT_EQ(rondoGroupPredict(nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage) << "it is closed";
    // What is wrong with a call is what the end says.
    rondoGroupStart();
    rondoAllReduce(nullptr, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr);
    expectPredicted(nullptr, rondoInvalidArgument, "sendbuff is NULL");
    // Inside another group nothing is told, and the outer one does not run.
    rondoGroupStart();
    rondoGroupStart();
    rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr);
    EXPECT_EQ(rondoGroupPredict(&time), rondoSuccess);
    EXPECT_EQ(time, kUnset);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    EXPECT_NE(std::string(rondoGetLastError(nullptr)).find("inside another one"),
              std::string::npos);
    EXPECT_EQ(out, 0);
    EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(out, 2);
  });
}

/// Knows its devices, and must not be asked to launch anything.
class KnowingRunner final : public DeviceRunner {
 public:
  KnowingRunner(int ranks, bool lineStores, bool rooted) : rooted_(rooted) {
    facts_.ranks = ranks;
    facts_.lanes = 128;
    facts_.lineStores = lineStores;
  }
  int device() const override { return 0; }
  const DeviceFacts* deviceFacts() const override { return &facts_; }
  bool runsRooted() const override { return rooted_; }
  DeviceServed run(const DeviceCall&) override { return launched(); }
  DeviceServed runJoint(std::span<const DeviceCall>) override { return launched(); }
  size_t joins(std::span<const DeviceCall>) override {
    launched();
    return 0;
  }
  Joined wouldJoin(std::span<const DeviceCall> calls) const override {
    std::vector<DeviceRequest> requests;
    for (const DeviceCall& call : calls) requests.push_back(requestOf(call, facts_.ranks));
    const JointChoice joint = chooseJoint(requests, facts_, {}, [this](const DeviceRequest& alone) {
      return choose(alone).picoseconds;
    });
    return {static_cast<size_t>(joint.calls), joint.picoseconds};
  }
  void exchange(const char*, std::span<const Transfer>, std::span<const rondoStream_t>) override {
    launched();
  }
  void exchangeInPlace(const char*, std::span<const Transfer>, rondoStream_t) override {
    launched();
  }
  void order(rondoStream_t, rondoStream_t) override { launched(); }
  uint64_t serial() const override { return 1; }
  void check() const override {}
  void abort() noexcept override {}
  DeviceChoice choose(const DeviceRequest& request) const override {
    return chooseDevice(request, facts_, {});
  }
  void startEpochsAt(uint32_t) override {}

 private:
  static DeviceServed launched() {
    ADD_FAILURE() << "something was launched";
    return {};
  }
  DeviceFacts facts_;
  const bool rooted_;
};

/// A rank whose device is a KnowingRunner's.
struct KnowingRank {
  rondoComm_t comm;
  int rank, size;

  DeviceCall call(Collective collective, size_t count) const {
    return {"rondoTest", collective, in, out, count, rondoFloat32, rondoSum, 0, nullptr};
  }
  uint64_t alone(Collective collective, size_t count) const {
    return runner().choose(requestOf(call(collective, count), size)).picoseconds;
  }
  const DeviceRunner& runner() const { return *comm->impl->deviceRunner(); }

  char* in = reinterpret_cast<char*>(uintptr_t{1} << 40);
  char* out = reinterpret_cast<char*>(uintptr_t{1} << 41);
};

/// `rooted`: gathers and scatters are calls as others.
void onKnowingRanks(int ranks, bool lineStores, const std::function<void(const KnowingRank&)>& body,
                    bool rooted = false) {
  ThreadGroup group(ranks);
  onRanks(ranks, [&](int r) {
    ThreadBootstrap boot(group, r);
    Config config = checkConfig("onKnowingRanks", nullptr);
    config.nearDevice = [&](int) {
      return std::make_unique<KnowingRunner>(ranks, lineStores, rooted);
    };
    CommPtr comm;
    ASSERT_EQ(guarded(nullptr, "onKnowingRanks", [&] { comm = createComm(boot, config, {}); }),
              rondoSuccess)
        << rondoGetLastError(nullptr);
    body({comm.get(), r, ranks});
    comm.reset();
  });
}

TEST(GroupPredict, DeviceCallsTakeWhatTheyAreChosenBy) {
  onKnowingRanks(4, true, [](const KnowingRank& me) {
    constexpr size_t kLong = 1 << 20, kShort = 256;
    rondoGroupStart();
    EXPECT_EQ(runOnDevice(me.comm, me.call(Collective::AllReduce, kLong)), rondoSuccess);
    EXPECT_EQ(runOnDevice(me.comm, me.call(Collective::AllGather, kLong)), rondoSuccess);
    const uint64_t first = me.alone(Collective::AllReduce, kLong);
    EXPECT_GT(first, 0u);
    EXPECT_EQ(predicted(), first + me.alone(Collective::AllGather, kLong));
    // Short neighbours are one launch.
    rondoGroupStart();
    std::vector<DeviceCall> shorts(4, me.call(Collective::AllReduce, kShort));
    for (const DeviceCall& call : shorts) EXPECT_EQ(runOnDevice(me.comm, call), rondoSuccess);
    const uint64_t together = predicted(), one = me.alone(Collective::AllReduce, kShort);
    EXPECT_EQ(together, me.runner().wouldJoin(shorts).picoseconds);
    EXPECT_GT(together, one);
    EXPECT_LT(together, 4 * one);
  });
}

TEST(GroupPredict, GathersThatMayGoByCopyEngines) {
  const auto gather = [](const KnowingRank& me) {
    const DeviceCall call = me.call(Collective::Gather, 100000);
    rondoGroupStart();
    EXPECT_EQ(runOnDevice(me.comm, call), rondoSuccess);
    const uint64_t time = predicted();
    EXPECT_GT(time, 0u);
    EXPECT_EQ(time,
              chooseExchange(requestOf(call, me.size), *me.runner().deviceFacts()).picoseconds);
  };
  onKnowingRanks(3, true, gather, true);
}

TEST(GroupPredict, DeviceSendsAndWhatIsMadeOfThem) {
  onKnowingRanks(3, true, [](const KnowingRank& me) {
    constexpr uint64_t kBytes = 1 << 20;
    const int next = (me.rank + 1) % 3, before = (me.rank + 2) % 3;
    const std::vector<Transfer> ring{{next, true, me.in, kBytes}, {before, false, me.out, kBytes}};
    const auto timeOf = [&](const std::vector<Transfer>& transfers) {
      return exchangeWork(*me.runner().deviceFacts(), me.rank, transfers)
          ->time(me.runner().deviceFacts()->costs, false);
    };
    rondoGroupStart();
    for (const Transfer& each : ring) {
      EXPECT_EQ(runOnDevice(me.comm, TransferCall{"rondoTest", {&each, 1}, nullptr}), rondoSuccess);
    }
    const uint64_t exchange = predicted();
    EXPECT_EQ(exchange, timeOf(ring));
    EXPECT_GT(exchange, 0u);
    // A gather is a launch of its own behind them, and the all-reduce another.
    rondoGroupStart();
    for (const Transfer& each : ring) {
      EXPECT_EQ(runOnDevice(me.comm, TransferCall{"rondoTest", {&each, 1}, nullptr}), rondoSuccess);
    }
    EXPECT_EQ(runOnDevice(me.comm, me.call(Collective::Gather, 1000)), rondoSuccess);
    EXPECT_EQ(runOnDevice(me.comm, me.call(Collective::AllReduce, 1000)), rondoSuccess);
    std::vector<Transfer> gather{{0, true, me.in, 4000}};
    if (me.rank == 0) addSlots(&gather, me.out, 4000, 3, false);
    EXPECT_EQ(predicted(), exchange + timeOf(gather) + me.alone(Collective::AllReduce, 1000));
  });
}

TEST(GroupPredict, DeviceSendsWithoutNvlinkAreRefused) {
  onKnowingRanks(2, false, [](const KnowingRank& me) {
    const Transfer send{1 - me.rank, true, me.in, 64};
    rondoGroupStart();
    EXPECT_EQ(runOnDevice(me.comm, TransferCall{"rondoTest", {&send, 1}, nullptr}), rondoSuccess);
    expectPredicted(me.comm, rondoUnsupported,
                    "nothing predicts sends and receives of device memory without NVLink");
    rondoGroupStart();
    EXPECT_EQ(runOnDevice(me.comm, me.call(Collective::AllReduce, 1000)), rondoSuccess);
    EXPECT_EQ(predicted(), me.alone(Collective::AllReduce, 1000));
  });
}

}  // namespace
}  // namespace rondo::testing

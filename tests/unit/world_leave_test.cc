// rondoCommLeave: the end of one rank's part, of which the others learn only where they need it.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "api/group.h"
#include "api/handle.h"
#include "p2p/segment.h"
#include "support/idle_runner.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// Whether `comm` still works for `rank`'s own thread, which makes no call.
rondoResult_t stateOf(rondoComm_t comm) {
  rondoResult_t state = rondoInternalError;
  EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess);
  return state;
}

void expectSaid(const std::string& what) {
  const std::string sentence = rondoGetLastError(nullptr);
  EXPECT_NE(sentence.find(what), std::string::npos) << sentence;
}

TEST(WorldLeave, AfterCallsTellsNobody) {
  World(3).open([](const Rank& me) {
    int32_t sum = 1;
    ASSERT_EQ(rondoAllReduce(&sum, &sum, 1, rondoInt32, rondoSum, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(sum, 3);
    if (me.rank == 1) {
      const rondoComm_t all[] = {nullptr, me.comm, nullptr};
      EXPECT_EQ(rondoCommLeave(all, 3), rondoSuccess);
      EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoInvalidUsage) << "the handle is freed";
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(stateOf(me.comm), rondoSuccess);
    // What needs the one that has left cannot end.
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoRemoteError);
    expectSaid("let go of it");
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

TEST(WorldLeave, BesideACallOfAnotherThreadIsAnAbort) {
  std::atomic<bool> over{false};
  World(2).open([&](const Rank& me) {
    if (me.rank == 1) {
      while (!over) std::this_thread::yield();
      EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoRemoteError);
      expectSaid("rank 0 aborted communicator");
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      return;
    }
    std::thread helper([&, comm = me.comm] {
      while (comm->use.load() != rondoComm::kBusy) std::this_thread::yield();
      EXPECT_EQ(rondoCommLeave(&comm, 1), rondoSuccess) << rondoGetLastError(nullptr);
      over = true;
    });
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoRemoteError);
    helper.join();
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

TEST(WorldLeave, WhileAGroupIsUnderWayIsAnAbort) {
  std::atomic<bool> over{false};
  World(2).open([&](const Rank& me) {
    if (me.rank == 1) {
      while (!over) std::this_thread::yield();
      EXPECT_EQ(stateOf(me.comm), rondoRemoteError);
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      return;
    }
    int32_t never = 0;
    rondoRequest_t request = nullptr;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    ASSERT_EQ(rondoRecv(&never, 1, rondoInt32, 1, me.comm, nullptr), rondoSuccess);
    ASSERT_EQ(rondoGroupEndAsync(&request), rondoSuccess);
    EXPECT_EQ(rondoCommLeave(&me.comm, 1), rondoSuccess);
    over = true;
    EXPECT_EQ(rondoWait(&request), rondoRemoteError);
  });
}

TEST(WorldLeave, WhatIsWrongIsSaidAndTheRestIsLeft) {
  EXPECT_EQ(rondoCommLeave(nullptr, 0), rondoSuccess);
  EXPECT_EQ(rondoCommLeave(nullptr, 1), rondoInvalidArgument);
  expectSaid("rondoCommLeave: argument comms is (nil) and count is 1; allowed: so many");
  EXPECT_EQ(rondoCommLeave(nullptr, -1), rondoInvalidArgument);
  expectSaid("count is -1");
  World(1).open([](const Rank& me) {
    rondoComm_t gone = nullptr;
    ASSERT_EQ(rondoCommDup(me.comm, &gone, nullptr), rondoSuccess);
    ASSERT_EQ(rondoCommDestroy(gone), rondoSuccess);
    const rondoComm_t both[] = {gone, me.comm};
    EXPECT_EQ(rondoCommLeave(both, 2), rondoInvalidUsage);
    expectSaid("rondoCommLeave");
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoInvalidUsage) << "the other one is freed";
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

/// Its kernels gave up or not.
class QuietRunner final : public IdleRunner {
 public:
  QuietRunner(bool gaveUp, std::atomic<int>* ended) : gaveUp_(gaveUp), ended_(*ended) {}
  void abort() noexcept override { ++ended_; }
  bool gaveUp() override {
    EXPECT_GE(ended_, 2) << "the kernels of all end before any is waited for";
    return gaveUp_;
  }

 private:
  const bool gaveUp_;
  std::atomic<int>& ended_;
};

/// Of the kernels of two communicators of this rank; rank 1 looks whether it is told.
void leaveWithDevices(bool gaveUp) {
  ThreadGroup group(2);
  std::atomic<int> left{0};
  onRanks(2, [&](int rank) {
    ThreadBootstrap boot(group, rank);
    std::atomic<int> ended{0};
    Config config = checkConfig("leaveWithDevices", nullptr);
    config.nearDevice = [&](int) { return std::make_unique<QuietRunner>(gaveUp, &ended); };
    CommPtr comms[2];
    for (CommPtr& comm : comms) {
      ASSERT_EQ(guarded(nullptr, "createComm", [&] { comm = createComm(boot, config, {}); }),
                rondoSuccess);
    }
    if (rank == 0) {
      const rondoComm_t both[] = {comms[0].release(), comms[1].release()};
      EXPECT_EQ(rondoCommLeave(both, 2), rondoSuccess) << rondoGetLastError(nullptr);
      left = 1;
      return;
    }
    while (left == 0) std::this_thread::yield();
    for (const CommPtr& comm : comms) {
      EXPECT_EQ(stateOf(comm.get()), gaveUp ? rondoRemoteError : rondoSuccess);
    }
  });
}

/// A device that is idle once the peer has been told.
class AwaitingRunner final : public IdleRunner {
 public:
  explicit AwaitingRunner(std::atomic<bool>* told) : told_(*told) {}
  void abort() noexcept override { ended_ = true; }
  bool gaveUp() override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!told_ && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_TRUE(told_);
    return true;
  }
  bool gaveUpSoFar() const override { return ended_; }

 private:
  std::atomic<bool>& told_;
  std::atomic<bool> ended_{false};
};

// What the device waits for may be what a peer does once it is told.
TEST(WorldLeave, PeersAreToldWhileTheDeviceIsWaitedFor) {
  ThreadGroup group(2);
  std::atomic<bool> told{false};
  onRanks(2, [&](int rank) {
    ThreadBootstrap boot(group, rank);
    Config config = checkConfig("PeersAreTold", nullptr);
    config.nearDevice = [&](int) { return std::make_unique<AwaitingRunner>(&told); };
    CommPtr comm;
    ASSERT_EQ(guarded(nullptr, "createComm", [&] { comm = createComm(boot, config, {}); }),
              rondoSuccess);
    if (rank == 0) {
      const rondoComm_t leaving = comm.release();
      EXPECT_EQ(rondoCommLeave(&leaving, 1), rondoSuccess) << rondoGetLastError(nullptr);
      return;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (stateOf(comm.get()) == rondoSuccess && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    EXPECT_EQ(stateOf(comm.get()), rondoRemoteError);
    told = true;
  });
}

TEST(WorldLeave, OfKernelsThatHaveEndedTellsNobody) { leaveWithDevices(false); }
TEST(WorldLeave, OfKernelsThatGaveUpTellsAll) { leaveWithDevices(true); }

}  // namespace
}  // namespace rondo::testing

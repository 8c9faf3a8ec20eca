// The host's side of device memory between hosts by itself: what kernels would have written stands
// in its memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "coll/far_desk.h"
#include "coll/far_lines.h"
#include "coll/far_runner.h"
#include "coll/far_thread.h"
#include "support/pretended_device.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 2;

struct alignas(64) Line {
  unsigned char bytes[64] = {};
};

/// One rank's, of one lane.
struct OwnDesk {
  explicit OwnDesk(ThreadGroup& group, int r)
      : boot(group, r),
        staging(kRanks, 1),
        lines((staging.bytes() + sizeof(Line) - 1) / sizeof(Line)),
        base(reinterpret_cast<unsigned char*>(lines.data())),
        view(staging.view(base, nullptr)) {
    std::vector<FarCarriers> carriers;
    FarCarriers& lane = carriers.emplace_back();
    for (auto* each : {&lane.all, &lane.pieces, &lane.rail}) *each = carrier();
    desk = std::make_unique<FarDesk>(std::move(carriers), view, staging.pairs(base, nullptr),
                                     staging.faults(base));
  }
  std::unique_ptr<Communicator> carrier() {
    Config config = checkConfig("FarDesk", nullptr);
    config.device = RONDO_DEVICE_NONE;
    return buildComm(boot, config, {});
  }

  /// As a kernel of one block does for its first chunk.
  void ring(bool onRail) {
    view.letters[0] = {1,
                       "rondoTest",
                       static_cast<int32_t>(Collective::AllReduce),
                       rondoInt32,
                       rondoSum,
                       0,
                       1,
                       onRail,
                       0,
                       0,
                       0};
    std::atomic_ref(view.rung[0]).store(1, std::memory_order_release);
  }
  /// As a kernel does for its first send to the other rank, or receive from it.
  void ringPiece(bool sends, uint64_t bytes) {
    const FarPairView pairs = staging.pairs(base, nullptr);
    const FarPairLetter mail{nullptr, bytes, 0, bytes, 1};
    FarLine* const slots = pairs.lines + (sends ? 0 : 1) * uint64_t{kFarPairSlots} * kFarPairLines;
    const std::vector<unsigned char> data(bytes, 7);
    if (sends) putLines(slots + kFarPairLetterLines, {1, bytes, 0}, farTag(1), data.data());
    putLines(slots, farPairLetterLined(), farTag(1), reinterpret_cast<const unsigned char*>(&mail));
  }
  bool answered() const { return view.answered[0].value != 0; }
  /// Polls until the lane is busy or is not; false: for ten seconds in vain.
  bool pollUntil(bool busy) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (desk->busy(0) != busy) {
      if (std::chrono::steady_clock::now() > end) return false;
      desk->poll(0);
    }
    return true;
  }

  ThreadBootstrap boot;
  FarStaging staging;
  std::vector<Line> lines;
  unsigned char* base;
  FarView view;
  std::unique_ptr<FarDesk> desk;
};

void onDesks(const std::function<void(OwnDesk& own, int rank, std::barrier<>& all)>& body) {
  ThreadGroup group(kRanks);
  std::barrier<> all(kRanks);
  onRanks(kRanks, [&](int r) {
    OwnDesk own(group, r);
    body(own, r, all);
    all.arrive_and_wait();
  });
}

// Whichever of the two carries the chunk. No thread is to look after it for good.
TEST(FarDesk, AnAbortEndsWhatIsCarried) {
  for (const bool onRail : {false, true}) {
    onDesks([onRail](OwnDesk& own, int rank, std::barrier<>&) {
      if (rank != 0) return;
      own.ring(onRail);
      EXPECT_TRUE(own.pollUntil(true));
      own.desk->abort();
      EXPECT_TRUE(own.pollUntil(false)) << "on a rail: " << onRail;
      EXPECT_FALSE(own.answered());
    });
  }
}

// Its kernel was killed, by what it should have sent: nobody waits for the rest.
TEST(FarDesk, HalfASendIsNotOwed) {
  onDesks([](OwnDesk& own, int rank, std::barrier<>&) {
    if (rank != 0) return;
    const FarPairLetter mail{nullptr, 256, 0, 256, 1};
    FarLine* const lines = own.staging.pairs(own.base, nullptr).lines;
    putLines(lines, farPairLetterLined(), farTag(1), reinterpret_cast<const unsigned char*>(&mail));
    own.desk->poll(0);
    EXPECT_FALSE(own.desk->busy(0));
    EXPECT_TRUE(own.desk->settled());
    const std::vector<unsigned char> data(256, 7);
    putLines(lines + kFarPairLetterLines, {1, 256, 0}, farTag(1), data.data());
    EXPECT_FALSE(own.desk->settled());
    own.desk->abort();
    EXPECT_TRUE(own.desk->settled());
  });
}

// What it waited for has come meanwhile, so that nothing is under way.
TEST(FarDesk, AKernelThatGaveUpIsNoticedAfterItsAnswer) {
  onDesks([](OwnDesk& own, int, std::barrier<>& all) {
    own.ring(false);
    while (!own.answered() && own.desk->failure().what.empty()) own.desk->poll(0);
    EXPECT_TRUE(own.pollUntil(false));
    EXPECT_EQ(own.desk->failure().what, "");
    all.arrive_and_wait();
    rondoResult_t told = rondoSuccess;
    own.desk->onFailure([&told](rondoResult_t why) { told = why; });
    own.staging.faults(own.base)->error = 1;
    own.desk->poll(0);
    EXPECT_EQ(told, rondoRemoteError);
    EXPECT_NE(own.desk->failure().what.find("RONDO_SPIN_BOUND_MS"), std::string::npos);
  });
}

// Of the two rank 0 receives. Rank 1 waits for something else, and hears of it before a
// communicator could tell it.
TEST(FarDesk, ADifferenceIsToldByWhatCarriesToo) {
  onDesks([](OwnDesk& own, int rank, std::barrier<>& all) {
    if (rank == 1) {
      own.ringPiece(true, 256);
      own.ring(false);
      EXPECT_TRUE(own.pollUntil(true));
    }
    all.arrive_and_wait();
    if (rank == 0) own.ringPiece(false, 128);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (own.desk->failure().what.empty() && std::chrono::steady_clock::now() < end) {
      own.desk->poll(0);
    }
    EXPECT_EQ(own.desk->failure().code, rondoMismatch);
    EXPECT_EQ(own.desk->failure().what.rfind("rondoRecv: rank 0 receives 128 bytes", 0), 0u)
        << own.desk->failure().what;
  });
}

// Whose end may have another cause, of which it hears while the desk's is being told.
TEST(FarDesk, WhatFailedIsNoErrorOfCallsBeforeTheCommunicatorKnows) {
  ThreadGroup group(kRanks);
  std::barrier<> all(kRanks);
  onRanks(kRanks, [&](int r) {
    ThreadBootstrap boot(group, r);
    PretendedStream stream;
    Communicator* carrier = nullptr;
    FarMakers makers;
    makers.open = [] { return std::make_unique<PretendedDevice>(); };
    makers.makeCarrier = [&](int) {
      Config config = checkConfig("FarDesk", nullptr);
      config.device = RONDO_DEVICE_NONE;
      auto made = buildComm(boot, config, {});
      carrier = made.get();
      return made;
    };
    std::string why;
    const std::unique_ptr<FarRunner> runner = createFarRunner(boot, {}, makers, 1, &why);
    ASSERT_NE(runner, nullptr) << why;
    std::atomic<bool> told{false};
    runner->onFailure([&](rondoResult_t code) {
      EXPECT_EQ(code, rondoRemoteError);
      EXPECT_NO_THROW(runner->check());
      told = true;
    });
    int32_t got = 0;
    const Transfer receive{1 - r, false, reinterpret_cast<char*>(&got), sizeof got};
    const rondoStream_t handle = stream.handle();
    runner->exchange("rondoTest", {&receive, 1}, {&handle, 1});
    all.arrive_and_wait();
    if (r == 0) carrier->abort();
    stream.synchronize();
    EXPECT_TRUE(told);
    EXPECT_THROW(runner->check(), Error);
    all.arrive_and_wait();
  });
}

std::vector<std::string> ownThreads() {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream from(each.path() / "comm");
    std::getline(from, names.emplace_back());
  }
  return names;
}

long farThreads() {
  const auto names = ownThreads();
  return std::count(names.begin(), names.end(), "rondo-far");
}

bool saysHowManyAreLeft = false;
/// Behind the library's own. A thread that has ended is listed for a while yet, longer with a
/// sanitizer; one that serves desks is listed however long one looks.
__attribute__((destructor(101))) void sayHowManyAreLeft() {
  if (!saysHowManyAreLeft) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (farThreads() > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::fprintf(stderr, "%ld threads at the end\n", farThreads());
}

// Before the network's library does: no thread may be in it then.
TEST(FarThreadDeathTest, TheLibrarysEndEndsThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto live = [] {
    FarThread::of(0).wake();
    FarThread::of(1).wake();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (farThreads() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    std::fprintf(stderr, "%ld threads; ", farThreads());
    saysHowManyAreLeft = true;
    std::exit(0);
  };
  EXPECT_EXIT(live(), ::testing::ExitedWithCode(0), "2 threads; 0 threads at the end");
}

}  // namespace
}  // namespace rondo::testing

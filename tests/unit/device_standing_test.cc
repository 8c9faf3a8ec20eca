// Kernels that stay for the next call: the host's half, with threads that do what a kernel does.

#include "coll/device_standing.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace rondo {
namespace {

using namespace std::chrono_literals;

/// What a lane did: the call's source, and its elements of a block.
struct Served {
  const void* src;
  uint64_t chunk;
  bool operator==(const Served&) const = default;
};

/// A device with one stream: each kernel begins when the one before has ended.
class Machine {
 public:
  ~Machine() { wait(); }
  void wait() {
    if (last_.joinable()) last_.join();
  }
  int enqueue(const StandingCall& call, int blocks) {
    last_ = std::thread([this, call, blocks, before = std::move(last_)]() mutable {
      if (before.joinable()) before.join();
      pause();
      std::vector<std::thread> lanes;
      for (int lane = 0; lane < blocks; ++lane) lanes.emplace_back([=, this] { run(call, lane); });
      for (std::thread& each : lanes) each.join();
    });
    return refuses.exchange(0);
  }
  std::vector<Served> served(int lane) {
    const std::lock_guard lock(mutex_);
    return served_[static_cast<size_t>(lane)];
  }
  std::atomic<int> refuses = 0;
  std::atomic<bool> held = false;             ///< Lanes take orders, and do not do them.
  std::function<void(int)> serves = nullptr;  ///< What a lane does.

 private:
  static uint64_t load(uint64_t& word) { return std::atomic_ref<uint64_t>(word).load(); }
  void pause() {
    thread_local std::minstd_rand random{std::random_device{}()};
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 60));
  }
  void serve(int lane, Served what) {
    while (held) std::this_thread::yield();
    pause();
    if (serves) serves(lane);
    const std::lock_guard lock(mutex_);
    served_[static_cast<size_t>(lane)].push_back(what);
  }
  void run(StandingCall call, int lane) {
    StandingOrder& order = call.desk.orders[lane];
    const std::atomic_ref<uint64_t> decided(call.args.fault.look->standing);
    const auto answer = [&](uint32_t number, StandingState state) {
      std::atomic_ref<uint64_t>(call.desk.answers[lane]).store(standingWord(number, state));
    };
    Served what{call.args.src, call.args.cut.chunk};
    uint32_t now = call.order;
    while (true) {
      serve(lane, what);
      answer(now, kStandingDone);
      const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(call.lingerNs);
      uint32_t words[kOrderWords];
      const auto leaves = [&] { return decided == (uint64_t{now} << 1 | 1); };
      uint32_t number = 0;
      for (bool came = false; !came;) {
        number = static_cast<uint32_t>(load(order.word[0]) >> 32);
        came = static_cast<int32_t>(number - now) > 0;
        for (int i = 0; i < kOrderWords; ++i) {
          const uint64_t word = load(order.word[i]);
          words[i] = static_cast<uint32_t>(word);
          came &= word >> 32 == number;
        }
        if (lane == 0) {
          const bool ends =
              came ? words[kOrderElement] == 0 : std::chrono::steady_clock::now() > until;
          if (ends) {
            decided = uint64_t{now} << 1 | 1;
            return answer(now, kStandingLeft);
          }
          if (came) decided = uint64_t{number} << 1;
        } else {
          if (leaves() && !came) return;
          while (came && static_cast<int32_t>(static_cast<uint32_t>(decided >> 1) - number) < 0) {
            if (leaves()) return;
            std::this_thread::yield();
          }
        }
        if (!came) std::this_thread::yield();
      }
      if (lane == 0) answer(number, kStandingTaken);
      const uint64_t src = words[kOrderSrcLow] | uint64_t{words[kOrderSrcHigh]} << 32;
      what = {reinterpret_cast<const void*>(src), words[kOrderChunk]};
      now = number;
    }
  }

  std::mutex mutex_;
  std::vector<std::vector<Served>> served_{kMostStandingLanes};
  std::thread last_;
};

Machine* machine = nullptr;
int launchThere(const Kernel&, const StandingCall& call, int blocks, int, CUstream_st*) {
  return machine->enqueue(call, blocks);
}

struct DeviceStanding : ::testing::Test {
  DeviceStanding() : standing(desk.data(), desk.data(), launchThere) {
    machine = &device;
    one.standing = other.standing = &one;
  }
  StandingWork work(const Kernel& kernel, int lanes, uint64_t src, int threads = 128) const {
    StandingWork out{&kernel, {}, lanes, threads, nullptr};
    out.window.args.fault.look = const_cast<FaultLook*>(&look);
    out.window.args.src = reinterpret_cast<const unsigned char*>(src);
    out.window.args.elementBytes = 4;
    out.window.args.cut.chunk = src % 1000;
    return out;
  }
  void finish() {
    Awaited state = Awaited::kRuns;
    while (state == Awaited::kRuns) {
      ASSERT_EQ(standing.look(&state), 0);
      std::this_thread::yield();
    }
    EXPECT_EQ(state, Awaited::kDone);
  }
  void leave() {
    int error = -1;
    EXPECT_TRUE(standing.leave(&error));
    EXPECT_EQ(error, 0);
  }

  static constexpr uint64_t kLong = 10'000'000'000;
  alignas(128) std::array<unsigned char, kStandingDeskBytes> desk{};
  FaultLook look{};
  Kernel one{}, other{};
  Machine device;
  StandingKernel standing;
};

TEST_F(DeviceStanding, OneKernelTakesManyCalls) {
  std::vector<Served> wanted;
  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t src = 0x7f0123456000 + i * 4;
    ASSERT_EQ(standing.begin(work(one, 3, src), kLong), 0);
    finish();
    wanted.push_back({reinterpret_cast<const void*>(src), src % 1000});
    for (int lane = 0; lane < 3; ++lane) ASSERT_EQ(device.served(lane), wanted) << lane;
  }
  EXPECT_EQ(standing.launched(), 2u);  // one of them for the last 243
  EXPECT_EQ(standing.handedOver(), 498u);
  leave();
  device.wait();
}

// As many lanes and fewer threads go to the kernel that stands; others, and other kernels, do not.
TEST_F(DeviceStanding, OtherShapesAreLaunched) {
  const auto call = [&](const Kernel& kernel, int lanes, int threads) {
    ASSERT_EQ(standing.begin(work(kernel, lanes, 64, threads), kLong), 0);
    finish();
  };
  call(one, 4, 32);
  call(one, 4, 64);
  call(one, 4, StandingKernel::kLeastThreads);
  EXPECT_EQ(standing.launched(), 1u);
  call(one, 5, 128);
  EXPECT_EQ(standing.launched(), 2u);
  call(one, 5, 160);
  EXPECT_EQ(standing.launched(), 3u);
  call(one, 2, 128);
  EXPECT_EQ(standing.launched(), 4u);
  call(other, 1, 32);
  EXPECT_EQ(standing.launched(), 5u);
  leave();
  leave();
  device.wait();
  EXPECT_EQ(device.served(0).size(), 7u);
  EXPECT_EQ(device.served(3).size(), 5u);
  EXPECT_EQ(device.served(4).size(), 2u);
}

// Kernels leave at any moment, just before they see the call, too; calls of other kernels, and
// leave() with a call under way, come in between. Every lane does every call once, in order.
TEST_F(DeviceStanding, EveryCallIsDoneOnceWheneverLanesLeave) {
  std::minstd_rand random{7};
  std::vector<std::vector<Served>> wanted(kMostStandingLanes);
  for (uint64_t i = 0; i < 3000; ++i) {
    const int lanes = random() % 8 == 0 ? 1 + static_cast<int>(random() % 5) : 3;
    const StandingWork next = work(random() % 16 == 0 ? other : one, lanes, 4096 + i * 8);
    ASSERT_EQ(standing.begin(next, 40'000), 0);
    for (int lane = 0; lane < lanes; ++lane) {
      wanted[static_cast<size_t>(lane)].push_back(
          {next.window.args.src, next.window.args.cut.chunk});
    }
    if (random() % 8 == 0) leave();
    finish();
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 80));
  }
  leave();
  device.wait();
  for (int lane = 0; lane < kMostStandingLanes; ++lane) {
    EXPECT_TRUE(device.served(lane) == wanted[static_cast<size_t>(lane)]) << "lane " << lane;
  }
  EXPECT_GT(standing.handedOver(), 0u);
  EXPECT_GT(standing.launched(), 1u);
}

// What comes next on the stream is behind the call, though its end is far away.
TEST_F(DeviceStanding, LeavesWithoutWaitingForTheEnd) {
  ASSERT_EQ(standing.begin(work(one, 2, 8), kLong), 0);
  finish();
  device.held = true;
  ASSERT_EQ(standing.begin(work(one, 2, 16), kLong), 0);
  leave();
  Awaited state = Awaited::kDone;
  EXPECT_EQ(standing.look(&state), 0);
  EXPECT_EQ(state, Awaited::kRuns);
  device.held = false;
  finish();
  device.wait();  // or it would not end
  EXPECT_EQ(device.served(0).size(), 2u);
}

// Two kernels at once would take each other's orders.
TEST_F(DeviceStanding, AnotherStreamWaitsUntilTheKernelHasLeft) {
  ASSERT_EQ(standing.begin(work(one, 2, 8), kLong), 0);
  finish();
  StandingWork elsewhere = work(one, 2, 16);
  elsewhere.stream = reinterpret_cast<rondoStream_t>(&elsewhere);
  EXPECT_FALSE(standing.serves(elsewhere));
  leave();
  device.wait();
  EXPECT_TRUE(standing.serves(elsewhere));
}

TEST_F(DeviceStanding, ALaunchThatFailsStandsForNothing) {
  device.refuses = 719;
  EXPECT_EQ(standing.begin(work(one, 1, 8), 1000), 719);
  Awaited state = Awaited::kRuns;
  EXPECT_EQ(standing.look(&state), 0);
  EXPECT_EQ(state, Awaited::kDone);
  device.wait();
  leave();
}

// A call that nobody did is never said to have ended.
TEST_F(DeviceStanding, ALaunchAnewThatFailsIsSaidEachTime) {
  ASSERT_EQ(standing.begin(work(one, 2, 8), 1000), 0);
  finish();
  device.wait();  // it has left
  device.refuses = 719;
  ASSERT_EQ(standing.begin(work(one, 2, 16), 1000), 0);
  for (int i = 0; i < 3; ++i) {
    Awaited state = Awaited::kDone;
    EXPECT_EQ(standing.look(&state), 719);
    EXPECT_EQ(state, Awaited::kRuns);
  }
  EXPECT_TRUE(standing.runs());
  device.wait();
}

/// Two ranks whose lanes wait for each other's, as a sum does.
struct Pair {
  std::atomic<int> begun[2][4] = {};
};

// What one rank's kernel does, another's may have missed, lane by lane: nobody waits for ever.
TEST(DeviceStandingRanks, LanesThatWaitForEachOtherNeverStandStill) {
  Pair pair;
  std::vector<std::thread> ranks;
  for (int me = 0; me < 2; ++me) {
    ranks.emplace_back([&pair, me] {
      alignas(128) std::array<unsigned char, kStandingDeskBytes> desk{};
      FaultLook look{};
      Kernel kernel{};
      kernel.standing = &kernel;
      Machine device;
      device.serves = [&pair, me](int lane) {
        const int number = ++pair.begun[me][lane];
        while (pair.begun[1 - me][lane] < number) std::this_thread::yield();
      };
      StandingKernel standing(desk.data(), desk.data(),
                              [&](const Kernel&, const StandingCall& call, int blocks, int,
                                  CUstream_st*) { return device.enqueue(call, blocks); });
      std::minstd_rand random{11}, own{static_cast<unsigned>(me) + 1};
      for (uint64_t i = 0; i < 2000; ++i) {
        StandingWork work{&kernel, {}, random() % 8 == 0 ? 1 : 4, 128, nullptr};
        work.window.args.fault.look = &look;
        work.window.args.elementBytes = 4;
        ASSERT_EQ(standing.begin(work, 20'000), 0);
        Awaited state = Awaited::kRuns;
        while (state == Awaited::kRuns) {
          ASSERT_EQ(standing.look(&state), 0);
          std::this_thread::yield();
        }
        if (own() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 40));
      }
      int error = 0;
      EXPECT_TRUE(standing.leave(&error));
      device.wait();
      EXPECT_GT(standing.late(), 0u);
    });
  }
  for (std::thread& each : ranks) each.join();
}

TEST_F(DeviceStanding, WhatAnOrderCannotSayIsLaunchedAsEver) {
  StandingWork fits = work(one, 2, 8);
  EXPECT_TRUE(standing.serves(fits));
  StandingWork many = fits, slots = fits, large = fits;
  many.lanes = kMostStandingLanes + 1;
  EXPECT_FALSE(standing.serves(many));
  slots.window.args.dstSlot = 8;
  EXPECT_FALSE(standing.serves(slots));
  large.window.args.cut.left = uint64_t{1} << 32;
  EXPECT_FALSE(standing.serves(large));
  one.standing = nullptr;
  EXPECT_FALSE(standing.serves(fits));
}

TEST(StandingPolicy, WantsCallsThatFollowEachOtherAndLearnsFromMisses) {
  StandingPolicy policy;
  StandingPolicy::Time now = std::chrono::steady_clock::now();
  /// How many soon calls it takes until the policy wants one.
  const auto untilWanted = [&] {
    for (int calls = 1;; ++calls) {
      if (calls % 2 == 1) policy.ended(now += 100us);
      now += 1us;
      if (policy.wants(now, 20us)) return calls;
    }
  };
  EXPECT_EQ(untilWanted(), StandingPolicy::kLeastInRow);
  now += 1s;
  EXPECT_FALSE(policy.wants(now, 20us));
  EXPECT_EQ(untilWanted(), StandingPolicy::kLeastInRow);
  policy.left(StandingPolicy::kGood - 1);
  EXPECT_EQ(untilWanted(), 2 * StandingPolicy::kLeastInRow);
  for (int i = 0; i < 40; ++i) policy.left(0);
  EXPECT_EQ(untilWanted(), StandingPolicy::kMostInRow);
  policy.left(StandingPolicy::kGood);
  now += 1s;
  EXPECT_FALSE(policy.wants(now, 20us));
  EXPECT_EQ(untilWanted(), StandingPolicy::kLeastInRow);
}

// After however many calls that cannot, those that can are tried soon; what was learned of kernels
// that waited in vain is not forgotten for it.
TEST(StandingPolicy, CallsThatCannotDoNotKeepOthersFromStanding) {
  StandingPolicy policy;
  StandingPolicy::Time now = std::chrono::steady_clock::now();
  const auto untilWanted = [&] {
    for (int calls = 1;; ++calls) {
      if (policy.wants(now += 1us, 20us)) return calls;
    }
  };
  EXPECT_FALSE(policy.wants(now, 20us));
  EXPECT_EQ(untilWanted(), StandingPolicy::kLeastInRow);
  policy.misfit();
  EXPECT_EQ(untilWanted(), 2 * StandingPolicy::kLeastInRow);
  for (int i = 0; i < 40; ++i) policy.misfit();
  EXPECT_EQ(untilWanted(), StandingPolicy::kMostAfterMisfits);
  policy.left(0);
  EXPECT_EQ(untilWanted(), 2 * StandingPolicy::kMostAfterMisfits);
  policy.misfit();
  EXPECT_EQ(untilWanted(), 2 * StandingPolicy::kMostAfterMisfits);
}

}  // namespace
}  // namespace rondo

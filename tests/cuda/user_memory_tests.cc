// Where the senders of large transfers are told to write (src/coll/user_memory.h), over a driver
// that is pretended. Ranks are threads; those of "other processes" only say so.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "coll/user_memory.h"
#include "cuda/pretended.h"
#include "kernels/direct_call.h"
#include "support/thread_bootstrap.h"

namespace rondo::testing {
namespace {

/// One rank: where it is, and what it knows of the others' memory.
struct Neighbour {
  ThreadBootstrap& boot;
  const CudaDevice& device;
  UserMemory& memory;

  int rank() const { return boot.rank(); }
  /// Whether rank `peer` would be sent to where it has the memory at the same address.
  bool given(int peer, const void* data, uint64_t bytes = 64) const {
    const auto* const at = static_cast<const unsigned char*>(data);
    const uint64_t place = memory.placeFor(peer, at, bytes, UserMemory::Use::kGraph);
    EXPECT_TRUE(place == 0 || place == reinterpret_cast<uint64_t>(data));
    return place != 0;
  }
};

struct World {
  int process;
  int device;
  bool registeredOnly = false;
};

class PretendedRanks : public PretendedCuda {
 protected:
  void run(const std::vector<World>& ranks, const std::function<void(const Neighbour&)>& body,
           bool shared = true, bool background = false) {
    ThreadGroup group(static_cast<int>(ranks.size()));
    std::vector<std::thread> threads;
    for (size_t r = 0; r < ranks.size(); ++r) {
      threads.emplace_back([&, r] {
        ThreadBootstrap boot(group, static_cast<int>(r));
        const CudaDevice device = CudaDevice::open(ranks[r].device, 0);
        DeviceCard mine{};
        mine.device = device.uuid();
        mine.process = {static_cast<uint64_t>(ranks[r].process), 0};
        mine.ordinal = device.ordinal();
        mine.context = reinterpret_cast<uint64_t>(device.context());
        mine.registeredOnly = ranks[r].registeredOnly ? 1 : 0;
        std::vector<DeviceCard> cards(ranks.size());
        boot.allGather(&mine, sizeof mine, cards.data());
        UserMemory memory(device, cards, boot.rank(), shared, {.off = !background});
        memory.meetNeighbours(boot);
        body({boot, device, memory});
        boot.barrier();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  /// As cudaMalloc of a rank.
  static unsigned long long plain(const Neighbour& me, size_t bytes) {
    const ContextScope scope(me.device.context());
    unsigned long long at = 0;
    EXPECT_EQ(ofDriver<int(unsigned long long*, size_t)>("cuMemAlloc_v2")(&at, bytes), 0);
    return at;
  }
  static void* memoryOf(unsigned long long at) { return reinterpret_cast<void*>(at); }
  static void drop(unsigned long long at) {
    EXPECT_EQ(ofDriver<int(unsigned long long)>("cuMemFree_v2")(at), 0);
  }
};

TEST_F(PretendedRanks, OfOneDeviceNeedNoRegistration) {
  run({{1, 0}, {1, 0}, {1, 0}}, [](const Neighbour& me) {
    const int other = (me.rank() + 1) % 3;
    const auto memory = plain(me, 4096);
    EXPECT_TRUE(me.memory.asks(other));
    EXPECT_TRUE(me.given(other, memoryOf(memory)));
    EXPECT_FALSE(me.given(other, reinterpret_cast<void*>(uint64_t{1} << 48))) << "no offer has it";
    drop(memory);
  });
  EXPECT_EQ(fake.peerEnables, 0);
}

// cudaMalloc's where the contexts could be opened to each other; Rondo's always; a pool's never.
TEST_F(PretendedRanks, OfTwoDevicesReachWhatIsOpenToThem) {
  for (const bool reach : {true, false}) {
    fake = FakeCuda{};
    std::map<int, char*> ours = {{0, given(4096, 0)}, {1, given(4096, 1)}};
    fake.peersReach = reach;
    run({{1, 0}, {1, 1}}, [&](const Neighbour& me) {
      const int other = 1 - me.rank();
      EXPECT_TRUE(me.memory.asks(other));
      const auto malloced = plain(me, 4096), pooled = plain(me, 4096);
      ofDriver<void(unsigned long long)>("fakeCudaPooled")(pooled);
      EXPECT_EQ(me.given(other, memoryOf(malloced)), reach);
      EXPECT_FALSE(me.given(other, memoryOf(pooled)));
      EXPECT_TRUE(me.given(other, ours[me.rank()]));
      EXPECT_FALSE(me.given(other, &fake)) << "memory of no device";
      drop(malloced);
      drop(pooled);
    });
    EXPECT_EQ(fake.peerEnables, reach ? 2 : 0);
    for (const auto& [device, memory] : ours) freed(memory);
  }
}

// The sender's device must reach the receiver's, whatever is the case the other way.
TEST_F(PretendedRanks, ReachMayBeOneWay) {
  fake.refusedPeer = 1;
  run({{1, 0}, {1, 1}}, [](const Neighbour& me) {
    const auto memory = plain(me, 4096);
    EXPECT_EQ(me.given(1 - me.rank(), memoryOf(memory)), me.rank() == 1);
    drop(memory);
  });
}

TEST_F(PretendedRanks, NobodyAsksWhereNothingCanGoStraight) {
  const auto silent = [](const Neighbour& me) {
    const int other = 1 - me.rank();
    const auto memory = plain(me, 4096);
    EXPECT_FALSE(me.memory.asks(other));
    EXPECT_FALSE(me.given(other, memoryOf(memory)));
    drop(memory);
  };
  run({{1, 0}, {2, 0}}, silent);
  run({{1, 0, true}, {1, 0}}, silent);
  run({{1, 0}, {1, 0}}, silent, false);  // they meet in host memory
}

// From the first registration on all ask; only what is registered, and still the same allocation,
// is given. Ranks 0 and 1 are neighbours.
TEST_F(PretendedRanks, OtherProcessesNeedARegistration) {
  for (const bool virtualMemory : {true, false}) {
    fake.virtualMemory = virtualMemory;
    run({{1, 0}, {1, 0}, {2, 1}}, [&](const Neighbour& me) {
      const int far = me.rank() == 2 ? 0 : 2;
      const bool mixed = me.rank() == 0;
      void* memory = nullptr;
      ASSERT_EQ(rondoMemAllocDevice(&memory, 3 * kMiB, me.device.ordinal()), rondoSuccess);
      auto* const bytes = static_cast<unsigned char*>(memory);
      EXPECT_EQ(me.memory.asks(mixed ? 1 : far), mixed);
      EXPECT_EQ(me.memory.placeFor(far, bytes, 64, UserMemory::Use::kGraph), 0u);
      me.boot.barrier();
      const uint64_t number = me.memory.add(me.boot, memory, 2 * kMiB, MemoryUse::kStraight);
      EXPECT_TRUE(me.memory.asks(far));
      EXPECT_NE(me.memory.placeFor(far, bytes + kMiB, kMiB, UserMemory::Use::kGraph), 0u);
      EXPECT_EQ(me.memory.placeFor(far, bytes + kMiB, kMiB + 1, UserMemory::Use::kGraph), 0u);
      EXPECT_TRUE(me.rank() == 2 || me.given(1 - me.rank(), bytes + kMiB, kMiB + 1));
      me.boot.barrier();
      freed(memory);
      EXPECT_EQ(me.memory.placeFor(far, bytes, 64, UserMemory::Use::kGraph), 0u) << "freed";
      me.boot.barrier();
      me.memory.remove(me.boot, number);
      EXPECT_TRUE(me.memory.asks(far));
    });
  }
  EXPECT_EQ(fake.opened, 0);
}

// A window is for collectives alone, by descriptors alone, and each rank ends its own part.
TEST_F(PretendedRanks, WindowsAreEndedOneByOne) {
  run({{1, 0}, {2, 1}}, [&](const Neighbour& me) {
    constexpr uint64_t kLong = 2 * kMiB;
    const int other = 1 - me.rank();
    const UserMemory::Entry* stale = nullptr;
    const auto found = [&](const void* at) { return me.memory.findSymmetric(at, 64, &stale); };
    void* memory = nullptr;
    ASSERT_EQ(rondoMemAllocDevice(&memory, kLong, me.device.ordinal()), rondoSuccess);
    auto* const bytes = static_cast<unsigned char*>(memory);
    const uint64_t window = me.memory.add(me.boot, memory, kLong, MemoryUse::kWindow);
    EXPECT_TRUE(MemoryRegistry::isWindow(window));
    EXPECT_EQ(me.memory.placeFor(other, bytes, 64, UserMemory::Use::kGraph), 0u);
    ASSERT_NE(found(bytes), nullptr);
    EXPECT_TRUE(found(bytes)->everywhere);
    EXPECT_EQ(me.memory.held().mappedBytes, kLong);
    if (me.rank() == 0) me.memory.removeWindow(window);  // nobody else is asked
    me.boot.barrier();
    EXPECT_EQ(found(bytes) == nullptr, me.rank() == 0);
    EXPECT_EQ(me.memory.held().mappedBytes, me.rank() == 0 ? 0 : kLong);
    me.boot.barrier();
    freed(memory);  // of rank 1 it is still a window
    EXPECT_EQ(found(bytes), nullptr);
    EXPECT_EQ(stale, nullptr);
    const auto plainAt = plain(me, kLong);  // by a handle: closing one would wait for kernels
    const uint64_t useless = me.memory.add(me.boot, memoryOf(plainAt), kLong, MemoryUse::kWindow);
    EXPECT_EQ(me.memory.held().registrations, 1u) << "what was freed is a window no more";
    EXPECT_EQ(me.memory.held().mappedBytes, 0u);
    ASSERT_NE(found(memoryOf(plainAt)), nullptr);
    EXPECT_FALSE(found(memoryOf(plainAt))->everywhere);
    me.memory.removeWindow(useless);
    EXPECT_THROW(me.memory.removeWindow(useless), Error);
    drop(plainAt);
  });
  EXPECT_EQ(fake.opened, 0);
}

// Ten times a device's memory, registered between processes; nothing is left mapped.
TEST_F(PretendedRanks, MemoryThatComesAndGoesLeavesNothing) {
  run({{1, 0}, {2, 1}}, [&](const Neighbour& me) {
    const int other = 1 - me.rank();
    size_t all = 0;
    for (uint32_t round = 0; all < 10 * fake.bytesEach; ++round) {
      const size_t bytes = (round % 5 + 4) * 4 * kMiB;
      me.boot.barrier();
      const bool ours = round % 2 == 0;
      void* memory = nullptr;
      if (ours) {
        ASSERT_EQ(rondoMemAllocDevice(&memory, bytes, me.device.ordinal()), rondoSuccess)
            << rondoGetLastError(nullptr);
      } else {
        memory = memoryOf(plain(me, bytes));
      }
      const uint64_t number = me.memory.add(me.boot, memory, bytes, MemoryUse::kStraight);
      const auto* const at = static_cast<unsigned char*>(memory);
      EXPECT_NE(me.memory.placeFor(other, at, bytes, UserMemory::Use::kGraph), 0u);
      EXPECT_EQ(me.memory.held().mappedBytes, bytes);
      // Freed first, every third time: the peer's mapping keeps it until then.
      if (round % 3 == 2) {
        ours ? freed(memory) : drop(reinterpret_cast<uint64_t>(memory));
        me.boot.barrier();
        EXPECT_EQ(me.memory.placeFor(other, at, bytes, UserMemory::Use::kGraph), 0u);
        me.boot.barrier();
      }
      me.memory.remove(me.boot, number);
      if (round % 3 != 2) ours ? freed(memory) : drop(reinterpret_cast<uint64_t>(memory));
      EXPECT_EQ(me.memory.held().mappedBytes, 0u);
      all += bytes;
    }
  });
  EXPECT_EQ(fake.opened, 0);
}

// Closing waits for kernels, so a registration, which other ranks' kernels may wait behind, closes
// nothing; the end of one, which has seen all kernels end, does. What graphs have stays: one may be
// replayed at any time.
TEST_F(PretendedRanks, TheEndOfARegistrationClosesWhatIsFreed) {
  const auto body = [](const Neighbour& me) {
    const int other = 1 - me.rank();
    const auto at = plain(me, kMiB);
    const auto* const memory = static_cast<unsigned char*>(memoryOf(at));
    EXPECT_TRUE(me.memory.asks(other));
    me.memory.prepare(other);
    const auto soon = [](const std::function<bool()>& holds) {
      for (int i = 0; i < 20000 && !holds(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return holds();
    };
    EXPECT_TRUE(
        soon([&] { return me.memory.placeFor(other, memory, 64, UserMemory::Use::kLaunch) != 0; }));
    EXPECT_EQ(me.memory.placeFor(other, memory, 64, UserMemory::Use::kRegistered), 0u);
    const auto inGraph = plain(me, kMiB);
    const auto* const graphed = static_cast<unsigned char*>(memoryOf(inGraph));
    EXPECT_NE(me.memory.placeFor(other, graphed, 64, UserMemory::Use::kGraph) & kGraphPlace, 0u);
    EXPECT_TRUE(soon([&] { return me.memory.held().graphs == 1; }));
    me.boot.barrier();
    drop(at);
    drop(inGraph);
    EXPECT_TRUE(soon([&] { return me.memory.background()->held().freed == 1; }));
    const auto kept = plain(me, kMiB);
    const uint64_t number = me.memory.add(me.boot, memoryOf(kept), kMiB, MemoryUse::kStraight);
    const auto* const registered = static_cast<unsigned char*>(memoryOf(kept));
    const uint64_t place = me.memory.placeFor(other, registered, 64, UserMemory::Use::kGraph);
    EXPECT_NE(place, 0u);
    EXPECT_EQ(place & kGraphPlace, 0u) << "a registration holds until it ends";
    EXPECT_EQ(me.memory.background()->held().mapped, 2u);
    me.memory.remove(me.boot, number);
    EXPECT_EQ(me.memory.background()->held().mapped, 1u);
    drop(kept);
  };
  run({{1, 0}, {2, 1}}, body, true, true);
  EXPECT_EQ(fake.opened, 0);
}

}  // namespace
}  // namespace rondo::testing

// What large calls need beside their buffers: the staging pool, and no scratch that grows with
// them.

#include <gtest/gtest.h>

#include <optional>

#include "support/collective_case.h"
#include "support/peak_memory.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr size_t kMiB = 1 << 20;
constexpr int kRanks = 2;

/// Memory of a rank, filled, so that it is resident.
class Block {
 public:
  Block(size_t bytes, bool shared) {
    if (!shared) {
      own_.assign(bytes, 1);
      data_ = own_.data();
      return;
    }
    EXPECT_EQ(rondoMemAlloc(&data_, bytes), rondoSuccess) << rondoGetLastError(nullptr);
    std::memset(data_, 1, bytes);
    shared_ = data_;
  }
  ~Block() { rondoMemFree(shared_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* data() { return data_; }

 private:
  std::vector<char> own_;
  void* shared_ = nullptr;
  void* data_ = nullptr;
};

/// KiB by which the peak grows during one call on threads; nothing where it cannot be measured.
std::optional<long> growth(const Case& c, bool shared) {
  std::optional<long> grown;
  World(kRanks).run([&](const Rank& me) {
    const Side side = sideOf(c, me.rank, me.size);
    const size_t element = typeSize(c.type);
    Block send(side.sendCount * element + 1, shared), recv(side.recvCount * element + 1, shared);
    std::optional<PeakGrowth> peak;
    ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
    if (me.rank == 0) peak.emplace();
    ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
    ASSERT_EQ(invoke(c, side, send.data(), recv.data(), me.rank, me.comm), rondoSuccess)
        << rondoGetLastError(me.comm);
    ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
    if (peak && peak->measured()) grown = peak->kib();
    ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
  });
  return grown;
}

TEST(MemoryGrowth, OfALargeAllReduceStaysBelow32MiB) {
  for (const bool shared : {false, true}) {
    const Case c{Call::AllReduce, rondoFloat32, rondoSum, 64 * kMiB / 4, 0, false, false, 0};
    const auto kib = growth(c, shared);
    if (!kib) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
    RecordProperty(shared ? "sharedKiB" : "ordinaryKiB", std::to_string(*kib));
    EXPECT_LT(*kib, 32 << 10) << (shared ? "memory of rondoMemAlloc" : "ordinary memory");
  }
}

TEST(MemoryGrowth, OfAnyCollectiveIsNotItsBuffers) {
  for (int k = 0; k < kCalls; ++k) {
    Case c{static_cast<Call>(k), rondoUint8, rondoMax, 24 * kMiB, 0, false, false, 0};
    // A salt that gives the v-collectives long blocks.
    while (sideOf(c, 0, kRanks).sendCount < c.count || sideOf(c, 0, kRanks).recvCount < c.count) {
      ++c.salt;
    }
    const auto kib = growth(c, false);
    if (!kib) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
    EXPECT_LT(*kib, 12 << 10) << c.text();
  }
}

/// The measure itself: it sees memory that comes and goes.
TEST(MemoryGrowth, APeakThatIsGoneAgainIsSeen) {
  const PeakGrowth peak;
  if (!peak.measured()) GTEST_SKIP() << "/proc/self/clear_refs cannot be written";
  {
    const std::vector<char> scratch(48 * kMiB, 1);
    EXPECT_EQ(scratch.back(), 1);
  }
  EXPECT_GT(peak.kib(), 40 << 10);
}

}  // namespace
}  // namespace rondo::testing

// The process's shared memory: leases that wait for their readers, and the heap.

#include "p2p/segment.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "p2p/peer_watch.h"
#include "support/quiet_fork.h"

namespace rondo {
namespace {

constexpr uint64_t kPage = RangeAllocator::kPage;

TEST(Segment, ALeaseIsReusedOnlyOnceItIsUnused) {
  Segment& own = Segment::own();
  const uint64_t before = own.poolUsed();
  const uint64_t lease = own.lease(kPage + 1, kPage, before + 2 * kPage);
  ASSERT_NE(lease, RangeAllocator::kNone);
  EXPECT_EQ(own.poolUsed(), before + 2 * kPage);
  bool unused = false;
  own.endLease(lease, [&unused] { return unused; });
  EXPECT_EQ(own.poolUsed(), before + 2 * kPage);
  unused = true;
  own.settle();
  unused = false;  // nobody asks any more
  EXPECT_EQ(own.poolUsed(), before);
}

/// In a process without other threads: whether a lease comes back that waits for one's death.
bool comesBackAfterADeath() {
  Segment& own = Segment::own();
  const uint64_t before = own.poolUsed();
  const uint64_t lease = own.lease(kPage, kPage, before + kPage);
  const pid_t other = test::quietFork();
  if (other == 0) {
    for (;;) pause();
  }
  constexpr uint64_t kToken = 77;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, other, 0));
  PeerWatch::one().watch(&own, kToken, UniqueFd(process), [](Ending) {});
  own.endLease(lease, [] { return PeerWatch::one().died(kToken); });
  const bool waited = own.poolUsed() == before + kPage;
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  for (int i = 0; i < 10000 && own.poolUsed() != before; ++i) usleep(1000);
  return waited && own.poolUsed() == before;
}

TEST(Segment, ADeathIsSeenWhereNobodyElseLooks) {
  const int probe = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (probe < 0) GTEST_SKIP() << "a kernel before 5.3";
  close(probe);
  Segment::own();
  const pid_t child = test::quietFork();  // which has no progress thread
  if (child == 0) {
    alarm(60);
    _exit(comesBackAfterADeath() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Segment, ALeaseStartsCleared) {
  Segment& own = Segment::own();
  const uint64_t limit = own.poolUsed() + 4 * kPage;
  const uint64_t first = own.lease(2 * kPage, 2 * kPage, limit);
  ASSERT_NE(first, RangeAllocator::kNone);
  std::fill_n(own.base() + first, 2 * kPage, 'x');
  own.endLease(first);
  const uint64_t second = own.lease(2 * kPage, kPage, limit);
  ASSERT_EQ(second, first);
  for (uint64_t i = 0; i < kPage; ++i) ASSERT_EQ(own.base()[second + i], 0) << i;
  own.endLease(second);
}

TEST(Segment, TheLimitBoundsThePool) {
  Segment& own = Segment::own();
  const uint64_t used = own.poolUsed();
  EXPECT_EQ(own.lease(2 * kPage, 0, used + kPage), RangeAllocator::kNone);
  EXPECT_EQ(own.lease(1, 0, used), RangeAllocator::kNone);
  EXPECT_EQ(own.poolUsed(), used);
}

TEST(Segment, WhatALeaseHasBesidesCountsForNoLimit) {
  Segment& own = Segment::own();
  const uint64_t used = own.poolUsed();
  const uint64_t first = own.lease(kPage, 0, used + 2 * kPage, 100 * kPage);
  ASSERT_NE(first, RangeAllocator::kNone);
  EXPECT_EQ(own.poolUsed(), used + kPage);
  const uint64_t second = own.lease(kPage, 0, used + 2 * kPage, 100 * kPage);
  ASSERT_NE(second, RangeAllocator::kNone);
  EXPECT_GE(second > first ? second - first : first - second, 101 * kPage);
  EXPECT_EQ(own.lease(kPage, 0, used + 2 * kPage, kPage), RangeAllocator::kNone);
  own.endLease(first);
  own.endLease(second);
  EXPECT_EQ(own.poolUsed(), used);
  const uint64_t again = own.lease(kPage, 0, used + kPage, 100 * kPage);
  EXPECT_EQ(again, std::min(first, second)) << "all of it was given back";
  own.endLease(again);
}

TEST(Segment, HeapMemoryIsAlignedZeroAndKnown) {
  Segment& own = Segment::own();
  char* memory = static_cast<char*>(own.allocate(10000));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kPage, 0u);
  EXPECT_TRUE(own.inHeap(memory, 10000));
  EXPECT_TRUE(own.inHeap(memory + 9999, 1));
  EXPECT_FALSE(own.inHeap(memory, ~uint64_t{0}));
  EXPECT_FALSE(own.inHeap(own.base(), 1));  // the pool
  EXPECT_FALSE(own.inHeap(own.base() + own.bytes(), 1));
  EXPECT_FALSE(own.inHeap(own.base() + own.bytes() - 1, 2));
  int other = 0;
  EXPECT_FALSE(own.inHeap(&other, 1));
  memory[5000] = 'x';
  EXPECT_TRUE(own.release(memory));
  EXPECT_FALSE(own.release(memory));
  char* again = static_cast<char*>(own.allocate(10000));
  ASSERT_EQ(again, memory);
  EXPECT_EQ(again[5000], 0) << "freed pages are given back to the system";
  EXPECT_TRUE(own.release(again));
}

TEST(Segment, OneMappingAPeer) {
  Segment& own = Segment::own();
  // The own token is no new mapping.
  EXPECT_EQ(PeerSegment::map(own.token(), UniqueFd(), own.bytes())->base(), own.base());
  const uint64_t token = own.token() + 1;
  const auto first = PeerSegment::map(token, UniqueFd(dup(own.fd())), own.bytes());
  const auto second = PeerSegment::map(token, UniqueFd(dup(own.fd())), own.bytes());
  EXPECT_NE(first->base(), own.base());
  EXPECT_EQ(first->base(), second->base());
  char* memory = static_cast<char*>(own.allocate(1));
  *memory = 'y';
  EXPECT_EQ(first->base()[memory - own.base()], 'y');
  EXPECT_TRUE(own.release(memory));
}

TEST(Segment, NoTwoMappingsLieWholeTurnsApart) {
  // The same offsets of two segments would take each other's place in the first cache.
  Segment& own = Segment::own();
  const auto map = [&own](uint64_t token) {
    return PeerSegment::map(own.token() + token, UniqueFd(dup(own.fd())), own.bytes());
  };
  const auto first = map(2), second = map(3);
  const auto apart = [](const char* a, const char* b) {
    return (reinterpret_cast<uintptr_t>(a) - reinterpret_cast<uintptr_t>(b)) % PeerSegment::kTurn;
  };
  EXPECT_NE(apart(first->base(), own.base()), 0U);
  EXPECT_EQ(apart(second->base(), first->base()), PeerSegment::shiftOf(1));
  EXPECT_EQ(apart(first->base(), own.base()) % PeerSegment::shiftOf(1), 0U);
  EXPECT_GT(PeerSegment::shiftOf(1), 0U);
}

TEST(Segment, APeersSegmentThatIsTooShortIsRefused) {
  const UniqueFd file(memfd_create("rondo-test", 0));
  EXPECT_THROW(PeerSegment::map(77, UniqueFd(dup(file.get())), 4096), Error);
  EXPECT_THROW(PeerSegment::map(78, UniqueFd(), 4096), Error);
}

}  // namespace
}  // namespace rondo

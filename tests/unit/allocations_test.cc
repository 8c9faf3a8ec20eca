// What is called again and again allocates nothing.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "p2p/range_allocator.h"
#include "support/world.h"

namespace {

/// Allocations of this thread, and from the how-manieth on there is no memory.
thread_local size_t allocations = 0, lastGood = SIZE_MAX;

void* counted(std::size_t bytes) {
  if (++allocations > lastGood) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& how) noexcept {
  return operator new(bytes, how);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace rondo::testing {
namespace {

/// Allocations of `body`'s hundred calls after some to warm up, on the thread of each rank.
void expectNone(int ranks, const std::function<void(const Rank&)>& body) {
  World(ranks).run([&body](const Rank& me) {
    for (int i = 0; i < 20; ++i) body(me);
    const size_t before = allocations;
    for (int i = 0; i < 100; ++i) body(me);
    EXPECT_EQ(allocations - before, 0u) << "rank " << me.rank;
  });
}

void ok(rondoResult_t result) { ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr); }

/// One of each collective with counts of its own.
void uneven(const Rank& me) {
  std::array<size_t, 4> counts{1, 2, 3, 4}, displs{0, 1, 3, 6}, away{9, 7, 4, 0};
  std::array<float, 64> in{}, out{};
  const size_t mine = counts[static_cast<size_t>(me.rank)];
  ok(rondoAllGatherV(in.data(), mine, out.data(), counts.data(), displs.data(), rondoFloat32,
                     me.comm, nullptr));
  ok(rondoReduceScatterV(in.data(), out.data(), counts.data(), rondoFloat32, rondoSum, me.comm,
                         nullptr));
  ok(rondoGatherV(in.data(), mine, out.data(), counts.data(), away.data(), rondoFloat32, 0, me.comm,
                  nullptr));
  ok(rondoScatterV(in.data(), counts.data(), displs.data(), out.data(), mine, rondoFloat32, 0,
                   me.comm, nullptr));
  const std::array<size_t, 4> one{1, 1, 1, 1};
  ok(rondoAllToAllV(in.data(), one.data(), displs.data(), out.data(), one.data(), displs.data(),
                    rondoFloat32, me.comm, nullptr));
}

/// A window of sends to the next rank and receives from the one before.
void transfers(const Rank& me) {
  std::array<float, 64> in{}, out{};
  const int next = (me.rank + 1) % me.size, before = (me.rank + me.size - 1) % me.size;
  ok(rondoGroupStart());
  for (size_t i = 0; i < in.size(); ++i) {
    ok(rondoSend(&in[i], 1, rondoFloat32, next, me.comm, nullptr));
    ok(rondoRecv(&out[i], 1, rondoFloat32, before, me.comm, nullptr));
  }
  ok(rondoGroupEnd());
  ok(rondoSendRecv(in.data(), 8, next, out.data(), 8, before, rondoFloat32, me.comm, nullptr));
}

void collectives(const Rank& me, rondoRequest_t* request) {
  static thread_local std::array<float, 80> in, out;
  ok(rondoGroupStart());
  for (size_t i = 0; i < 40; ++i) {
    ok(rondoAllReduce(&in[i], &out[i], 1, rondoFloat32, rondoSum, me.comm, nullptr));
  }
  ok(rondoBroadcast(in.data(), &out[41], 3, rondoFloat32, 0, me.comm, nullptr));
  ok(request == nullptr ? rondoGroupEnd() : rondoGroupEndAsync(request));
}

/// A group while there is memory for so many allocations.
rondoResult_t groupOf(const Rank& me, size_t good, size_t count) {
  std::array<float, 256> in{}, out{};
  lastGood = allocations + good;
  const rondoResult_t begun = rondoGroupStart();
  rondoAllReduce(in.data(), out.data(), count, rondoFloat32, rondoSum, me.comm, nullptr);
  rondoBroadcast(in.data(), out.data(), count, rondoFloat32, 0, me.comm, nullptr);
  const rondoResult_t ended = rondoGroupEnd();
  lastGood = SIZE_MAX;
  EXPECT_EQ(begun, rondoSuccess);
  return ended;
}

/// Nothing is thrown at the caller, nothing is left open, and the communicator goes on or says why
/// it does not.
TEST(Allocations, AGroupWithoutMemoryIsAnError) {
  bool enough = false;
  size_t good = 0;
  for (; !enough && good < 100000; good += 1 + good / 8) {
    World(1).run([&](const Rank& me) {
      enough = groupOf(me, good, 100) == rondoSuccess;
      float in = 7, out = 0;
      const rondoResult_t next =
          rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr);
      EXPECT_TRUE(next == rondoSuccess ? out == 7 : !enough) << rondoGetLastError(me.comm);
      EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    });
  }
  EXPECT_TRUE(enough);
  EXPECT_GT(good, 3u);
}

/// Its calls do not differ from theirs.
TEST(Allocations, AGroupWithoutMemoryOnOneRankIsNoMismatch) {
  bool enough = false;
  for (size_t good = 0; !enough && good < 100000; good += 1 + good / 8) {
    World(2).open([&](const Rank& me) {
      const rondoResult_t result = groupOf(me, me.rank == 0 ? good : SIZE_MAX / 2, 100);
      if (me.rank == 0) enough = result == rondoSuccess;
      if (result == rondoSuccess) return ok(rondoCommDestroy(me.comm));
      EXPECT_EQ(result, me.rank == 0 ? rondoOutOfMemory : rondoRemoteError)
          << "rank " << me.rank << " after " << good << ": " << rondoGetLastError(nullptr);
      ok(rondoCommAbort(me.comm));
    });
  }
  EXPECT_TRUE(enough);
}

TEST(Allocations, NoRangeIsLostWhereThereIsNoMemory) {
  constexpr uint64_t kPage = RangeAllocator::kPage;
  RangeAllocator ranges(0, 4 * kPage);
  uint64_t begin = RangeAllocator::kNone;
  size_t good = 0;
  for (; begin == RangeAllocator::kNone && good < 10; ++good) {
    lastGood = allocations + good;
    try {
      begin = ranges.allocate(kPage);
    } catch (const std::bad_alloc&) {
    }
    lastGood = SIZE_MAX;
    if (begin != RangeAllocator::kNone) break;
    EXPECT_EQ(ranges.used(), 0u);
    EXPECT_EQ(ranges.allocate(4 * kPage), 0u) << "after " << good << " allocations";
    EXPECT_EQ(ranges.release(0), 4 * kPage);
  }
  EXPECT_GT(good, 0u);
  ASSERT_EQ(begin, 0u);
  lastGood = allocations;
  EXPECT_EQ(ranges.release(begin), kPage);
  lastGood = SIZE_MAX;
  EXPECT_EQ(ranges.allocate(4 * kPage), 0u);
}

TEST(Allocations, PlainCalls) {
  expectNone(3, [](const Rank& me) {
    float in = 1, out = 0;
    ok(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr));
    ok(rondoBarrier(me.comm, nullptr));
  });
}

TEST(Allocations, CountsOfTheirOwn) { expectNone(4, uneven); }

TEST(Allocations, CountsOfTheirOwnInAGroup) {
  expectNone(4, [](const Rank& me) {
    // Their buffers would be gone before the group's end: one collective that keeps them.
    static thread_local std::array<float, 64> in, out;
    const std::array<size_t, 4> counts{1, 2, 3, 4}, displs{0, 1, 3, 6};
    ok(rondoGroupStart());
    for (int i = 0; i < 5; ++i) {
      ok(rondoAllGatherV(in.data(), counts[static_cast<size_t>(me.rank)], out.data(), counts.data(),
                         displs.data(), rondoFloat32, me.comm, nullptr));
    }
    ok(rondoGroupEnd());
  });
}

TEST(Allocations, SendsAndReceives) { expectNone(3, transfers); }

TEST(Allocations, GroupsOfCollectives) {
  expectNone(3, [](const Rank& me) { collectives(me, nullptr); });
}

TEST(Allocations, RequestsAndThePlainCallBehindThem) {
  expectNone(3, [](const Rank& me) {
    rondoRequest_t requests[2] = {};
    for (rondoRequest_t& request : requests) collectives(me, &request);
    float in = 1, out = 0;
    ok(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr));
    ok(rondoWaitAll(2, requests));
  });
}

}  // namespace
}  // namespace rondo::testing

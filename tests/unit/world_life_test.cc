// Communicators come and go: several at once, hundreds one after another, more than the pool holds.

#include <gtest/gtest.h>

#include <fstream>

#include "p2p/segment.h"
#include "support/world.h"
#include "unit/boot_ranks.h"

namespace rondo::testing {
namespace {

using rondo::test::openDescriptors;
using rondo::test::runningThreads;
using rondo::test::soon;

void sumOnce(rondoComm_t comm, int size, size_t count) {
  std::vector<int32_t> in(count, 3), out(count, -1);
  ASSERT_EQ(rondoAllReduce(in.data(), out.data(), count, rondoInt32, rondoSum, comm, nullptr),
            rondoSuccess)
      << rondoGetLastError(comm);
  EXPECT_EQ(out, std::vector<int32_t>(count, 3 * size));
}

TEST(WorldLife, SeveralCommunicatorsUsedInTurn) {
  constexpr int kRanks = 3, kComms = 4;
  rondoUniqueId ids[kComms];
  for (rondoUniqueId& id : ids) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  onRanks(kRanks, [&](int rank) {
    rondoComm_t comms[kComms];
    for (int c = 0; c < kComms; ++c) {
      // Rank numbers turn from one communicator to the next.
      ASSERT_EQ(rondoCommInitRank(&comms[c], kRanks, ids[c], (rank + c) % kRanks), rondoSuccess)
          << rondoGetLastError(nullptr);
    }
    for (int round = 0; round < 60; ++round) {
      const int c = round * 7 % kComms;
      sumOnce(comms[c], kRanks, static_cast<size_t>(round % 5) * 3000 + 1);
      if (round % 9 == 0) {
        EXPECT_EQ(rondoBarrier(comms[(c + 1) % kComms], nullptr), rondoSuccess);
      }
    }
    // Ended in different orders on different ranks: destroying is local.
    for (int c = 0; c < kComms; ++c) {
      EXPECT_EQ(rondoCommDestroy(comms[(c + rank) % kComms]), rondoSuccess);
    }
  });
}

/// Calls of several communicators in one group, which ranks list in different orders; those of one
/// communicator keep theirs.
TEST(WorldLife, SeveralCommunicatorsInOneGroup) {
  constexpr int kRanks = 3, kComms = 3;
  rondoUniqueId ids[kComms];
  for (rondoUniqueId& id : ids) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  onRanks(kRanks, [&](int rank) {
    rondoComm_t comms[kComms];
    for (int c = 0; c < kComms; ++c) {
      ASSERT_EQ(rondoCommInitRank(&comms[c], kRanks, ids[c], rank), rondoSuccess);
    }
    for (const size_t count : {size_t{1}, size_t{5000}, size_t{200000}}) {
      std::vector<std::vector<int32_t>> in, sum, got;
      for (int c = 0; c < kComms; ++c) {
        in.emplace_back(count, rank + 10 * c);
        sum.emplace_back(count);
        got.emplace_back(count);
      }
      const int next = (rank + 1) % kRanks, before = (rank + kRanks - 1) % kRanks;
      ASSERT_EQ(rondoGroupStart(), rondoSuccess);
      for (int k = 0; k < kComms; ++k) {
        const auto c = static_cast<size_t>((k + rank) % kComms);
        rondoRecv(got[c].data(), count, rondoInt32, before, comms[c], nullptr);
        rondoAllReduce(in[c].data(), sum[c].data(), count, rondoInt32, rondoSum, comms[c], nullptr);
        rondoSend(in[c].data(), count, rondoInt32, next, comms[c], nullptr);
      }
      ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
      for (int c = 0; c < kComms; ++c) {
        const auto at = static_cast<size_t>(c);
        EXPECT_EQ(sum[at], std::vector<int32_t>(count, 3 + 10 * kRanks * c));
        EXPECT_EQ(got[at], std::vector<int32_t>(count, before + 10 * c));
      }
    }
    for (rondoComm_t comm : comms) EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  });
}

size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t lines = 0;
  for (std::string line; std::getline(maps, line);) {
    lines += line.find("memfd:rondo") != std::string::npos;
  }
  return lines;
}

TEST(WorldLife, TwoHundredCyclesLeaveNothingBehind) {
  const auto cycle = [] { World(3).run([](const Rank& me) { sumOnce(me.comm, me.size, 5000); }); };
  cycle();  // makes what a process has once
  ASSERT_TRUE(soon([] { return Segment::own().poolUsed() == 0; }));
  const int threads = runningThreads();
  const int descriptors = openDescriptors();
  const size_t maps = mappings();
  for (int i = 0; i < 200; ++i) cycle();
  EXPECT_TRUE(soon([&] { return openDescriptors() <= descriptors; }))
      << openDescriptors() << " descriptors, before " << descriptors;
  EXPECT_TRUE(soon([&] { return runningThreads() <= threads; }))
      << runningThreads() << " threads, before " << threads;
  EXPECT_EQ(mappings(), maps);
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

TEST(WorldLife, SharedMemoryIsFreedAgain) {
  for (int i = 0; i < 300; ++i) {
    void* memory = nullptr;
    ASSERT_EQ(rondoMemAlloc(&memory, 16u << 20), rondoSuccess) << rondoGetLastError(nullptr);
    static_cast<char*>(memory)[12345] = 1;
    ASSERT_EQ(rondoMemFree(memory), rondoSuccess);
  }
}

TEST(WorldLife, APoolUsedUpIsAnErrorOnAllRanksAndGivesSmallerChunksBefore) {
  const Env pool("RONDO_POOL_BYTES", "1M");
  constexpr int kRanks = 2, kMost = 100;
  std::vector<std::vector<rondoComm_t>> comms(kRanks);
  bool full = false;
  for (int i = 0; i < kMost && !full; ++i) {
    rondoUniqueId id;
    ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
    rondoResult_t codes[kRanks];
    std::string sentences[kRanks];
    onRanks(kRanks, [&](int r) {
      rondoComm_t comm = nullptr;
      codes[r] = rondoCommInitRank(&comm, kRanks, id, r);
      if (codes[r] == rondoSuccess) {
        comms[static_cast<size_t>(r)].push_back(comm);
        sumOnce(comm, kRanks, 20000);
      } else {
        EXPECT_EQ(comm, nullptr);
        sentences[r] = rondoGetLastError(nullptr);
      }
    });
    EXPECT_EQ(codes[0], codes[1]);
    if (codes[0] == rondoSuccess) continue;
    full = true;
    EXPECT_EQ(codes[0], rondoOutOfMemory);
    for (const std::string& sentence : sentences) {
      EXPECT_NE(sentence.find("rondoCommInitRank"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("RONDO_POOL_BYTES"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("of 2097152 bytes in use"), std::string::npos) << sentence;
    }
  }
  EXPECT_TRUE(full);
  // The first communicator's leases are of 80 KiB (areas of 16 KiB): twelve like it would fill
  // the two ranks' pool. There are more, because later ones make do with less.
  EXPECT_GT(comms[0].size(), 16u);
  // All that there are go on working, and what is given back is used again.
  onRanks(kRanks, [&](int r) {
    for (rondoComm_t comm : comms[static_cast<size_t>(r)]) sumOnce(comm, kRanks, 3001);
    for (rondoComm_t comm : comms[static_cast<size_t>(r)]) {
      EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
    }
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
  World(3).run([](const Rank& me) { sumOnce(me.comm, me.size, 70000); });
}

TEST(WorldLife, ARankMayLeaveWhileOthersStillRead) {
  World(4).open([](const Rank& me) {
    std::vector<int64_t> data(20000, me.rank == 0 ? 7 : -1);
    if (me.rank != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5 * me.rank));
    // 100 bytes: the root has posted its message and is gone before the others look.
    EXPECT_EQ(rondoBroadcast(data.data(), data.data(), 12, rondoInt64, 0, me.comm, nullptr),
              rondoSuccess);
    EXPECT_EQ(data[11], 7);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

}  // namespace
}  // namespace rondo::testing

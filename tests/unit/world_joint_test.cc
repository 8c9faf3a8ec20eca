// Calls of one group that run as one: the same results as one by one, one pass on the wire, and
// groups that differ are named.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "api/types.h"
#include "coll/joint_call.h"
#include "p2p/trace_ports.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// One collective of a random group; the same on all ranks.
struct Item {
  Collective collective;
  size_t count;
  rondoDataType_t type;
  rondoRedOp_t op;
  int root;
  bool inPlace;
};

/// Groups in which neighbours are often alike, or short, so that passes of every length come about.
std::vector<Item> randomGroup(std::mt19937& random, int ranks) {
  constexpr Collective kKinds[] = {
      Collective::AllReduce,     Collective::Broadcast, Collective::Reduce, Collective::AllGather,
      Collective::ReduceScatter, Collective::AllToAll,  Collective::Gather, Collective::Scatter,
      Collective::Scan,          Collective::Exscan,    Collective::Barrier};
  constexpr size_t kCounts[] = {0, 1, 3, 17, 256, 1000, 4096, 5000, 20000};
  std::vector<Item> items;
  const size_t n = 1 + random() % 90;
  const bool mixed = random() % 2 == 0;
  while (items.size() < n) {
    const Item like{kKinds[random() % 11],
                    0,
                    random() % 2 == 0 ? rondoInt32 : rondoFloat32,
                    random() % 2 == 0 ? rondoSum : rondoMax,
                    static_cast<int>(random() % static_cast<unsigned>(ranks)),
                    false};
    const size_t alike = mixed ? 1 : 1 + random() % 80;
    const size_t largest = mixed ? 5 : 2 + random() % (std::size(kCounts) - 1);
    for (size_t i = 0; i < alike && items.size() < n; ++i) {
      items.push_back(like);
      items.back().count = kCounts[random() % largest];
      items.back().inPlace = random() % 3 == 0;
    }
  }
  return items;
}

/// A rank's memory for one item.
struct Buffers {
  std::vector<int32_t> send, recv;
};

size_t slots(const Item& item, int ranks) {
  return hasSlots(item.collective) ? static_cast<size_t>(ranks) : 1;
}

/// Small whole numbers, as bits of the item's type: every association gives the same sum.
Buffers filled(const Item& item, const Rank& me, size_t index) {
  Buffers b;
  const size_t length = item.count * slots(item, me.size);
  for (size_t i = 0; i < length; ++i) {
    const auto value =
        static_cast<int32_t>((i * 7 + index * 13 + static_cast<size_t>(me.rank)) % 50);
    const auto real = static_cast<float>(value);
    int32_t bits = value;
    if (item.type == rondoFloat32) std::memcpy(&bits, &real, sizeof bits);
    b.send.push_back(bits);
    b.recv.push_back(-1);
  }
  return b;
}

/// Where the item is in place its recv buffer holds the input.
rondoResult_t call(const Item& item, Buffers& b, const Rank& me) {
  const size_t count = item.count;
  const size_t mine = static_cast<size_t>(me.rank) * count;
  int32_t* recv = b.recv.data();
  const int32_t* send = b.send.data();
  const bool root = me.rank == item.root;
  const auto inPlace = [&](size_t offset, bool all) {
    if (!item.inPlace || count == 0) return;
    std::copy(b.send.begin(), b.send.begin() + static_cast<ptrdiff_t>(all ? b.send.size() : count),
              b.recv.begin() + static_cast<ptrdiff_t>(offset));
    send = recv + offset;
  };
  const auto [kind, unused, type, op, at, place] = item;
  switch (kind) {
    case Collective::AllReduce:
      inPlace(0, true);
      return rondoAllReduce(send, recv, count, type, op, me.comm, nullptr);
    case Collective::Broadcast:
      return rondoBroadcast(send, recv, count, type, at, me.comm, nullptr);
    case Collective::Reduce:
      if (root) inPlace(0, true);
      return rondoReduce(send, recv, count, type, op, at, me.comm, nullptr);
    case Collective::AllGather:
      inPlace(mine, false);
      return rondoAllGather(send, recv, count, type, me.comm, nullptr);
    case Collective::ReduceScatter:
      return rondoReduceScatter(send, recv, count, type, op, me.comm, nullptr);
    case Collective::AllToAll:
      return rondoAllToAll(send, recv, count, type, me.comm, nullptr);
    case Collective::Gather:
      if (root) inPlace(mine, false);
      return rondoGather(send, recv, count, type, at, me.comm, nullptr);
    case Collective::Scatter:
      return rondoScatter(send, recv, count, type, at, me.comm, nullptr);
    case Collective::Scan:
      inPlace(0, true);
      return rondoScan(send, recv, count, type, op, me.comm, nullptr);
    case Collective::Exscan:
      return rondoExscan(send, recv, count, type, op, me.comm, nullptr);
    case Collective::Barrier:
      break;
  }
  return rondoBarrier(me.comm, nullptr);
}

/// The results of `items`, one by one or in one group.
std::vector<Buffers> results(const std::vector<Item>& items, const Rank& me, bool grouped,
                             bool async) {
  std::vector<Buffers> buffers;
  for (size_t i = 0; i < items.size(); ++i) buffers.push_back(filled(items[i], me, i));
  if (grouped) {
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(call(items[i], buffers[i], me), rondoSuccess) << rondoGetLastError(nullptr);
  }
  rondoRequest_t request = nullptr;
  if (grouped && async) {
    EXPECT_EQ(rondoGroupEndAsync(&request), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(rondoWait(&request), rondoSuccess) << rondoGetLastError(nullptr);
  } else if (grouped) {
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
  }
  return buffers;
}

class WorldJoint : public ::testing::TestWithParam<int> {};

TEST_P(WorldJoint, RandomGroupsGiveWhatOneByOneGives) {
  World(GetParam()).run([](const Rank& me) {
    std::mt19937 random(7);
    for (int round = 0; round < 12; ++round) {
      const std::vector<Item> items = randomGroup(random, me.size);
      const auto alone = results(items, me, false, false);
      const auto together = results(items, me, true, round % 2 == 1);
      for (size_t i = 0; i < items.size(); ++i) {
        ASSERT_EQ(together[i].recv, alone[i].recv)
            << "round " << round << ", call " << i << " of " << items.size() << ": "
            << collectiveName(items[i].collective) << " count " << items[i].count;
      }
    }
  });
}

/// All-reduces of random bits, whose sums depend on the association.
std::vector<std::vector<float>> sumsOf(const Rank& me, bool grouped) {
  std::mt19937 random(static_cast<unsigned>(me.rank));
  std::vector<std::vector<float>> in, out;
  for (size_t i = 0; i < 30; ++i) {
    in.emplace_back(1 + i * 37 % 600);
    out.emplace_back(in.back().size());
    for (float& x : in.back()) x = std::ldexp(static_cast<float>(random()), -int(random() % 40));
  }
  if (grouped) {
    EXPECT_EQ(rondoGroupStart(), rondoSuccess);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_EQ(rondoAllReduce(in[i].data(), out[i].data(), in[i].size(), rondoFloat32, rondoSum,
                             me.comm, nullptr),
              rondoSuccess);
  }
  if (grouped) {
    EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
  }
  return out;
}

TEST_P(WorldJoint, TheSameBitsOnEveryRunAndReproducibleOnesAreThoseOfOneByOne) {
  World(GetParam()).run([](const Rank& me) {
    const auto first = sumsOf(me, true);
    for (int run = 0; run < 5; ++run) ASSERT_EQ(sumsOf(me, true), first);
  });
  const Env reproducible("RONDO_REPRODUCIBLE", "1");
  World(GetParam()).run([](const Rank& me) { ASSERT_EQ(sumsOf(me, true), sumsOf(me, false)); });
}

INSTANTIATE_TEST_SUITE_P(World, WorldJoint, ::testing::Values(1, 2, 3, 4, 6));

/// Messages of `calls` all-reduces of `count` elements in one group.
size_t messagesOf(int ranks, size_t calls, size_t count) {
  const auto log = std::make_shared<MessageLog>();
  World world(ranks);
  world.decorate([&log](Channels& channels, int rank) { tracePorts(channels, rank, log); });
  world.run([&](const Rank& me) {
    std::vector<std::vector<float>> in(calls, std::vector<float>(count, 1.0f)), out = in;
    RONDO_OK(rondoGroupStart());
    for (size_t i = 0; i < calls; ++i) {
      RONDO_OK(rondoAllReduce(in[i].data(), out[i].data(), count, rondoFloat32, rondoSum, me.comm,
                              nullptr));
    }
    RONDO_OK(rondoGroupEnd());
    for (const auto& sum : out) {
      ASSERT_EQ(sum, std::vector<float>(count, static_cast<float>(me.size)));
    }
  });
  return log->take().size();
}

TEST(WorldJointPass, ManySmallAllReducesTravelAsOne) {
  for (const int ranks : {2, 3, 4}) {
    for (const size_t calls : {size_t{2}, size_t{7}, JointCall::kMostCalls}) {
      EXPECT_EQ(messagesOf(ranks, calls, 12), messagesOf(ranks, 1, 12 * calls))
          << ranks << " ranks, " << calls << " calls";
    }
    // Two passes; and calls that are too long for one keep their own messages.
    EXPECT_EQ(messagesOf(ranks, 2 * JointCall::kMostCalls, 12),
              2 * messagesOf(ranks, 1, 12 * JointCall::kMostCalls));
    const size_t tooLong = JointCall::kMostCallBytes / sizeof(float) + 1;
    EXPECT_EQ(messagesOf(ranks, 3, tooLong), 3 * messagesOf(ranks, 1, tooLong));
  }
}

/// Every rank calls body and gets rondoMismatch with all `words`.
void expectMismatch(int ranks, const std::function<void(const Rank&, std::vector<float>&)>& body,
                    const std::vector<std::string>& words) {
  World(ranks).open([&](const Rank& me) {
    std::vector<float> memory(100000);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    body(me, memory);
    EXPECT_EQ(rondoGroupEnd(), rondoMismatch) << "rank " << me.rank;
    const std::string sentence = rondoGetLastError(me.comm);
    for (const std::string& word : words) {
      EXPECT_NE(sentence.find(word), std::string::npos) << sentence << "\nlacks " << word;
    }
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

/// All-reduces of these counts, one after the other in `memory`.
void allReduces(const Rank& me, std::vector<float>& memory, const std::vector<size_t>& counts) {
  float* at = memory.data();
  for (const size_t count : counts) {
    RONDO_OK(rondoAllReduce(at, at, count, rondoFloat32, rondoSum, me.comm, nullptr));
    at += count;
  }
}

TEST(WorldJointMismatch, AnotherOrderOfTheSameCounts) {
  // The sum of the counts is the same: only the single calls differ.
  for (const int ranks : {2, 3}) {
    expectMismatch(ranks,
                   [](const Rank& me, std::vector<float>& memory) {
                     if (me.rank == 1) {
                       allReduces(me, memory, {5, 20, 10, 7});
                     } else {
                       allReduces(me, memory, {5, 10, 20, 7});
                     }
                   },
                   {"count 10", "count 20", "collective 2", "allreduce"});
  }
}

TEST(WorldJointMismatch, EveryOrderThatDiffersIsAnError) {
  // As a mutation test: no shuffle that changes the counts gets through.
  std::mt19937 random(3);
  for (int round = 0; round < 8; ++round) {
    std::vector<size_t> counts(12), other;
    std::iota(counts.begin(), counts.end(), 1 + random() % 300);
    other = counts;
    std::shuffle(other.begin(), other.end(), random);
    if (other == counts) continue;
    expectMismatch(2,
                   [&](const Rank& me, std::vector<float>& memory) {
                     allReduces(me, memory, me.rank == 0 ? counts : other);
                   },
                   {"rank 0 calls allreduce with count", "rank 1 calls allreduce with count"});
  }
}

TEST(WorldJointMismatch, AnotherNumberOfCalls) {
  expectMismatch(3,
                 [](const Rank& me, std::vector<float>& memory) {
                   const size_t n = me.rank == 2 ? 2 : 3;
                   allReduces(me, memory, std::vector<size_t>(n, 50));
                 },
                 {"one of 2 of a group", "one of 3 of a group"});
}

TEST(WorldJointMismatch, AnotherKindInTheMiddle) {
  expectMismatch(2,
                 [](const Rank& me, std::vector<float>& memory) {
                   allReduces(me, memory, {50, 50});
                   float* at = memory.data() + 1000;
                   if (me.rank == 0) {
                     RONDO_OK(rondoBroadcast(at, at, 50, rondoFloat32, 0, me.comm, nullptr));
                   } else {
                     RONDO_OK(rondoAllReduce(at, at, 50, rondoFloat32, rondoSum, me.comm, nullptr));
                   }
                 },
                 {"broadcast with count 50", "allreduce with count 50", "collective 3"});
}

TEST(WorldJointMisuse, AResultThatAnotherCallReadsIsRefused) {
  World(2).run([](const Rank& me) {
    std::vector<float> memory(100, 1.0f);
    float* at = memory.data();
    // The second call reads what the first one writes; nothing runs, on any rank.
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(at, at + 50, 10, rondoFloat32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoAllReduce(at + 59, at + 80, 10, rondoFloat32, rondoSum, me.comm, nullptr));
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    const std::string sentence = rondoGetLastError(nullptr);
    EXPECT_NE(sentence.find("collective 1 of the group"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("collective 2 reads or writes"), std::string::npos) << sentence;
    EXPECT_EQ(memory, std::vector<float>(100, 1.0f));
    // The same input for several is fine, and the communicator still good.
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(at, at + 50, 10, rondoFloat32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoAllReduce(at, at + 60, 10, rondoFloat32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoAllReduce(at + 70, at + 70, 10, rondoFloat32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoGroupEnd());
    EXPECT_EQ(memory[50], 2.0f);
    EXPECT_EQ(memory[69], 2.0f);
    EXPECT_EQ(memory[79], 2.0f);
    EXPECT_EQ(memory[80], 1.0f);
  });
}

TEST(WorldJointMisuse, ClashesBehindALongBlockAreSeen) {
  // [0, 60) is read by one call and [10, 100) by another; a third one writes [50, 55), of which
  // the nearer begin is not the first one's.
  World(2).run([](const Rank& me) {
    std::vector<float> memory(400, 1.0f);
    float* at = memory.data();
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(at, at + 200, 60, rondoFloat32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoAllReduce(at + 50, at + 50, 5, rondoFloat32, rondoSum, me.comm, nullptr));
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
  });
}

TEST(WorldGroupUse, AnotherThreadIsRefusedWhileAGroupRuns) {
  std::atomic<bool> refused{false};
  World(2).run([&refused](const Rank& me) {
    float in = 1, out = 0;
    if (me.rank == 1) {
      // Rank 0's group waits for this rank until its second thread was refused.
      while (!refused.load()) std::this_thread::yield();
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr));
      RONDO_OK(rondoGroupEnd());
      return;
    }
    std::thread other([&] {
      float mine = 1, sum = 0;
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      // A send to itself without its receive is refused at once where the communicator is free.
      // Many refusals in a row are no single call of the other thread.
      int inARow = 0;
      while (inARow < 200 && std::chrono::steady_clock::now() < limit) {
        EXPECT_EQ(rondoSend(&mine, 1, rondoFloat32, 0, me.comm, nullptr), rondoInvalidUsage);
        const std::string sentence = rondoGetLastError(nullptr);
        const bool busy = sentence.find("in use by another thread") != std::string::npos;
        inARow = busy ? inARow + 1 : 0;
        std::this_thread::yield();
      }
      EXPECT_EQ(inARow, 200) << "a running group does not keep other threads off";
      if (inARow == 200) {
        EXPECT_EQ(rondoGroupStart(), rondoSuccess);
        EXPECT_EQ(rondoAllReduce(&mine, &sum, 1, rondoFloat32, rondoSum, me.comm, nullptr),
                  rondoSuccess);
        EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
      }
      refused.store(true);
    });
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr));
    rondoResult_t collected = rondoGroupEnd();
    // The other thread's probes hold the communicator for moments, too: then this one was refused.
    while (collected != rondoSuccess && !refused.load()) {
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr));
      collected = rondoGroupEnd();
    }
    other.join();
    EXPECT_EQ(out, 2.0f);
  });
}

}  // namespace
}  // namespace rondo::testing

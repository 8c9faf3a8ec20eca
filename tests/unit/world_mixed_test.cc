// Short calls of one group that differ in kind run as one pass: the results of one by one, one
// all-gather on the wire, and calls that need each other's results still follow each other.

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>

#include "api/types.h"
#include "coll/mixed_pass.h"
#include "p2p/trace_ports.h"
#include "support/buffer.h"
#include "support/collective_case.h"
#include "support/wild_elements.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// Every collective with counts of one length, every type and operator, in no order.
std::vector<Case> mixedCases(int ranks) {
  std::vector<Case> cases;
  constexpr Call kKinds[] = {Call::AllReduce,     Call::Broadcast, Call::Reduce, Call::AllGather,
                             Call::ReduceScatter, Call::AllToAll,  Call::Gather, Call::Scatter,
                             Call::Scan,          Call::Exscan};
  for (const Call call : kKinds) {
    for (const rondoDataType_t type : kAllTypes) {
      for (const rondoRedOp_t op : kAllOps) {
        if (reduces(call) ? !opDefined(type, op) || (isScan(call) && op == rondoAvg)
                          : op != rondoSum) {
          continue;
        }
        const auto salt = static_cast<unsigned>(cases.size());
        cases.push_back({call, type, op, 1 + salt % 9, static_cast<int>(salt) % ranks,
                         salt % 4 == 0, false, salt});
      }
    }
  }
  std::mt19937 random(5);
  std::shuffle(cases.begin(), cases.end(), random);
  return cases;
}

/// A rank's buffers of one case, input laid. In place they are parts of `recvMemory`.
struct Laid {
  Side side;
  std::unique_ptr<Buffer> sendMemory, recvMemory;
  char *send, *recv;
};

Laid layOut(const Case& c, const Rank& me, size_t index) {
  Laid laid{sideOf(c, me.rank, me.size), nullptr, nullptr, nullptr, nullptr};
  const Side& side = laid.side;
  const auto element = static_cast<ptrdiff_t>(typeSize(c.type));
  const auto buffer = [element](ptrdiff_t count, size_t skew) {
    return std::make_unique<Buffer>(static_cast<size_t>(count * element), false, skew);
  };
  const auto sends = static_cast<ptrdiff_t>(side.sendCount);
  const auto takes = static_cast<ptrdiff_t>(side.recvCount);
  const bool place = c.inPlace && side.mayAlias && side.usesSend && side.usesRecv;
  const ptrdiff_t before = place && side.alias < 0 ? -side.alias : 0;
  laid.sendMemory = buffer(place ? 0 : sends, index % 16);
  laid.recvMemory = buffer(before + std::max(takes, place ? side.alias + sends : 0), index % 7);
  laid.recv = laid.recvMemory->data() + before * element;
  laid.send = place ? laid.recv + side.alias * element : laid.sendMemory->data();
  const auto wild = wildElements(c.type, me.rank * 1000 + static_cast<int>(index), side.sendCount);
  if (side.usesSend) std::copy(wild.begin(), wild.end(), laid.send);
  return laid;
}

/// What each case leaves in its recvbuff: one by one, or `together` to a group.
std::vector<std::vector<char>> resultsOf(const std::vector<Case>& cases, const Rank& me,
                                         size_t together) {
  std::vector<std::vector<char>> results;
  for (size_t begin = 0; begin < cases.size(); begin += together) {
    const size_t end = std::min(begin + together, cases.size());
    std::vector<Laid> laid;
    if (together > 1) {
      EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    }
    for (size_t i = begin; i < end; ++i) {
      laid.push_back(layOut(cases[i], me, i));
      Laid& one = laid.back();
      EXPECT_EQ(invoke(cases[i], one.side, one.send, one.recv, me.rank, me.comm), rondoSuccess)
          << rondoGetLastError(nullptr) << "; " << cases[i].text();
    }
    if (together > 1) {
      EXPECT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
    }
    for (const Laid& one : laid) {
      EXPECT_TRUE(one.recvMemory->intact() && one.sendMemory->intact());
      results.emplace_back(one.recvMemory->data(),
                           one.recvMemory->data() + one.recvMemory->bytes());
    }
  }
  return results;
}

class WorldMixed : public ::testing::TestWithParam<int> {};

/// Of any bits; `reproducible`, so that one by one the association is the same.
TEST_P(WorldMixed, EveryKindTypeAndOperatorGivesTheBitsOfOneByOne) {
  const Env reproducible("RONDO_REPRODUCIBLE", "1");
  World(GetParam()).run([](const Rank& me) {
    const std::vector<Case> cases = mixedCases(me.size);
    const auto alone = resultsOf(cases, me, 1), grouped = resultsOf(cases, me, 13);
    for (size_t i = 0; i < cases.size(); ++i) ASSERT_EQ(grouped[i], alone[i]) << cases[i].text();
  });
}

INSTANTIATE_TEST_SUITE_P(World, WorldMixed, ::testing::Values(2, 3, 5, 8));

/// Messages of what `body` calls.
size_t messagesOf(int ranks, const std::function<void(const Rank&)>& body) {
  const auto log = std::make_shared<MessageLog>();
  World world(ranks);
  world.decorate([&log](Channels& channels, int rank) { tracePorts(channels, rank, log); });
  world.run(body);
  return log->take().size();
}

TEST(WorldMixedPass, KindsThatDifferTravelAsOneAllGather) {
  for (const int ranks : {2, 3, 4}) {
    const size_t mixed = messagesOf(ranks, [](const Rank& me) {
      std::vector<float> a(3, 1.0f), sum(3), all(3 * static_cast<size_t>(me.size));
      int32_t b = 40 + me.rank;
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoAllReduce(a.data(), sum.data(), 3, rondoFloat32, rondoSum, me.comm, nullptr));
      RONDO_OK(rondoBroadcast(&b, &b, 1, rondoInt32, 1, me.comm, nullptr));
      RONDO_OK(rondoBarrier(me.comm, nullptr));
      RONDO_OK(rondoAllGather(a.data(), all.data(), 3, rondoFloat32, me.comm, nullptr));
      RONDO_OK(rondoGroupEnd());
      EXPECT_EQ(sum, std::vector<float>(3, static_cast<float>(me.size)));
      EXPECT_EQ(b, 41);
      EXPECT_EQ(all, std::vector<float>(all.size(), 1.0f));
    });
    const size_t gathered = messagesOf(ranks, [](const Rank& me) {
      constexpr size_t kBlock = 8 + 12 + 4 + 12;
      std::vector<char> block(kBlock), all(kBlock * static_cast<size_t>(me.size));
      RONDO_OK(rondoAllGather(block.data(), all.data(), kBlock, rondoUint8, me.comm, nullptr));
    });
    EXPECT_EQ(mixed, gathered) << ranks << " ranks";
  }
}

TEST(WorldMixedPass, BarriersOfAGroupAreOne) {
  const auto barriers = [](size_t n) {
    return [n](const Rank& me) {
      RONDO_OK(rondoGroupStart());
      for (size_t i = 0; i < n; ++i) RONDO_OK(rondoBarrier(me.comm, nullptr));
      RONDO_OK(rondoGroupEnd());
    };
  };
  EXPECT_EQ(messagesOf(3, barriers(5)), messagesOf(3, barriers(1)));
}

TEST(WorldMixedPass, LongCallsKeepTheirOwn) {
  World(2).run([](const Rank& me) {
    const size_t count = MixedPass::kMostBytes;
    std::vector<int32_t> in(count, 1), sum(count), copy(count, me.rank);
    for (int round = 0; round < 3; ++round) {
      int32_t small = me.rank;
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoBroadcast(&small, &small, 1, rondoInt32, 1, me.comm, nullptr));
      RONDO_OK(
          rondoAllReduce(in.data(), sum.data(), count, rondoInt32, rondoSum, me.comm, nullptr));
      RONDO_OK(rondoBroadcast(copy.data(), copy.data(), count, rondoInt32, 1, me.comm, nullptr));
      RONDO_OK(rondoGroupEnd());
      EXPECT_EQ(small, 1);
      EXPECT_EQ(sum, std::vector<int32_t>(count, 2));
      EXPECT_EQ(copy, std::vector<int32_t>(count, 1));
    }
  });
}

/// A chain in which each call reads what the one before makes; `needs`: ranks at which it does.
void chain(const Rank& me, bool needs) {
  std::vector<int32_t> a{1, 2}, b(2, -1), c(2, -1), d(2, -1), other{10, 20};
  const auto from = [&](std::vector<int32_t>& made) { return needs ? made.data() : other.data(); };
  RONDO_OK(rondoGroupStart());
  RONDO_OK(rondoAllReduce(a.data(), b.data(), 2, rondoInt32, rondoSum, me.comm, nullptr));
  RONDO_OK(rondoAllReduce(from(b), c.data(), 2, rondoInt32, rondoMax, me.comm, nullptr));
  RONDO_OK(rondoBroadcast(from(c), d.data(), 2, rondoInt32, me.size - 1, me.comm, nullptr));
  RONDO_OK(rondoGroupEnd());
  const int32_t n = me.size;
  EXPECT_EQ(b, (std::vector<int32_t>{n, 2 * n}));
  if (!needs) return;
  EXPECT_EQ(d, c);
}

TEST(WorldMixedPass, CallsThatNeedEachOthersResultsFollowEachOther) {
  for (const int ranks : {2, 3, 4}) {
    World(ranks).run([](const Rank& me) {
      for (int round = 0; round < 5; ++round) chain(me, true);
      for (int round = 0; round < 5; ++round) chain(me, me.rank == 0);
      for (int round = 0; round < 5; ++round) chain(me, me.rank == me.size - 1);
    });
  }
}

TEST(WorldMixedPass, WhatIsReadFirstMayBeWrittenAfterwards) {
  World(3).run([](const Rank& me) {
    int32_t value = me.rank + 1, sum = 0;
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&value, &sum, 1, rondoInt32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoScan(&sum, &value, 1, rondoInt32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoAllReduce(&value, &value, 1, rondoInt32, rondoMax, me.comm, nullptr));
    RONDO_OK(rondoGroupEnd());
    EXPECT_EQ(sum, 6);
    EXPECT_EQ(value, 18);
  });
}

TEST(WorldMixedPass, ManyOutstandingGroupsOfMixedCalls) {
  World(4).run([](const Rank& me) {
    constexpr size_t kGroups = 40;
    std::vector<int32_t> sums(kGroups), scans(kGroups), in(kGroups);
    std::iota(in.begin(), in.end(), me.rank);
    std::vector<rondoRequest_t> requests(kGroups);
    for (size_t i = 0; i < kGroups; ++i) {
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoAllReduce(&in[i], &sums[i], 1, rondoInt32, rondoSum, me.comm, nullptr));
      RONDO_OK(rondoScan(&sums[i], &scans[i], 1, rondoInt32, rondoSum, me.comm, nullptr));
      RONDO_OK(rondoGroupEndAsync(&requests[i]));
    }
    RONDO_OK(rondoWaitAll(kGroups, requests.data()));
    for (size_t i = 0; i < kGroups; ++i) {
      const auto sum = static_cast<int32_t>(4 * i + 6);
      ASSERT_EQ(sums[i], sum) << i;
      ASSERT_EQ(scans[i], (me.rank + 1) * sum) << i;
    }
  });
}

TEST(WorldMixedMismatch, AnotherKindInTheMiddleIsNamed) {
  World(3).open([](const Rank& me) {
    std::vector<int32_t> a(4, 1), b(12), c(4);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    RONDO_OK(rondoAllReduce(a.data(), c.data(), 4, rondoInt32, rondoSum, me.comm, nullptr));
    if (me.rank == 2) {
      RONDO_OK(rondoScan(a.data(), b.data(), 4, rondoInt32, rondoSum, me.comm, nullptr));
    } else {
      RONDO_OK(rondoReduce(a.data(), b.data(), 4, rondoInt32, rondoSum, 0, me.comm, nullptr));
    }
    EXPECT_EQ(rondoGroupEnd(), rondoMismatch) << "rank " << me.rank;
    const std::string sentence = rondoGetLastError(me.comm);
    for (const char* word : {"scan with count 4", "reduce with count 4", "collective 2"}) {
      EXPECT_NE(sentence.find(word), std::string::npos) << sentence << "\nlacks " << word;
    }
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

}  // namespace
}  // namespace rondo::testing

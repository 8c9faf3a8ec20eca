// Collectives over faulty channels: late messages change nothing, a lost message or rank becomes an
// error on every rank, and what the channels never do (reorder, corrupt) would be seen by tests.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <random>

#include "p2p/faulty_ports.h"
#include "p2p/trace_ports.h"
#include "support/buffer.h"
#include "support/values.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

using Clock = std::chrono::steady_clock;
constexpr rondoDataType_t kType = rondoInt32;

/// Answers of one rank. Outlives all ranks' calls: peers may write into it until those returned.
struct Memory {
  Memory(size_t count, bool shared)
      : send(count * typeSize(kType), shared, 0), recv(count * typeSize(kType), shared, 0) {}
  Buffer send, recv;
};

rondoResult_t allReduce(const Rank& me, Memory& memory, size_t count) {
  repeat(memory.send.data(), memory.send.bytes(), contribution(kType, rondoSum, me.rank));
  return rondoAllReduce(memory.send.data(), memory.recv.data(), count, kType, rondoSum, me.comm,
                        nullptr);
}

rondoResult_t broadcast(const Rank& me, Memory& memory, size_t count, int root) {
  repeat(memory.send.data(), memory.send.bytes(), contribution(kType, rondoSum, me.rank));
  return rondoBroadcast(memory.send.data(), memory.recv.data(), count, kType, root, me.comm,
                        nullptr);
}

bool rightSum(const Rank& me, Memory& memory, size_t count) {
  const size_t bytes = count * typeSize(kType);
  return firstWrong(memory.recv.data(), bytes, expectedValues(kType, rondoSum, me.size)) == bytes;
}

bool rightCopy(Memory& memory, size_t count, int root) {
  const size_t bytes = count * typeSize(kType);
  return firstWrong(memory.recv.data(), bytes, contribution(kType, rondoSum, root)) == bytes;
}

// ---- delays ----

using DelayParam = std::tuple<const char*, int>;
class DecoratorDelay : public ::testing::TestWithParam<DelayParam> {};

TEST_P(DecoratorDelay, LateMessagesAndFullChannelsChangeNothing) {
  const auto [rule, ranks] = GetParam();
  for (const uint64_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(ranks);
    world.tune(rule).decorate([&](Channels& channels, int rank) {
      injectFaults(channels, rank, [&](const PortId& id) {
        Faults faults;
        faults.seed = seed;
        // Some ports are prompt, some much later than others.
        faults.mostDelay = 1u << ((id.rank + 2 * id.lane + id.peer + 1) % 3 * 2);
        return faults;
      });
    });
    world.run([&](const Rank& me) {
      std::mt19937 random(static_cast<unsigned>(seed));  // the same on all ranks
      for (int k = 0; k < 8; ++k) {
        const size_t counts[] = {1, 30, 1024, 5000, 20011};
        const size_t count = counts[random() % std::size(counts)];
        const int root = static_cast<int>(random() % static_cast<unsigned>(me.size));
        // Some ranks' memory is read where it is.
        Memory memory(count, (random() >> me.rank & 1) != 0);
        ASSERT_EQ(allReduce(me, memory, count), rondoSuccess) << rondoGetLastError(me.comm);
        EXPECT_TRUE(rightSum(me, memory, count)) << "all-reduce of " << count;
        ASSERT_EQ(broadcast(me, memory, count, root), rondoSuccess) << rondoGetLastError(me.comm);
        EXPECT_TRUE(rightCopy(memory, count, root)) << "broadcast of " << count;
        ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess) << rondoGetLastError(me.comm);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(
    World, DecoratorDelay,
    ::testing::Combine(::testing::Values("", "allreduce:host:0-:ring,broadcast:host:0-:ring/2/2K",
                                         "allreduce:host:0-:twoshot,broadcast:host:0-:oneshot",
                                         "allreduce:host:0-:oneshot/2/4K"),
                       ::testing::Values(2, 3, 4, 7)));

TEST(DecoratorDelay, ABarrierHoldsWithLateMessages) {
  constexpr int kRounds = 40;
  for (const int ranks : {2, 3, 4, 7}) {
    std::vector<std::atomic<int>> entered(kRounds);
    World world(ranks);
    world.decorate([](Channels& channels, int rank) {
      injectFaults(channels, rank, [](const PortId&) {
        Faults faults;
        faults.mostDelay = 15;
        return faults;
      });
    });
    world.run([&](const Rank& me) {
      for (auto& count : entered) {
        count.fetch_add(1, std::memory_order_relaxed);
        ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess) << rondoGetLastError(me.comm);
        EXPECT_EQ(count.load(std::memory_order_relaxed), me.size);
      }
    });
  }
}

// ---- lost messages, lost ranks ----

constexpr int kBoundMs = 60;

/// Calls until one fails: a rank that has failed calls no more, so all others must fail too.
void expectAllFail(const char* rule, int ranks, bool shared,
                   const std::function<Faults(const PortId&)>& faults) {
  constexpr size_t kCount = 9000;
  SCOPED_TRACE(std::string(rule) + ", " + std::to_string(ranks) + " ranks" +
               (shared ? ", shared memory" : ""));
  std::deque<Memory> memories;
  for (int r = 0; r < ranks; ++r) memories.emplace_back(kCount, shared);
  World world(ranks);
  world.tune(rule).decorate(
      [&](Channels& channels, int rank) { injectFaults(channels, rank, faults); });
  const auto start = Clock::now();
  world.run([&](const Rank& me) {
    Memory& memory = memories[static_cast<size_t>(me.rank)];
    rondoResult_t result = rondoSuccess;
    for (int k = 0; k < 200 && result == rondoSuccess; ++k) {
      result = allReduce(me, memory, kCount);
      if (result == rondoSuccess) result = broadcast(me, memory, kCount, k % me.size);
      if (result == rondoSuccess) result = rondoBarrier(me.comm, nullptr);
    }
    // A loss shows as a message of the wrong length or call to one rank, which tells the others; or
    // as nothing, to those who wait: one of them may have given up and gone before the others look.
    const std::string why = rondoGetLastError(me.comm);
    const bool waited = why.find("RONDO_SPIN_BOUND_MS") != std::string::npos ||
                        why.find("aborted") != std::string::npos ||
                        why.find("has let go of it") != std::string::npos;
    const bool noticed = why.find("different calls") != std::string::npos ||
                         why.find("the same call on every rank") != std::string::npos;
    EXPECT_TRUE(result == rondoRemoteError ? waited : result == rondoMismatch && noticed)
        << "rank " << me.rank << ": " << result << ", " << why;
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), result);  // and stays so, at once
  });
  // One bound to notice, one for those who wait for the one who noticed, and a busy machine.
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(50 * kBoundMs));
  for (Memory& memory : memories) EXPECT_TRUE(memory.send.intact() && memory.recv.intact());
}

const char* const kLossRules[] = {
    "allreduce:host:0-:ring,broadcast:host:0-:ring/2/4K",
    "allreduce:host:0-:twoshot,broadcast:host:0-:oneshot/1/4K",
    "allreduce:host:0-:oneshot,broadcast:host:0-:ring",
};

TEST(DecoratorLoss, ADroppedMessageBecomesAnErrorOnEveryRank) {
  const Env bound("RONDO_SPIN_BOUND_MS", std::to_string(kBoundMs));
  for (const char* rule : kLossRules) {
    for (const int ranks : {2, 3, 4}) {
      for (const uint64_t message : {0u, 3u}) {
        // Whatever rank 1 sends: to one, and to everyone.
        expectAllFail(rule, ranks, message != 0, [&](const PortId& id) {
          Faults faults;
          if (id.sends && id.rank == 1 && id.lane == 0) faults.drop = message;
          return faults;
        });
      }
    }
  }
}

TEST(DecoratorLoss, AMessageThatOneReaderMissesBecomesAnErrorOnEveryRank) {
  const Env bound("RONDO_SPIN_BOUND_MS", std::to_string(kBoundMs));
  for (const char* rule : kLossRules) {
    expectAllFail(rule, 3, false, [](const PortId& id) {
      Faults faults;
      if (!id.sends && id.rank == 2 && id.peer == 1) faults.drop = 1;
      return faults;
    });
  }
}

TEST(DecoratorLoss, ADeadRankBecomesAnErrorOnEveryRank) {
  const Env bound("RONDO_SPIN_BOUND_MS", std::to_string(kBoundMs));
  for (const char* rule : kLossRules) {
    for (const int ranks : {2, 3, 4}) {
      for (const uint64_t messages : {0u, 1u, 2u, 7u, 30u}) {
        const auto life = std::make_shared<Life>(messages);
        expectAllFail(rule, ranks, messages % 2 != 0, [&](const PortId& id) {
          Faults faults;
          if (id.rank == ranks - 1) faults.life = life;
          return faults;
        });
      }
    }
  }
}

// ---- what tests would see ----

/// Ranks whose answer to a checked all-reduce or broadcast is wrong.
int wrongAnswers(const char* rule, int ranks, const std::function<Faults(const PortId&)>& faults,
                 uint64_t* messages) {
  constexpr size_t kCount = 20011;
  std::deque<Memory> memories;
  for (int r = 0; r < ranks; ++r) memories.emplace_back(kCount, false);
  std::atomic<int> wrong{0};
  const auto log = std::make_shared<MessageLog>();
  World world(ranks);
  world.tune(rule).decorate([&](Channels& channels, int rank) {
    tracePorts(channels, rank, log);
    injectFaults(channels, rank, faults);
  });
  const bool reduces = std::string(rule).rfind("allreduce", 0) == 0;
  world.run([&](const Rank& me) {
    Memory& memory = memories[static_cast<size_t>(me.rank)];
    EXPECT_EQ(reduces ? allReduce(me, memory, kCount) : broadcast(me, memory, kCount, 0),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    const bool right = reduces ? rightSum(me, memory, kCount) : rightCopy(memory, kCount, 0);
    if (!right) ++wrong;
  });
  *messages = log->take().size();
  return wrong;
}

struct SeenRow {
  const char* rule;
  bool twoUnderWay;  ///< Else a message waits for the answer to the one before: none can overtake.
};

const SeenRow kSeenRows[] = {
    {"allreduce:host:0-:ring/2/2K", true},    {"allreduce:host:0-:twoshot/1/2K", false},
    {"allreduce:host:0-:oneshot/2/4K", true}, {"broadcast:host:0-:ring/1/2K", true},
    {"broadcast:host:0-:oneshot/2/4K", true},
};

TEST(DecoratorSeen, ReorderedAndCorruptedMessagesGiveWrongAnswers) {
  const Env bound("RONDO_SPIN_BOUND_MS", "5000");  // no call may need it
  for (const auto& [rule, twoUnderWay] : kSeenRows) {
    for (const int ranks : {2, 3, 4}) {
      SCOPED_TRACE(std::string(rule) + ", " + std::to_string(ranks) + " ranks");
      const char* const ruleText = rule;
      const auto run = [=](uint64_t swap, uint64_t corrupt, uint64_t* messages) {
        return wrongAnswers(
            ruleText, ranks,
            [=](const PortId& id) {
              Faults faults;
              if (!id.sends && id.rank == 1 && id.peer == 0 && id.lane == 0) {
                faults.swap = swap;
                faults.corrupt = corrupt;
              }
              return faults;
            },
            messages);
      };
      uint64_t whole = 0, swapped = 0, corrupted = 0;
      EXPECT_EQ(run(Faults::kNever, Faults::kNever, &whole), 0);
      EXPECT_GE(run(Faults::kNever, 2, &corrupted), 1);
      EXPECT_EQ(corrupted, whole);  // nothing else went wrong: as many messages
      if (!twoUnderWay) continue;
      EXPECT_GE(run(0, Faults::kNever, &swapped), 1);
      EXPECT_EQ(swapped, whole);
    }
  }
}

}  // namespace
}  // namespace rondo::testing

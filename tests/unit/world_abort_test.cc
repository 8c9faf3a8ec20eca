// An abort ends pending and later calls on all ranks, whoever calls it and from whichever thread.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "api/handle.h"
#include "p2p/decorate.h"
#include "p2p/segment.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

using Clock = std::chrono::steady_clock;

void expectAborted(const Rank& me, rondoResult_t result, const char* call) {
  EXPECT_EQ(result, rondoRemoteError);
  const std::string sentence = rondoGetLastError(nullptr);
  EXPECT_NE(sentence.find(call), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("rank 0 aborted communicator"), std::string::npos)
      << "rank " << me.rank << ": " << sentence;
}

TEST(WorldAbort, FromAnotherThreadWhileAllRanksWait) {
  for (const size_t count : {1u, 100000u}) {
    Clock::time_point aborted;
    std::atomic<int> inside{0};
    std::atomic<bool> over{false};
    World(3).open([&](const Rank& me) {
      std::vector<float> data(count, 1);
      if (me.rank == 2) {  // comes late: the others hang on it
        while (!over) std::this_thread::yield();
        expectAborted(me, rondoBarrier(me.comm, nullptr), "rondoBarrier");
        EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
        return;
      }
      std::thread helper;
      if (me.rank == 0) {
        helper = std::thread([&, comm = me.comm] {
          while (inside < 2) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          aborted = Clock::now();
          EXPECT_EQ(rondoCommAbort(comm), rondoSuccess) << rondoGetLastError(nullptr);
          over = true;
        });
      }
      ++inside;
      const rondoResult_t result =
          rondoAllReduce(data.data(), data.data(), count, rondoFloat32, rondoSum, me.comm, nullptr);
      expectAborted(me, result, "rondoAllReduce");
      EXPECT_LT(Clock::now() - aborted, std::chrono::seconds(2));
      if (helper.joinable()) helper.join();
      if (me.rank == 0) {
        // The abort freed the handle once the call was out of it.
        EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoInvalidUsage);
        EXPECT_EQ(rondoCommDestroy(me.comm), rondoInvalidUsage);
      } else {
        expectAborted(me, rondoBarrier(me.comm, nullptr), "rondoBarrier");
        EXPECT_STRNE(rondoGetLastError(me.comm), "");
        EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      }
    });
    EXPECT_EQ(Segment::own().poolUsed(), 0u);
  }
}

/// As in tests/chaos/timeout_tests.cc, but where sanitizers see it: on one host and on three.
TEST(WorldAbort, ByATimeout) {
  const Env timeout("RONDO_TIMEOUT_MS", "100");
  for (const std::vector<int>& hosts : {std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 2}}) {
    std::atomic<int> over{0};
    World(3).hosts(hosts).open([&](const Rank& me) {
      while (me.rank == 2 && over < 2) std::this_thread::yield();
      EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoRemoteError);
      const std::string sentence = rondoGetLastError(nullptr);
      EXPECT_NE(sentence.find("config.timeout"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("Not in that call yet: "), std::string::npos) << sentence;
      ++over;
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
    });
  }
}

/// Waits that each end in the look that finds what came, one after another for longer than the
/// time-out.
TEST(WorldAbort, NotByManyShortWaits) {
  const Env timeout("RONDO_TIMEOUT_MS", "1000");  // also for who is off its core meanwhile
  for (const std::vector<int>& hosts : {std::vector<int>{0, 0}, std::vector<int>{0, 1}}) {
    World(2).hosts(hosts).open([&](const Rank& me) {
      float data[16] = {};
      const auto end = Clock::now() + std::chrono::milliseconds(2500);
      for (bool last = false; !last;) {
        if (me.rank == 0) {
          std::this_thread::sleep_for(std::chrono::microseconds(500));
          data[0] = Clock::now() > end ? 1 : 0;
        }
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        ASSERT_EQ(rondoBroadcast(data, data, 16, rondoFloat32, 0, me.comm, nullptr), rondoSuccess);
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
        last = data[0] != 0;
      }
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
    });
  }
}

/// Says when a message is there, before its reader has it.
class NoticedPort final : public RecvPort {
 public:
  NoticedPort(std::unique_ptr<RecvPort> port, std::function<void()> notice)
      : port_(std::move(port)), notice_(std::move(notice)) {}
  bool tryPeek(Message* message) override {
    if (!port_->tryPeek(message)) return false;
    notice_();
    return true;
  }
  void release() override { port_->release(); }

 private:
  std::unique_ptr<RecvPort> port_;
  std::function<void()> notice_;
};

/// Rank 0's data is read where it is. Its call is ended when rank 1 is about to, and its program
/// writes something else there.
TEST(WorldAbort, WhoReadsWhatTheEndedCallTookBackIsTold) {
  constexpr size_t kCount = 100000;
  using Call = std::function<rondoResult_t(int32_t * data, const Rank& me)>;
  const Call calls[] = {
      [](int32_t* data, const Rank& me) {
        return rondoBroadcast(data, data, kCount, rondoInt32, 0, me.comm, nullptr);
      },
      [](int32_t* data, const Rank& me) {
        EXPECT_EQ(rondoGroupStart(), rondoSuccess);
        EXPECT_EQ(rondoBroadcast(data, data, kCount, rondoInt32, 0, me.comm, nullptr),
                  rondoSuccess);
        return rondoGroupEnd();
      },
      [](int32_t* data, const Rank& me) {
        return me.rank == 0 ? rondoSend(data, kCount, rondoInt32, 1, me.comm, nullptr)
                            : rondoRecv(data, kCount, rondoInt32, 0, me.comm, nullptr);
      },
  };
  for (const Call& call : calls) {
    SCOPED_TRACE(&call - calls);
    std::atomic<bool> seen{false}, taken{false};
    World world(2);
    world.hosts({0, 0}).tune("broadcast:host:0-:oneshot").decorate([&](Channels& channels, int r) {
      if (r == 0) return;
      const auto notice = [&] {
        seen = true;
        while (!taken) std::this_thread::yield();
      };
      for (auto* const ports : {&channels.pairRecvs, &channels.allRecvs}) {
        for (auto& port : *ports) {
          if (port != nullptr) port = std::make_unique<NoticedPort>(std::move(port), notice);
        }
      }
    });
    world.run([&](const Rank& me) {
      void* memory = nullptr;
      ASSERT_EQ(rondoMemAlloc(&memory, kCount * sizeof(int32_t)), rondoSuccess);
      auto* const data = static_cast<int32_t*>(memory);
      std::fill(data, data + kCount, me.rank);
      std::thread helper;
      if (me.rank == 0) {
        helper = std::thread([&, comm = me.comm] {
          while (!seen) std::this_thread::yield();
          EXPECT_EQ(rondoCommRevoke(comm), rondoSuccess) << rondoGetLastError(nullptr);
        });
      }
      expectAborted(me, call(data, me), "rondo");
      std::fill(data, data + kCount, -1);
      if (me.rank == 0) taken = true;
      if (helper.joinable()) helper.join();
      EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
    });
  }
}

/// A rank that has posted all its blocks waits for who reads them, and that is a move.
TEST(WorldAbort, NotByATimeoutWhileAPeerReads) {
  const Env timeout("RONDO_TIMEOUT_MS", "3000");
  constexpr size_t kCount = 24 << 20;
  World world(2);
  world.hosts({0, 0})
      .tune("broadcast:host:0-:oneshot/1/4K")
      .decorate([](Channels& channels, int r) {
        if (r == 0) return;
        const auto slow = [read = 0]() mutable {  // 3.6 s for 96 MiB, 0.6 for a run
          if (++read % 2048 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        };
        for (auto& port : channels.allRecvs) {
          if (port != nullptr) port = std::make_unique<NoticedPort>(std::move(port), slow);
        }
      });
  world.run([](const Rank& me) {
    void* memory = nullptr;
    ASSERT_EQ(rondoMemAlloc(&memory, kCount * sizeof(int32_t)), rondoSuccess);
    auto* const data = static_cast<int32_t*>(memory);
    for (size_t i = 0; i < kCount; ++i) data[i] = me.rank == 0 ? static_cast<int32_t>(i) : -1;
    const auto start = Clock::now();
    EXPECT_EQ(rondoBroadcast(data, data, kCount, rondoInt32, 0, me.comm, nullptr), rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_GT(Clock::now() - start, std::chrono::seconds(3));  // longer than is allowed
    size_t wrong = 0;
    for (size_t i = 0; i < kCount; ++i) wrong += data[i] == static_cast<int32_t>(i) ? 0 : 1;
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
  });
}

TEST(WorldAbort, FromTheRanksOwnThreadBetweenCalls) {
  World(2).open([](const Rank& me) {
    if (me.rank == 0) {
      EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
      int count = -1;
      EXPECT_EQ(rondoCommCount(me.comm, &count), rondoInvalidUsage);
      EXPECT_EQ(count, -1);
      EXPECT_EQ(rondoCommAbort(me.comm), rondoInvalidUsage);
      EXPECT_EQ(rondoCommFinalize(me.comm), rondoInvalidUsage);
      return;
    }
    int32_t value = 1;
    expectAborted(me, rondoAllReduce(&value, &value, 1, rondoInt32, rondoSum, me.comm, nullptr),
                  "rondoAllReduce");
    // Questions are still answered; an aborted communicator may be finalized, aborted, destroyed.
    int count = 0;
    EXPECT_EQ(rondoCommCount(me.comm, &count), rondoSuccess);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess);
    EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

/// Calls differ and nobody can say how: the records are those of later calls already, or a reason
/// was lost on its way.
TEST(WorldAbort, ThatNamesNoDifference) {
  for (const std::vector<int>& hosts : {std::vector<int>{0, 0, 0}, std::vector<int>{0, 0, 1}}) {
    std::atomic<int> past{0};
    World(3).hosts(hosts).open([&](const Rank& me) {
      EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
      ++past;
      if (me.rank == 1) {
        while (past < 3) std::this_thread::yield();
        me.comm->impl->abortDiffering("");
      }
      EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoMismatch) << "rank " << me.rank;
      rondoResult_t state = rondoSuccess;
      EXPECT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
      EXPECT_EQ(state, rondoMismatch);
      const std::string sentence = rondoGetLastError(me.comm);
      EXPECT_NE(sentence.find("rank 1 (host \""), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("found that the ranks make different calls"), std::string::npos)
          << sentence;
      rondoCommDestroy(me.comm);
    });
  }
}

TEST(WorldAbort, ByAllRanksAtOnceAgainAndAgain) {
  for (int round = 0; round < 30; ++round) {
    World(4).open([](const Rank& me) {
      std::vector<int8_t> data(5000, 1);
      rondoResult_t result = rondoSuccess;
      for (int i = 0; i <= me.rank && result == rondoSuccess; ++i) {
        result = rondoAllReduce(data.data(), data.data(), data.size(), rondoInt8, rondoMax, me.comm,
                                nullptr);
      }
      EXPECT_TRUE(result == rondoSuccess || result == rondoRemoteError);
      EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
    });
  }
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

TEST(WorldAbort, OfOneCommunicatorLeavesOthersAlone) {
  rondoUniqueId ids[2];
  for (rondoUniqueId& id : ids) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  onRanks(2, [&](int rank) {
    rondoComm_t first, second;
    ASSERT_EQ(rondoCommInitRank(&first, 2, ids[0], rank), rondoSuccess);
    ASSERT_EQ(rondoCommInitRank(&second, 2, ids[1], rank), rondoSuccess);
    if (rank == 0) {
      EXPECT_EQ(rondoCommAbort(first), rondoSuccess);
    }
    int64_t value = 4;
    EXPECT_EQ(rondoAllReduce(&value, &value, 1, rondoInt64, rondoProd, second, nullptr),
              rondoSuccess);
    EXPECT_EQ(value, 16);
    if (rank == 1) {
      EXPECT_EQ(rondoCommDestroy(first), rondoSuccess);
    }
    EXPECT_EQ(rondoCommDestroy(second), rondoSuccess);
  });
}

TEST(WorldAbort, ABoundOnSpinningIsAnErrorThatSaysSo) {
  const Env bound("RONDO_SPIN_BOUND_MS", "50");
  std::atomic<bool> done{false};
  World(2).run([&done](const Rank& me) {
    if (me.rank != 0) {  // stays: a rank that leaves is another error
      while (!done) std::this_thread::yield();
      return;
    }
    const auto start = Clock::now();
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoRemoteError);
    done = true;
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(50));
    EXPECT_NE(std::string(rondoGetLastError(me.comm)).find("RONDO_SPIN_BOUND_MS"),
              std::string::npos);
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoRemoteError);  // broken for good
  });
}

}  // namespace
}  // namespace rondo::testing

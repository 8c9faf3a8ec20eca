// Send and receive, groups, requests, and calls that do not match.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "support/world.h"

namespace rondo::testing {
namespace {

using namespace std::chrono_literals;

std::vector<int32_t> pattern(int from, int to, size_t count, int round = 0) {
  std::vector<int32_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<int32_t>(i * 31 + static_cast<size_t>(from * 1000 + to * 100 + round));
  }
  return out;
}

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

class WorldGroup : public ::testing::TestWithParam<int> {};

TEST_P(WorldGroup, EverybodySendsToEverybodyInAnyOrder) {
  World(GetParam()).run([](const Rank& me) {
    std::mt19937 random(static_cast<unsigned>(me.rank));
    for (const size_t count : {0, 1, 24, 25, 8192, 8193, 100003}) {
      const auto n = static_cast<size_t>(me.size);
      std::vector<std::vector<int32_t>> out(n), in(n, std::vector<int32_t>(count));
      std::vector<int> calls(2 * n);
      std::iota(calls.begin(), calls.end(), 0);
      std::shuffle(calls.begin(), calls.end(), random);
      RONDO_OK(rondoGroupStart());
      for (const int c : calls) {
        const int peer = c / 2;
        auto& sent = out[static_cast<size_t>(peer)];
        if (c % 2 == 0) {
          sent = pattern(me.rank, peer, count);
          RONDO_OK(rondoSend(sent.data(), count, rondoInt32, peer, me.comm, nullptr));
        } else {
          RONDO_OK(rondoRecv(in[static_cast<size_t>(peer)].data(), count, rondoInt32, peer, me.comm,
                             nullptr));
        }
      }
      RONDO_OK(rondoGroupEnd());
      for (int peer = 0; peer < me.size; ++peer) {
        ASSERT_EQ(in[static_cast<size_t>(peer)], pattern(peer, me.rank, count));
      }
    }
  });
}

TEST_P(WorldGroup, MessagesBetweenTwoRanksKeepTheirOrder) {
  World(GetParam()).run([](const Rank& me) {
    const int next = (me.rank + 1) % me.size, prev = (me.rank + me.size - 1) % me.size;
    std::vector<std::vector<int32_t>> out, in;
    for (int k = 0; k < 40; ++k) {
      out.push_back(pattern(me.rank, next, static_cast<size_t>(k * k * 7), k));
      in.emplace_back(static_cast<size_t>(k * k * 7));
    }
    RONDO_OK(rondoGroupStart());
    for (size_t k = 0; k < 40; ++k) {
      RONDO_OK(rondoSend(out[k].data(), out[k].size(), rondoInt32, next, me.comm, nullptr));
      RONDO_OK(rondoRecv(in[k].data(), in[k].size(), rondoInt32, prev, me.comm, nullptr));
    }
    RONDO_OK(rondoGroupEnd());
    for (int k = 0; k < 40; ++k) {
      const auto at = static_cast<size_t>(k);
      ASSERT_EQ(in[at], pattern(prev, me.rank, static_cast<size_t>(k * k * 7), k));
    }
  });
}

TEST_P(WorldGroup, SendRecvRoundTheRingAndBlockingCalls) {
  World(GetParam()).run([](const Rank& me) {
    const int next = (me.rank + 1) % me.size, prev = (me.rank + me.size - 1) % me.size;
    for (const size_t count : {1, 4000, 70000}) {
      const auto out = pattern(me.rank, next, count);
      std::vector<int32_t> in(count);
      RONDO_OK(rondoSendRecv(out.data(), count, next, in.data(), count, prev, rondoInt32, me.comm,
                             nullptr));
      ASSERT_EQ(in, pattern(prev, me.rank, count));
      if (me.size == 1) continue;
      if (me.rank == 0) {
        RONDO_OK(rondoSend(out.data(), count, rondoInt32, next, me.comm, nullptr));
      } else if (me.rank == 1) {
        RONDO_OK(rondoRecv(in.data(), count, rondoInt32, 0, me.comm, nullptr));
        ASSERT_EQ(in, pattern(0, 1, count));
      }
    }
  });
}

/// Several collectives and transfers in one group, waited for at once or by requests.
void mixed(const Rank& me, bool async) {
  constexpr size_t kCount = 5000;
  std::vector<rondoRequest_t> requests(6);
  std::vector<std::vector<int32_t>> sums, gathered;
  std::vector<int32_t> got(kCount);
  const auto mine = pattern(me.rank, 0, kCount);
  const int next = (me.rank + 1) % me.size, prev = (me.rank + me.size - 1) % me.size;
  for (size_t g = 0; g < requests.size(); ++g) {
    sums.emplace_back(kCount);
    gathered.emplace_back(kCount * static_cast<size_t>(me.size));
  }
  for (size_t g = 0; g < requests.size(); ++g) {
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(mine.data(), sums[g].data(), kCount, rondoInt32, rondoSum, me.comm,
                            nullptr));
    if (g == 2) {
      RONDO_OK(rondoRecv(got.data(), kCount, rondoInt32, prev, me.comm, nullptr));
    }
    RONDO_OK(rondoGroupStart());  // nested
    RONDO_OK(rondoAllGather(mine.data(), gathered[g].data(), kCount, rondoInt32, me.comm, nullptr));
    RONDO_OK(rondoGroupEnd());
    if (g == 2) {
      RONDO_OK(rondoSend(mine.data(), kCount, rondoInt32, next, me.comm, nullptr));
    }
    if (async) {
      RONDO_OK(rondoGroupEndAsync(&requests[g]));
    } else {
      RONDO_OK(rondoGroupEnd());
    }
  }
  int32_t sum = me.rank, total = 0;  // a plain call waits for its turn
  RONDO_OK(rondoAllReduce(&sum, &total, 1, rondoInt32, rondoSum, me.comm, nullptr));
  EXPECT_EQ(total, me.size * (me.size - 1) / 2);
  if (async) {
    int done = 0;
    RONDO_OK(rondoTest(&requests[0], &done));
    EXPECT_EQ(done, 1);
    EXPECT_EQ(requests[0], nullptr);
    RONDO_OK(rondoWait(&requests[3]));
    RONDO_OK(rondoWaitAll(requests.size(), requests.data()));
  }
  for (size_t g = 0; g < requests.size(); ++g) {
    for (size_t i = 0; i < kCount; ++i) {
      int32_t wanted = 0;
      for (int r = 0; r < me.size; ++r) wanted += pattern(r, 0, 1)[0] + static_cast<int>(i * 31);
      ASSERT_EQ(sums[g][i], wanted);
    }
    for (int r = 0; r < me.size; ++r) {
      const auto begin = gathered[g].begin() + static_cast<long>(static_cast<size_t>(r) * kCount);
      ASSERT_EQ(std::vector<int32_t>(begin, begin + kCount), pattern(r, 0, kCount));
    }
  }
  ASSERT_EQ(got, pattern(prev, 0, kCount));
}

TEST_P(WorldGroup, CollectivesAndTransfersTogether) {
  World(GetParam()).run([](const Rank& me) { mixed(me, false); });
}

TEST_P(WorldGroup, RequestsRunOnByThemselves) {
  World(GetParam()).run([](const Rank& me) { mixed(me, true); });
}

INSTANTIATE_TEST_SUITE_P(World, WorldGroup, ::testing::Values(1, 2, 3, 5, 8));

TEST(WorldGroups, TwoCommunicatorsInOppositeOrders) {
  // Two requests on two communicators, begun in different orders on different ranks.
  rondoUniqueId ids[2];
  for (auto& id : ids) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  onRanks(2, [&](int rank) {
    rondoComm_t comms[2];
    for (int c = 0; c < 2; ++c) {
      ASSERT_EQ(rondoCommInitRank(&comms[c], 2, ids[c], rank), rondoSuccess);
    }
    std::vector<float> in(50000, 1.5f + static_cast<float>(rank)), out[2];
    rondoRequest_t requests[2];
    for (int k = 0; k < 2; ++k) {
      const int c = rank == 0 ? k : 1 - k;
      out[c].resize(in.size());
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoAllReduce(in.data(), out[c].data(), in.size(), rondoFloat32, rondoSum, comms[c],
                              nullptr));
      RONDO_OK(rondoGroupEndAsync(&requests[c]));
    }
    RONDO_OK(rondoWaitAll(2, requests));
    for (int c = 0; c < 2; ++c) {
      EXPECT_EQ(out[c], std::vector<float>(in.size(), 4.0f));
      EXPECT_EQ(rondoCommDestroy(comms[c]), rondoSuccess) << rondoGetLastError(nullptr);
    }
  });
}

TEST(WorldGroups, ARequestGoesOnWhileItsCallerDoesNot) {
  // Rank 0's all-reduce begins after its receive has ended, long after rondoGroupEndAsync returned;
  // without it rank 1's does not end. Short requests are left to the caller for a while, no longer.
  for (const size_t count : {1, 20000}) {
    std::atomic<bool> ended{false};
    World(2).run([&](const Rank& me) {
      std::vector<float> in(count, 1.0f), out(count), other(count);
      if (me.rank == 1) {
        std::this_thread::sleep_for(5ms);
        RONDO_OK(rondoSend(in.data(), count, rondoFloat32, 0, me.comm, nullptr));
        RONDO_OK(
            rondoAllReduce(in.data(), out.data(), count, rondoFloat32, rondoSum, me.comm, nullptr));
        ended.store(true);
      } else {
        rondoRequest_t request = nullptr;
        RONDO_OK(rondoGroupStart());
        RONDO_OK(rondoRecv(other.data(), count, rondoFloat32, 1, me.comm, nullptr));
        RONDO_OK(
            rondoAllReduce(in.data(), out.data(), count, rondoFloat32, rondoSum, me.comm, nullptr));
        RONDO_OK(rondoGroupEndAsync(&request));
        const auto limit = std::chrono::steady_clock::now() + 20s;
        while (!ended.load() && std::chrono::steady_clock::now() < limit) {
          std::this_thread::sleep_for(1ms);
        }
        EXPECT_TRUE(ended.load()) << "nobody progressed the request of " << count << " elements";
        RONDO_OK(rondoWait(&request));
      }
      EXPECT_EQ(out, std::vector<float>(count, 2.0f));
    });
  }
}

TEST(WorldGroups, MisuseIsNamed) {
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
  EXPECT_NE(std::string(rondoGetLastError(nullptr)).find("no open group"), std::string::npos);
  rondoRequest_t request = nullptr;
  EXPECT_EQ(rondoWait(&request), rondoInvalidArgument);
  EXPECT_EQ(rondoWait(nullptr), rondoInvalidArgument);
  EXPECT_EQ(rondoGroupEndAsync(&request), rondoInvalidUsage);
  EXPECT_EQ(rondoWaitAll(static_cast<size_t>(-1), &request), rondoInvalidArgument);
  EXPECT_NE(std::string(rondoGetLastError(nullptr)).find("(-1 if it was signed)"),
            std::string::npos);
  int stale = 0;
  request = reinterpret_cast<rondoRequest_t>(&stale);
  EXPECT_EQ(rondoWait(&request), rondoInvalidArgument);
  World(2).run([](const Rank& me) {
    int32_t value = 1, other = 0;
    // The first cause, once, at the end; nothing runs.
    RONDO_OK(rondoGroupStart());
    EXPECT_EQ(rondoSend(&value, 1, rondoInt32, 7, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoRecv(nullptr, 1, rondoInt32, 0, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
    const std::string sentence = rondoGetLastError(nullptr);
    EXPECT_NE(sentence.find("rondoGroupEnd: rondoSend: rank " + std::to_string(me.rank) +
                            ": argument peer is 7; allowed: 0 to 1"),
              std::string::npos)
        << sentence;
    // To itself without a receive.
    EXPECT_EQ(rondoSend(&value, 1, rondoInt32, me.rank, me.comm, nullptr), rondoInvalidUsage);
    // A wait inside a group.
    rondoRequest_t pending = nullptr;
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&value, &other, 1, rondoInt32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoGroupEndAsync(&pending));
    RONDO_OK(rondoGroupStart());
    EXPECT_EQ(rondoWait(&pending), rondoInvalidUsage);
    RONDO_OK(rondoGroupEnd());
    const rondoRequest_t ended = pending;
    RONDO_OK(rondoWait(&pending));
    EXPECT_EQ(other, 2);
    // A copy that is waited for again is not taken for a request that was made since.
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&value, &other, 1, rondoInt32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoGroupEndAsync(&pending));
    rondoRequest_t copy = ended;
    int done = 0;
    EXPECT_EQ(rondoWait(&copy), rondoInvalidArgument);
    EXPECT_EQ(rondoTest(&copy, &done), rondoInvalidArgument);
    EXPECT_EQ(copy, ended);
    RONDO_OK(rondoWait(&pending));
  });
}

/// What would wait for the group, or end what it needs, is refused and leaves it as it is.
TEST(WorldGroups, WhatMayNotStandInAnOpenGroup) {
  World(2).run([](const Rank& me) {
    int32_t value = me.rank + 1, sum = 0;
    const auto says = [](const char* words) {
      const std::string sentence = rondoGetLastError(nullptr);
      EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
    };
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&value, &sum, 1, rondoInt32, rondoSum, me.comm, nullptr));
    EXPECT_EQ(rondoCommFinalize(me.comm), rondoInvalidUsage);
    says("rondoCommFinalize: this thread has a group open");
    rondoComm_t half = nullptr;
    EXPECT_EQ(rondoCommSplit(me.comm, 0, 0, &half, nullptr), rondoInvalidUsage);
    says("rondoCommSplit: a group is open; allowed: after rondoGroupEnd");
    EXPECT_EQ(rondoWaitAll(0, nullptr), rondoInvalidUsage);
    says("rondoWaitAll: this thread has a group open");
    EXPECT_EQ(sum, 0);
    RONDO_OK(rondoGroupEnd());
    EXPECT_EQ(sum, 3);
    // An inner group has no request of its own: the outermost one's end says so, and nothing runs.
    rondoRequest_t request = nullptr;
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoGroupStart());
    sum = 0;
    RONDO_OK(rondoAllReduce(&value, &sum, 1, rondoInt32, rondoSum, me.comm, nullptr));
    EXPECT_EQ(rondoGroupEndAsync(&request), rondoSuccess);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    says("rondoGroupEndAsync: this group stands inside another one");
    EXPECT_EQ(request, nullptr);
    EXPECT_EQ(sum, 0);
  });
}

TEST(WorldGroups, ACommunicatorDestroyedBeforeItsGroupRuns) {
  World(2).open([](const Rank& me) {
    int32_t value = 1, sum = 0;
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&value, &sum, 1, rondoInt32, rondoSum, me.comm, nullptr));
    RONDO_OK(rondoCommDestroy(me.comm));
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
    const std::string sentence = rondoGetLastError(nullptr);
    EXPECT_NE(sentence.find("is a destroyed communicator"), std::string::npos) << sentence;
    EXPECT_EQ(sum, 0);
  });
}

TEST(WorldGroups, DestroyRefusesWhatIsUnderWayAndAbortEndsIt) {
  World(2).open([](const Rank& me) {
    std::vector<int32_t> in(10, 1), out(10);
    rondoRequest_t request = nullptr;
    if (me.rank == 0) {
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoRecv(out.data(), 10, rondoInt32, 1, me.comm, nullptr));
      RONDO_OK(rondoGroupEndAsync(&request));
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoInvalidUsage);
      EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
      EXPECT_NE(rondoWait(&request), rondoSuccess);
    } else {
      EXPECT_EQ(rondoRecv(out.data(), 10, rondoInt32, 0, me.comm, nullptr), rondoRemoteError);
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
    }
  });
}

/// `calls[rank]` is what each rank calls; every rank must get rondoMismatch, and a sentence
/// that names `words`.
void expectMismatch(int ranks, const std::function<rondoResult_t(const Rank&)>& call,
                    const std::vector<std::string>& words) {
  World(ranks).open([&](const Rank& me) {
    EXPECT_EQ(call(me), rondoMismatch) << "rank " << me.rank;
    const std::string sentence = rondoGetLastError(me.comm);
    for (const std::string& word : words) {
      EXPECT_NE(sentence.find(word), std::string::npos) << sentence << "\nlacks " << word;
    }
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

TEST(WorldMismatch, CountsThatDiffer) {
  for (const int ranks : {2, 3, 5}) {
    for (const size_t count : {1, 100, 100000}) {
      expectMismatch(
          ranks,
          [count](const Rank& me) {
            const size_t mine = count + (me.rank == 1 ? 1 : 0);
            std::vector<float> in(mine), out(mine);
            return rondoAllReduce(in.data(), out.data(), mine, rondoFloat32, rondoSum, me.comm,
                                  nullptr);
          },
          {"count " + std::to_string(count), "count " + std::to_string(count + 1), "allreduce"});
    }
  }
}

TEST(WorldMismatch, OtherCollectivesTypesOperatorsAndRoots) {
  expectMismatch(3,
                 [](const Rank& me) {
                   std::vector<float> in(30), out(30);
                   if (me.rank == 2) return rondoBarrier(me.comm, nullptr);
                   return rondoAllReduce(in.data(), out.data(), 30, rondoFloat32, rondoSum, me.comm,
                                         nullptr);
                 },
                 {"barrier", "allreduce"});
  expectMismatch(3,
                 [](const Rank& me) {
                   std::vector<float> in(30), out(30);
                   return rondoAllReduce(in.data(), out.data(), 30, rondoFloat32,
                                         me.rank == 0 ? rondoMax : rondoSum, me.comm, nullptr);
                 },
                 {"op max", "op sum"});
  // Nobody sends anything: both wait for the other one's broadcast.
  expectMismatch(2,
                 [](const Rank& me) {
                   std::vector<float> buffer(30);
                   return rondoBroadcast(buffer.data(), buffer.data(), 30, rondoFloat32,
                                         1 - me.rank, me.comm, nullptr);
                 },
                 {"root 0", "root 1"});
}

TEST(WorldMismatch, InsideAGroupToo) {
  World(2).open([](const Rank& me) {
    std::vector<float> buffer(30);
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoBroadcast(buffer.data(), buffer.data(), 30, rondoFloat32, 1 - me.rank, me.comm,
                            nullptr));
    EXPECT_EQ(rondoGroupEnd(), rondoMismatch);
    const std::string sentence = rondoGetLastError(me.comm);
    EXPECT_NE(sentence.find("root 0"), std::string::npos) << sentence;
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

TEST(WorldGroups, AnOperatorDestroyedBeforeItsGroupRuns) {
  World(2).run([](const Rank& me) {
    const float three = 3;
    float in = 1, out = 0;
    rondoRedOp_t op = 0;
    RONDO_OK(
        rondoRedOpCreatePreMulSum(&op, &three, rondoFloat32, rondoScalarHostImmediate, me.comm));
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&in, &out, 1, rondoFloat32, op, me.comm, nullptr));
    RONDO_OK(rondoRedOpDestroy(op, me.comm));
    RONDO_OK(rondoGroupEnd());
    EXPECT_EQ(out, 6.0f);
  });
}

TEST(WorldGroups, AWaitThatIsGivenUpLeavesNothingBehind) {
  const Env bound("RONDO_SPIN_BOUND_MS", "50");
  World(2).open([](const Rank& me) {
    float value = 0;
    if (me.rank == 0) {
      EXPECT_EQ(rondoRecv(&value, 1, rondoFloat32, 1, me.comm, nullptr), rondoRemoteError);
    }
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess) << rondoGetLastError(nullptr);
  });
}

TEST(WorldMismatch, ASendOfAnotherLength) {
  World(2).open([](const Rank& me) {
    std::vector<int32_t> data(100);
    if (me.rank == 0) {
      EXPECT_EQ(rondoSend(data.data(), 100, rondoInt32, 1, me.comm, nullptr), rondoSuccess);
    } else {
      EXPECT_EQ(rondoRecv(data.data(), 90, rondoInt32, 0, me.comm, nullptr), rondoMismatch);
      const std::string sentence = rondoGetLastError(me.comm);
      EXPECT_NE(sentence.find("360 bytes from rank 0"), std::string::npos) << sentence;
    }
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

}  // namespace
}  // namespace rondo::testing

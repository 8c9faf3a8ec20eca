// Communicators whose ranks do not all meet: ways are made when they are first used, and who is
// waited for, ends or aborts is heard of all the same.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "support/ucx_hosts.h"
#include "support/world.h"
#include "ucx/descriptors.h"

namespace rondo::testing {
namespace {

/// Nobody meets.
class UcxLinks : public ::testing::TestWithParam<int> {
 protected:
  const Env few_{"RONDO_TEST_FEW_MET", "0"};
};
INSTANTIATE_TEST_SUITE_P(Cards, UcxLinks, ::testing::Values(1, 2));

TEST_P(UcxLinks, AWayIsMadeWhenItIsFirstUsed) {
  Hosts hosts(5, GetParam());
  for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(hosts.endpointsOf(rank), 0u);
  const auto out = hosts.sender(0, 3);
  const auto in = hosts[3].recvFrom(0, 0, false);
  for (int k = 0; k < 40; ++k) {
    const char mark = static_cast<char>(k);
    const size_t bytes = k % 3 == 0 ? kChunk : 100;
    ASSERT_TRUE(hosts.until([&] { return send(*out, mark, bytes); })) << k;
    ASSERT_TRUE(comes(hosts, *in, mark, bytes)) << k;
  }
  EXPECT_EQ(hosts.endpointsOf(0), static_cast<size_t>(GetParam()));
  EXPECT_EQ(hosts.endpointsOf(1), 0u);
  EXPECT_EQ(hosts.endpointsOf(3), static_cast<size_t>(GetParam()));  // for answers
}

/// It has sent nothing and got nothing, and is asked.
TEST_P(UcxLinks, WhoNeverSpokeAndIsGoneIsFoundOutByWhoWaits) {
  Hosts hosts(3, GetParam());
  hosts.destroy(1);
  const auto in = hosts[0].recvFrom(0, 1, false);
  Message message{};
  EXPECT_TRUE(hosts.until([&] { return in->tryPeek(&message) || hosts.told(0).lost == 1; }));
  EXPECT_EQ(hosts.told(0).lost, 1);
  EXPECT_NE(hosts.told(0).whyLost.find("destroyed its communicator"), std::string::npos)
      << hosts.told(0).whyLost;
  EXPECT_EQ(hosts.told(2).lost, -1);
}

/// The same, but it goes while it is waited for, and after it was sent something.
TEST_P(UcxLinks, WhoGoesSaysGoodbyeToWhoeverSaidHello) {
  for (const bool waits : {false, true}) {
    Hosts hosts(3, GetParam());
    const auto out = hosts.sender(0, 1);
    const auto in = hosts[0].recvFrom(0, 1, false), taken = hosts[1].recvFrom(0, 0, false);
    if (waits) {
      Message message{};
      ASSERT_TRUE(hosts.until([&] { return in->tryPeek(&message) || hosts.endpointsOf(0) == 1; }));
    } else {
      ASSERT_TRUE(send(*out, 1, 100));
      ASSERT_TRUE(comes(hosts, *taken, 1, 100));
    }
    hosts.destroy(1);
    ASSERT_TRUE(hosts.until([&] { return hosts.told(0).left == 1; })) << waits;
    EXPECT_EQ(hosts.told(2).left, -1);
    EXPECT_EQ(hosts.endpointsOf(2), 0u);
  }
}

/// A wait is long by the clock, however seldom somebody looks.
TEST_P(UcxLinks, WhoWaitsSaysSoAfterSomeMilliseconds) {
  Hosts hosts(2, GetParam());
  const auto in = hosts[0].recvFrom(0, 1, false);
  Message message{};
  for (int look = 0; look < 3; ++look) {
    EXPECT_FALSE(in->tryPeek(&message));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(hosts.endpointsOf(0), 1u);
}

/// Whoever hears from a rank whose call is over finds what that call sent.
TEST_P(UcxLinks, AMessageThatHasLeftIsSeenByWhoLooks) {
  for (int turn = 0; turn < 20; ++turn) {
    Hosts hosts(2, GetParam());
    const auto out = hosts.sender(0, 1);
    ASSERT_TRUE(send(*out, 1, 100));
    ASSERT_TRUE(hosts.until([&] { return out->drained(); }));
    for (int look = 0; look < 3; ++look) hosts.worker(1).progress();
    EXPECT_EQ(hosts[1].untaken(0).value_or(0), 100u) << turn;
  }
}

/// Its last messages come before its goodbye, and it need not have been told anything.
TEST_P(UcxLinks, WhatWasSentLastStillComes) {
  Hosts hosts(2, GetParam());
  auto out = hosts.sender(1, 0);
  const auto in = hosts[0].recvFrom(0, 1, false);
  for (char k = 0; k < 3; ++k) ASSERT_TRUE(send(*out, k, kChunk));
  out.reset();
  hosts.destroy(1);
  for (char k = 0; k < 3; ++k) ASSERT_TRUE(comes(hosts, *in, k, kChunk)) << int{k};
  EXPECT_TRUE(hosts.until([&] { return hosts.told(0).left == 1; }));
  EXPECT_EQ(hosts.told(0).lost, -1);
}

/// What it sent by another card is still under way when it answers that it is gone.
TEST(UcxLinksOfTwoCards, AnAnswerIsNoGoodbyeOfTheOtherCard) {
  const Env few("RONDO_TEST_FEW_MET", "0");
  Hosts hosts(2, 2);
  auto out = hosts.sender(1, 0);
  const auto back = hosts.sender(0, 1);
  const auto in = hosts[0].recvFrom(0, 1, false);
  for (char k = 0; k < 2; ++k) ASSERT_TRUE(send(*out, k, kChunk));  // one by each card
  out.reset();
  hosts.destroy(1);
  const auto firstCard = [&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (std::chrono::steady_clock::now() < end) {
      hosts.worker(1).progress();
      const std::lock_guard<std::mutex> lock(hosts.worker(0).mutex());
      ucp_worker_progress(hosts.worker(0).handle());
    }
  };
  firstCard();
  ASSERT_TRUE(send(*back, 1, kChunk));  // says hello
  firstCard();
  EXPECT_EQ(hosts.told(0).left, -1);
  for (char k = 0; k < 2; ++k) ASSERT_TRUE(comes(hosts, *in, k, kChunk)) << int{k};
  EXPECT_TRUE(hosts.until([&] { return hosts.told(0).left == 1; }));
  EXPECT_EQ(hosts.told(0).lost, -1);
}

TEST_P(UcxLinks, ADeadOneIsFoundOutByWhoWaits) {
  Hosts hosts(3, GetParam());
  hosts.kill(2);
  const auto in = hosts[0].recvFrom(0, 2, false);
  Message message{};
  EXPECT_TRUE(hosts.until([&] { return in->tryPeek(&message) || hosts.told(0).lost == 2; }));
  EXPECT_EQ(hosts.told(0).lost, 2);
}

/// A communicator was, whose connection is gone; nobody knows, and the ranks live.
TEST_P(UcxLinks, AWayOverAConnectionThatWasLostIsMadeAnew) {
  Hosts hosts(2, GetParam());
  ASSERT_TRUE(send(*hosts.sender(0, 1), 1, 100));
  ASSERT_TRUE(comes(hosts, *hosts[1].recvFrom(0, 0, false), 1, 100));
  hosts.meet(GetParam());
  ASSERT_GT(hosts.breakConnections(), 0);
  for (const int from : {0, 1}) {
    const auto out = hosts.sender(from, 1 - from);
    const auto in = hosts[1 - from].recvFrom(0, from, false);
    for (char k = 0; k < 3; ++k) ASSERT_TRUE(send(*out, k, k == 1 ? kChunk : 100));
    for (char k = 0; k < 3; ++k) ASSERT_TRUE(comes(hosts, *in, k, k == 1 ? kChunk : 100)) << from;
    EXPECT_TRUE(hosts.until([&] { return out->drained(); }));
  }
  EXPECT_EQ(hosts.told(0).lost, -1) << hosts.told(0).whyLost;
  EXPECT_EQ(hosts.told(1).lost, -1) << hosts.told(1).whyLost;
}

/// The same, but it is the other process that is gone.
TEST_P(UcxLinks, AWayThatCannotBeMadeSaysWhereAndWhatToDo) {
  Hosts hosts(2, GetParam());
  ASSERT_TRUE(send(*hosts.sender(0, 1), 1, 100));
  ASSERT_TRUE(comes(hosts, *hosts[1].recvFrom(0, 0, false), 1, 100));
  hosts.meet(GetParam());
  hosts.kill(1);
  const auto out = hosts.sender(0, 1);
  ASSERT_TRUE(send(*out, 1, 100));
  EXPECT_TRUE(hosts.until([&] { return hosts.told(0).lost == 1; }));
  const std::string& why = hosts.told(0).whyLost;
  EXPECT_NE(why.find("no way from host \"here\" to rank 1 on host \"here\" (tcp"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("UCX_NET_DEVICES and UCX_TLS say"), std::string::npos) << why;
  EXPECT_TRUE(hosts.until([&] { return out->drained(); }));
}

/// It was never met, has done what it had to, and its process ends: that is no end for the others,
/// also where one finds out, until somebody waits for it.
TEST_P(UcxLinks, WhoNeverSpokeAndIsNotNeededMayEnd) {
  Hosts hosts(3, GetParam());
  hosts.destroy(1);
  hosts.kill(1);
  hosts[0].share(ReportNote{}, FarTransport::kEverybody);
  BoardNews board{};
  board.named[0] = 1u << 1;  // survivors leave it out
  hosts[0].share(board, FarTransport::kEverybody);
  const std::chrono::milliseconds most(1500);
  EXPECT_FALSE(hosts.until([&] { return hosts.told(0).lost != -1; }, {}, most));
  const auto in = hosts[0].recvFrom(0, 1, false);
  Message message{};
  EXPECT_TRUE(hosts.until([&] { return in->tryPeek(&message) || hosts.told(0).lost == 1; }));
  EXPECT_EQ(hosts.told(2).lost, -1);
}

/// Those meet whose hosts are a power of two apart, and pass on what they hear.
TEST(UcxFewMet, AnEndIsHeardOfByAllThoughFewMeet) {
  const Env few("RONDO_TEST_FEW_MET", "1");
  constexpr int kRanks = 24;
  for (const int dead : {-1, 5}) {
    Hosts hosts(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(hosts.endpointsOf(rank), 8u) << rank;  // 1, 2, 4, 8, 16, 20, 22, 23 further on
    }
    if (dead >= 0) hosts.kill(dead);
    hosts[3].abort(4711, 12, "it had enough");
    const auto heard = [&](int rank) {
      return rank == 3 || rank == dead || hosts.told(rank).aborted != 0;
    };
    EXPECT_TRUE(hosts.until([&] {
      int count = 0;
      for (int rank = 0; rank < kRanks; ++rank) count += heard(rank) ? 1 : 0;
      return count == kRanks;
    }));
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == dead) continue;
      EXPECT_TRUE(heard(rank)) << rank;
      EXPECT_TRUE(rank == 3 || dead >= 0 || hosts.told(rank).reason == "it had enough") << rank;
      EXPECT_LE(hosts.endpointsOf(rank), 8u) << rank;
    }
  }
}

/// Two ends at a time: each is told once, however often ranks look whether all know.
TEST(UcxFewMet, EndsAreNotToldAgainAndAgain) {
  const Env few("RONDO_TEST_FEW_MET", "1");
  constexpr int kRanks = 12;
  Hosts hosts(kRanks);
  hosts[3].abort(1, 0, "");
  hosts[9].abort(2, 0, "");
  hosts[6].abort(3, 0, "");
  const auto endsUntilNow = [&] {
    int count = 0;
    for (int rank = 0; rank < kRanks; ++rank) count += hosts.told(rank).ends;
    return count;
  };
  const auto lookForLong = [&] {
    hosts.until(
        [&] {
          for (int rank = 0; rank < kRanks; ++rank) {
            const std::lock_guard<std::mutex> lock(hosts.worker(rank).mutex());
            hosts.worker(rank).askAgain();
          }
          return false;
        },
        {}, std::chrono::milliseconds(300));
  };
  lookForLong();
  const int before = endsUntilNow();
  lookForLong();
  EXPECT_EQ(endsUntilNow(), before);
}

/// A rank's end may be seen by the network first, and then its host says how it was.
TEST(UcxFewMet, HowItWasIsPassedOnToo) {
  const Env few("RONDO_TEST_FEW_MET", "1");
  Hosts hosts(12);
  const auto all = [&](uint32_t detail) {
    return hosts.until([&] {
      int count = 0;
      for (int rank = 0; rank < 12; ++rank) {
        const Told& told = hosts.told(rank);
        count += told.aborted != 0 && told.detail == detail ? 1 : 0;
      }
      return count >= 11;  // not who says it
    });
  };
  hosts[3].abort(4711, 0, "");
  EXPECT_TRUE(all(0));
  hosts[5].abort(4711, 12, "it had enough");
  EXPECT_TRUE(all(12));
}

/// All hosts next to it have left before somebody else ends the communicator: nobody could tell it.
TEST(UcxFewMet, WhoIsWaitedForAfterItHasEndedTells) {
  const Env few("RONDO_TEST_FEW_MET", "1");
  Hosts hosts(12);
  for (const int gone : {1, 2, 4, 8, 10, 11}) hosts.destroy(gone);
  hosts.until([] { return false; }, {}, std::chrono::milliseconds(100));
  hosts[6].abort(4711, 12, "it had enough");
  EXPECT_TRUE(hosts.until([&] { return hosts.told(3).aborted != 0; }));
  const auto in = hosts[0].recvFrom(0, 6, false);
  Message message{};
  EXPECT_TRUE(hosts.until([&] { return in->tryPeek(&message) || hosts.told(0).aborted != 0; }));
}

/// More ranks than meet without being asked to.
TEST(UcxFewMet, OfManyRanksFewMeet) {
  constexpr int kRanks = 34;
  Hosts hosts(kRanks);
  EXPECT_EQ(hosts.endpointsOf(7), 10u);
  const auto out = hosts.sender(7, 20);
  const auto in = hosts[20].recvFrom(0, 7, false);
  ASSERT_TRUE(send(*out, 1, 100));
  EXPECT_TRUE(comes(hosts, *in, 1, 100));
}

/// The soft limit is raised by no more than it takes, and left alone where it suffices.
TEST(Descriptors, AreAskedForWhereConnectionsMayNeedThem) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto now = [] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  };
  rlimit low = before;
  low.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  allowDescriptors(1);
  EXPECT_EQ(now(), 200u);
  allowDescriptors(100);
  EXPECT_GE(now(), 203u);
  EXPECT_LE(now(), 400u);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/// UCX itself says "Input/output error", or ends the process.
TEST(Descriptors, WhoHasTooFewForAWorkerIsToldSo) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const rlim_t room : {1, 4, 7, 13, 21}) {
    rlimit low = before;
    for (low.rlim_cur = 3; fcntl(static_cast<int>(low.rlim_cur), F_GETFD) != -1;) ++low.rlim_cur;
    low.rlim_cur += room;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    std::string sentence;
    try {
      const UcxWorker worker(UcxWorker::Settings{{"TLS", "tcp"}});
    } catch (const Error& error) {
      sentence = error.sentence();
    }
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_NE(sentence.find("file descriptors open"), std::string::npos) << room << sentence;
    EXPECT_NE(sentence.find("ulimit -n"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(format(" of %zu ", static_cast<size_t>(low.rlim_cur))),
              std::string::npos)
        << sentence;
  }
}

/// Of a process's ranks each may need more or less than another.
TEST(Descriptors, NobodyLowersWhatAnotherHasRaised) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (int turn = 0; turn < 300; ++turn) {
    rlimit low = before;
    low.rlim_cur = 64;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
    onRanks(4, [](int rank) { allowDescriptors(static_cast<size_t>(100 + 20 * rank)); });
    rlimit now{};
    getrlimit(RLIMIT_NOFILE, &now);
    ASSERT_GE(now.rlim_cur, 320u) << turn;
  }
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace rondo::testing

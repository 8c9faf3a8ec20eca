// Channels between hosts without hosts: every rank is a UCX worker of this process, and TCP over a
// local device is between them. Order, stamps, bounds of what is under way, last words.

#include "ucx/ucx_ports.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <set>
#include <thread>

#include "base/error.h"
#include "support/ucx_hosts.h"
#include "ucx/ucx_devices.h"

namespace rondo::testing {
namespace {

/// Takes the next message, which must be as said.
void expectNext(Hosts& hosts, RecvPort& port, char mark, size_t bytes, uint32_t stamp) {
  Message message{};
  ASSERT_TRUE(hosts.until([&] { return port.tryPeek(&message); })) << "message of " << bytes;
  EXPECT_EQ(message.bytes, bytes);
  EXPECT_EQ(message.stamp, stamp);
  EXPECT_EQ(message.landing, nullptr);
  const std::vector<char> wanted(bytes, mark);
  EXPECT_TRUE(bytes == 0 || std::memcmp(message.data, wanted.data(), bytes) == 0) << bytes;
  port.release();
}

/// As many rails as the test's parameter says.
class UcxRails : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Cards, UcxRails, ::testing::Values(1, 2, 3));

void sendAllLengths(Hosts& hosts) {
  const auto out = hosts.sender(0, 1);
  const auto in = hosts[1].recvFrom(0, 0, false);
  const size_t lengths[] = {0, 1, 255, 256, 257, 4096, 8192, 16384, 40000, kChunk};
  char mark = 1;
  for (int round = 0; round < 20; ++round) {
    for (const size_t bytes : lengths) {
      hosts.stamp(0) = static_cast<uint32_t>(mark) * 1000;
      ASSERT_TRUE(hosts.until([&] { return send(*out, mark, bytes); }));
      if (round % 2 == 0) expectNext(hosts, *in, mark, bytes, hosts.stamp(0));
      ++mark;
    }
    for (int k = 0; round % 2 != 0 && k < 10; ++k) {
      const char late = static_cast<char>(mark - 10 + k);
      expectNext(hosts, *in, late, lengths[k], static_cast<uint32_t>(late) * 1000);
    }
  }
  EXPECT_TRUE(hosts.until([&] { return out->drained(); }));
}

TEST_P(UcxRails, MessagesOfAllLengthsComeInOrderWithTheirStamps) {
  Hosts hosts(2, GetParam());
  sendAllLengths(hosts);
}

/// Their numbers do after some hours. Where in the round of 16 places differs.
TEST_P(UcxRails, TheNumbersOfMessagesMayWrap) {
  for (const uint32_t first : {0xffffff9cu, 0xfffffff1u, 0x7fffffa0u}) {
    Hosts hosts(2, GetParam(), {}, first);
    sendAllLengths(hosts);
  }
}

/// Two ranks that have met speak to each other.
void expectToSpeak(Hosts& hosts, char mark) {
  const auto there = hosts.sender(0, 1), back = hosts.sender(1, 0);
  const auto taken = hosts[1].recvFrom(0, 0, false), answer = hosts[0].recvFrom(0, 1, false);
  ASSERT_TRUE(send(*there, mark, kChunk));
  expectNext(hosts, *taken, mark, kChunk, hosts.stamp(0));
  ASSERT_TRUE(send(*back, mark, 100));
  expectNext(hosts, *answer, mark, 100, hosts.stamp(1));
  EXPECT_TRUE(hosts.until([&] { return there->drained() && back->drained(); }));
  EXPECT_EQ(hosts.told(0).lost, -1);
  EXPECT_EQ(hosts.told(1).lost, -1);
}

/// What UCX has given up it does not take up again; the same processes can meet all the same,
/// whichever of them have found out.
TEST_P(UcxRails, AfterItsConnectionWasLostAPairMeetsAgain) {
  Hosts hosts(2, GetParam());
  const std::vector<std::set<int>> whoKnows = {{0, 1}, {0}, {1}, {}, {1}, {0}, {0, 1}};
  for (size_t round = 0; round < whoKnows.size(); ++round) {
    ASSERT_GT(hosts.breakConnections(), 0);
    const auto lost = [&](int rank) {
      // Who has nothing to send may hear nothing.
      hosts[rank].tell(1 - rank, std::array{ToldCall{}});
      return hosts.told(rank).lost == 1 - rank;
    };
    for (const int rank : whoKnows[round]) {
      ASSERT_TRUE(hosts.until([&] { return lost(rank); }, {rank})) << round;
    }
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(hosts.told(rank).lost, whoKnows[round].count(rank) != 0 ? 1 - rank : -1) << round;
    }
    hosts.meet();
    ASSERT_FALSE(HasFailure()) << round;
    hosts.told(0).lost = hosts.told(1).lost = -1;
    expectToSpeak(hosts, static_cast<char>(round + 1));
  }
}

TEST(UcxPorts, ALaneAndADirectionKnowNothingOfOthers) {
  Hosts hosts(2);
  std::vector<std::unique_ptr<SendPort>> outs;
  std::vector<std::unique_ptr<RecvPort>> ins;
  for (int lane = 0; lane < 2; ++lane) {
    for (int from = 0; from < 2; ++from) {
      outs.push_back(hosts[from].sendTo(lane, 1 - from, &hosts.stamp(from)));
      ins.push_back(hosts[1 - from].recvFrom(lane, from, false));
      outs.push_back(hosts[from].sendToAll(lane, &hosts.stamp(from)));
      ins.push_back(hosts[1 - from].recvFrom(lane, from, true));
    }
  }
  for (size_t k = outs.size(); k-- > 0;) EXPECT_TRUE(send(*outs[k], static_cast<char>(k), 100));
  for (size_t k = 0; k < ins.size(); ++k) expectNext(hosts, *ins[k], static_cast<char>(k), 100, 1);
}

/// How many messages of `bytes` go out while nobody reads them.
uint32_t sendUntilFull(Hosts& hosts, SendPort& out, size_t bytes) {
  uint32_t sent = 0;
  const auto quiet = [&] {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  };
  for (auto end = quiet(); std::chrono::steady_clock::now() < end;) {
    hosts.until([] { return true; });
    if (sent < 1000 && send(out, static_cast<char>(sent), bytes)) {
      ++sent;
      end = quiet();
    }
  }
  return sent;
}

void fillChannels(Hosts& hosts) {
  const auto out = hosts.sender(0, 1);
  const auto in = hosts[1].recvFrom(0, 0, false);
  EXPECT_EQ(sendUntilFull(hosts, *out, 8), kUcxWindow);
  EXPECT_EQ(out->tryAcquire(8), nullptr);
  std::vector<char> data(20000);
  EXPECT_FALSE(out->tryPostInPlace(data.data(), data.size(), nullptr, {}));
  for (uint32_t k = 0; k < kUcxWindow; ++k) expectNext(hosts, *in, static_cast<char>(k), 8, 1);
  // Room comes back by the credits, without a message in the other direction.
  EXPECT_EQ(sendUntilFull(hosts, *out, kChunk), kUcxWindowChunks);
  for (uint32_t k = 0; k < kUcxWindowChunks; ++k) {
    expectNext(hosts, *in, static_cast<char>(k), kChunk, 1);
  }
  EXPECT_TRUE(hosts.until([&] { return send(*out, 1, kChunk); }));
  expectNext(hosts, *in, 1, kChunk, 1);
}

TEST(UcxPorts, WhatIsUnderWayIsBounded) {
  Hosts hosts(2);
  fillChannels(hosts);
}

TEST(UcxPorts, CreditsCrossTheWrapOfTheirNumbers) {
  for (const uint32_t first : {0xfffffff8u, 0xffffffebu, 0x7ffffff8u}) {
    Hosts hosts(2, 1, {}, first);
    fillChannels(hosts);
  }
}

/// Of short messages that the socket has no room for UCX asks the bytes later: they are still
/// there, and in order. (With a RCVBUF of 4k the kernel's window stays shut for a second a round,
/// in every other run.)
TEST(UcxPorts, ShortMessagesThatHaveToWaitArePackedThen) {
  Hosts hosts(2, 1, {{"SNDBUF", "4k"}, {"RCVBUF", "16k"}});
  const auto out = hosts.sender(0, 1);
  const auto everyone = hosts[0].sendToAll(1, &hosts.stamp(0));
  const auto in = hosts[1].recvFrom(0, 0, false);
  const auto all = hosts[1].recvFrom(1, 0, true);
  const size_t lengths[] = {kMostPacked, kMostPacked - 1, 0, kMostPacked + 1, 1, 300};
  constexpr uint32_t kEach = 12;
  for (int round = 0; round < 20; ++round) {
    uint32_t waited = 0;
    for (uint32_t k = 0; k < kEach; ++k) {  // nothing moves meanwhile
      ASSERT_TRUE(send(*out, static_cast<char>(k), lengths[k % 6]));
      ASSERT_TRUE(send(*everyone, static_cast<char>(100 + k), lengths[(k + 3) % 6]));
      waited += out->drained() ? 0 : 1;
    }
    EXPECT_GT(waited, 0u) << "the socket took all";
    for (uint32_t k = 0; k < kEach; ++k) {
      expectNext(hosts, *all, static_cast<char>(100 + k), lengths[(k + 3) % 6], 1);
      expectNext(hosts, *in, static_cast<char>(k), lengths[k % 6], 1);
    }
    ASSERT_TRUE(hosts.until([&] { return out->drained() && everyone->drained(); }));
  }
}

/// Short messages, one at a time, touch the first lines of a port's ring and not all of it.
TEST(UcxPorts, WhereNothingIsUnderWayTheRingBeginsAgain) {
  Hosts hosts(2);
  const auto out = hosts.sender(0, 1);
  const auto in = hosts[1].recvFrom(0, 0, false);
  std::set<void*> places;
  for (int k = 0; k < 100; ++k) {
    void* space = nullptr;
    ASSERT_TRUE(hosts.until([&] { return (space = out->tryAcquire(1000)) != nullptr; }));
    places.insert(space);
    std::memset(space, k, 1000);
    out->post(1000, nullptr);
    ASSERT_TRUE(hosts.until([&] { return out->drained(); }));
    expectNext(hosts, *in, static_cast<char>(k), 1000, 1);
  }
  EXPECT_EQ(places.size(), 1u);
}

TEST_P(UcxRails, MemoryIsSentFromWhereItIs) {
  Hosts hosts(2, GetParam());
  const auto out = hosts.sender(0, 1);
  const auto in = hosts[1].recvFrom(0, 0, false);
  std::vector<char> data(kChunk, 5);
  EXPECT_FALSE(out->reaches(data.data(), 100));
  ASSERT_TRUE(out->reaches(data.data(), data.size()));
  for (char mark = 1; mark < 30; ++mark) {
    std::memset(data.data(), mark, data.size());
    ASSERT_TRUE(
        hosts.until([&] { return out->tryPostInPlace(data.data(), data.size(), nullptr, {}); }));
    // Until it has left, the memory is the message's.
    ASSERT_TRUE(hosts.until([&] { return out->drained(); }));
    std::memset(data.data(), 0, data.size());
    expectNext(hosts, *in, mark, data.size(), 1);
  }
}

TEST(UcxPorts, ToEveryoneWaitsForTheSlowest) {
  Hosts hosts(3);
  const auto out = hosts[1].sendToAll(1, &hosts.stamp(1));
  const auto quick = hosts[0].recvFrom(1, 1, true);
  const auto slow = hosts[2].recvFrom(1, 1, true);
  EXPECT_EQ(sendUntilFull(hosts, *out, 8), kUcxWindow);
  for (uint32_t k = 0; k < kUcxWindow; ++k) expectNext(hosts, *quick, static_cast<char>(k), 8, 1);
  EXPECT_EQ(sendUntilFull(hosts, *out, 8), 0u);
  for (uint32_t k = 0; k < kUcxWindow; ++k) expectNext(hosts, *slow, static_cast<char>(k), 8, 1);
  EXPECT_TRUE(hosts.until([&] { return send(*out, 9, 50000); }));
  expectNext(hosts, *quick, 9, 50000, 1);
  expectNext(hosts, *slow, 9, 50000, 1);
}

TEST(UcxPorts, WordsBesideTheChannelsArrive) {
  Hosts hosts(2);
  hosts[0].tell(1, std::array{ToldCall{{6, {}}, {}}, ToldCall{{7, {1, 2, 3}}, {4, 5}}});
  ASSERT_TRUE(hosts.until([&] { return hosts.told(1).calls == 2; }));
  EXPECT_EQ(hosts.told(1).caller, 0);
  EXPECT_EQ(hosts.told(1).called.sequence, 7u);
  EXPECT_TRUE(hosts.told(1).called.sameWords({7, {1, 2, 3}}));
  EXPECT_EQ(hosts.told(1).counts, (PairCounts{4, 5}));
  BoardNews news{};
  news.step = 5;
  news.gone[3] = 7;
  news.blob[1000] = 9;
  hosts[0].share(news, FarTransport::kEverybody);
  ASSERT_TRUE(hosts.until([&] { return hosts.told(1).newsOf == 0; }));
  EXPECT_EQ(std::memcmp(&std::get<BoardNews>(hosts.told(1).news), &news, sizeof news), 0);
  WaitNote note{};
  note.comm = 8;
  note.host[5] = 'h';
  hosts[0].share(note, 1);
  ASSERT_TRUE(hosts.until([&] { return std::holds_alternative<WaitNote>(hosts.told(1).news); }));
  EXPECT_EQ(std::memcmp(&std::get<WaitNote>(hosts.told(1).news), &note, sizeof note), 0);
  hosts[0].share(PlaceQuestion{1, 77, 1}, 1);
  ASSERT_TRUE(
      hosts.until([&] { return std::holds_alternative<PlaceQuestion>(hosts.told(1).news); }));
  EXPECT_EQ(std::get<PlaceQuestion>(hosts.told(1).news).number, 77u);
  PlaceAnswer answer{1, 77, {}};
  answer.text.write("it computes");
  hosts[1].share(answer, 0);
  ASSERT_TRUE(hosts.until([&] { return hosts.told(0).newsOf == 1; }));
  EXPECT_EQ(std::memcmp(&std::get<PlaceAnswer>(hosts.told(0).news), &answer, sizeof answer), 0);
  EXPECT_NE(hosts[0].networkText().find("UCX_TLS="), std::string::npos);
  EXPECT_NE(hosts[0].networkText().find("hosts are not watched"), std::string::npos);
  hosts[1].abort(12, 34, "");
  ASSERT_TRUE(hosts.until([&] { return hosts.told(0).aborted != 0; }));
  EXPECT_EQ(hosts.told(0).aborted, 12u);
  EXPECT_EQ(hosts.told(0).detail, 34u);
  EXPECT_EQ(hosts.told(1).aborted, 0u);
}

TEST_P(UcxRails, WhoIsLostIsNamedToEverybody) {
  Hosts hosts(3, GetParam());
  hosts.kill(2);
  ASSERT_TRUE(hosts.until([&] { return hosts.told(0).lost == 2 && hosts.told(1).lost == 2; }));
  EXPECT_NE(hosts.told(0).whyLost, "");
  // Each also tells the others, which may not have noticed.
  ASSERT_TRUE(hosts.until([&] { return hosts.told(0).aborted == 77; }));
  const auto out = hosts.sender(0, 2);
  EXPECT_TRUE(send(*out, 1, 100));
  EXPECT_TRUE(hosts.until([&] { return out->drained(); }));
}

/// TCP would take down who gets a longer message than it has room for.
TEST(UcxPorts, AnotherLongestMessageIsRefusedOnAllRanks) {
  ThreadGroup group(3);
  std::vector<std::string> sentences(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      ThreadBootstrap boot(group, r);
      UcxWorker worker(
          UcxWorker::Settings{{"TLS", "tcp"}, {"RX_SEG_SIZE", r == 2 ? "64k" : "300k"}});
      Told told;
      const UcxTransport::Wish wish{{(r + 1) % 3, (r + 2) % 3}, {"a", "b", "c"}, 2, kChunk, &told};
      try {
        UcxTransport::create(boot, worker, wish);
      } catch (const Error& error) {
        sentences[static_cast<size_t>(r)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& sentence : sentences) {
    EXPECT_NE(sentence.find("\"300k\" on rank 0 and \"64k\" on rank 2"), std::string::npos)
        << sentence;
    EXPECT_NE(sentence.find("UCX_TCP_RX_SEG_SIZE"), std::string::npos) << sentence;
  }
}

std::vector<int> numbersOf(const cpu_set_t& set) {
  std::vector<int> numbers;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) numbers.push_back(cpu);
  }
  return numbers;
}

/// Long messages leave on each rail.
TEST(UcxPorts, LongMessagesTakeTurnsOnTheRails) {
  Hosts hosts(2, 2);
  const auto out = hosts.sender(0, 1);
  const auto in = hosts[1].recvFrom(0, 0, false);
  std::set<void*> from;  // which of the reader's workers had it
  for (int k = 0; k < 4; ++k) {
    ASSERT_TRUE(hosts.until([&] { return send(*out, static_cast<char>(k), 40000); }));
    Message message{};
    ASSERT_TRUE(hosts.until([&] { return in->tryPeek(&message); }));
    from.insert(hosts[1].heldBy(0, 0, static_cast<uint32_t>(k)));
    expectNext(hosts, *in, static_cast<char>(k), 40000, 1);
  }
  EXPECT_EQ(from.size(), 2u);
}

TEST(UcxPorts, WhoHasFewerCardsSetsTheNumberOfRails) {
  ThreadGroup group(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      ThreadBootstrap boot(group, r);
      UcxWorker worker(UcxWorker::Settings{{"TLS", "tcp"}});
      if (r == 0) worker.addRail({{"TLS", "tcp"}});
      Told told;
      const auto made = UcxTransport::create(boot, worker, {{1 - r}, {"a", "b"}, 2, kChunk, &told});
      EXPECT_NE(made->networkText().find("1 rail"), std::string::npos) << made->networkText();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(UcxDevices, AThreadStaysWithinItsRanksProcessors) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (const int cpu : {1, 2, 3, 9}) CPU_SET(cpu, &allowed);
  const auto near = [&](const char* list) { return numbersOf(processorsOf(list, allowed)); };
  using Numbers = std::vector<int>;
  EXPECT_EQ(near("0-2,9"), (Numbers{1, 2, 9}));
  EXPECT_EQ(near("3"), (Numbers{3}));
  const Numbers all{1, 2, 3, 9};
  EXPECT_EQ(near("4-7"), all);  // its binding is elsewhere
  EXPECT_EQ(near(""), all);
  EXPECT_EQ(near("none"), all);
  EXPECT_EQ(near("0-99999"), all);
}

TEST_P(UcxRails, WhoSaidGoodbyeMayGo) {
  Hosts hosts(2, GetParam());
  auto out = hosts.sender(1, 0);
  const auto in = hosts[0].recvFrom(0, 1, false);
  EXPECT_TRUE(send(*out, 3, 30000));
  std::atomic<bool> gone{false};
  std::thread leaving([&] {
    out.reset();
    hosts.destroy(1);
    gone = true;
  });
  expectNext(hosts, *in, 3, 30000, 1);
  ASSERT_TRUE(hosts.until([&] { return gone.load(); }));
  leaving.join();
  hosts.until([] { return true; });  // takes its goodbye
  hosts.kill(1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  EXPECT_FALSE(hosts.until([&] {
    return hosts.told(0).lost != -1 || std::chrono::steady_clock::now() > end;
  }) && hosts.told(0).lost != -1);
}

/// Wherever the numbers of messages are when it goes.
TEST(UcxPorts, WhoGoesWhileMoreIsWaitedForIsMissed) {
  for (const uint32_t first : {0u, 0xffffffffu, 0xfffffffeu}) {
    Hosts hosts(2, 1, {}, first);
    auto out = hosts.sender(1, 0);
    const auto in = hosts[0].recvFrom(0, 1, false);
    Message message{};
    for (char mark = 0; mark < 2; ++mark) {
      ASSERT_TRUE(send(*out, mark, 8));
      expectNext(hosts, *in, mark, 8, 1);
    }
    ASSERT_TRUE(hosts.until([&] { return out->drained(); }));
    EXPECT_FALSE(in->tryPeek(&message));
    EXPECT_EQ(hosts.told(0).lost, -1);
    out.reset();
    hosts.destroy(1);
    EXPECT_TRUE(hosts.until([&] { return in->tryPeek(&message) || hosts.told(0).lost == 1; }));
    EXPECT_EQ(hosts.told(0).lost, 1) << first;
  }
}

}  // namespace
}  // namespace rondo::testing

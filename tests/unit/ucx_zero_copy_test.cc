// Messages that UCX reads and writes where they lie: who meets whom, and what nobody takes.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/ucx_hosts.h"

namespace rondo::testing {
namespace {

using Bytes = std::vector<char>;

/// As many rails as the test's parameter says.
class UcxZeroCopyRails : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Cards, UcxZeroCopyRails, ::testing::Values(1, 2));

void sendAndReceive(Hosts& hosts) {
  const std::vector<size_t> lengths = {1, 700, 300'000, 5'000'000, 64, 2'000'000};
  for (const bool sendsFirst : {true, false}) {
    std::vector<Bytes> out, in;
    std::vector<ZeroCopy*> sent, received;
    for (size_t k = 0; k < lengths.size(); ++k) {
      out.emplace_back(lengths[k], static_cast<char>('a' + k));
      in.emplace_back(lengths[k] + 1, '-');
    }
    const auto send = [&] {
      for (Bytes& each : out) {
        sent.push_back(hosts[0].sendZeroCopy(1, each.data(), each.size(), MemoryKind::Host));
      }
    };
    if (sendsFirst) {
      send();
      // What is offered waits for its receive.
      EXPECT_FALSE(
          hosts.until([&] { return sent[3]->ended(); }, {}, std::chrono::milliseconds(50)));
    }
    for (Bytes& each : in) {
      received.push_back(
          hosts[1].receiveZeroCopy(0, each.data(), each.size() - 1, MemoryKind::Host));
    }
    if (!sendsFirst) send();
    for (size_t k = 0; k < lengths.size(); ++k) {
      ASSERT_TRUE(hosts.until([&] { return sent[k]->ended() && received[k]->ended(); })) << k;
      Bytes wanted = out[k];
      wanted.push_back('-');
      EXPECT_TRUE(in[k] == wanted) << k;
      hosts[0].giveBack(sent[k]);
      hosts[1].giveBack(received[k]);
    }
  }
}

TEST_P(UcxZeroCopyRails, SendsAndReceivesMeetInTheirOrderWhicheverComesFirst) {
  Hosts hosts(2, GetParam());
  sendAndReceive(hosts);
}

TEST_P(UcxZeroCopyRails, AlsoWhereTheirNumbersWrap) {
  Hosts hosts(2, GetParam(), {}, 0xfffffffdu);
  sendAndReceive(hosts);
}

TEST(UcxZeroCopy, NothingIsWrittenWhereLengthsDiffer) {
  for (const bool sendsFirst : {false, true}) {
    Hosts hosts(2);
    Bytes out(900'000, 'x'), in(800'000, '-');
    ZeroCopy* received = nullptr;
    const auto receive = [&] {
      received = hosts[1].receiveZeroCopy(0, in.data(), in.size(), MemoryKind::Host);
    };
    if (!sendsFirst) receive();
    hosts[0].sendZeroCopy(1, out.data(), out.size(), MemoryKind::Host);
    if (sendsFirst) {
      EXPECT_FALSE(hosts.until([] { return false; }, {}, std::chrono::milliseconds(50)));
      receive();
    }
    ASSERT_TRUE(hosts.until([&] { return hosts.told(1).lost == 0; }));
    EXPECT_EQ(hosts.told(1).whyLost, "it sends 900000 bytes where both have agreed on 800000");
    EXPECT_FALSE(received->ended());
    EXPECT_TRUE(in == Bytes(800'000, '-'));
  }
}

TEST(UcxZeroCopy, MoreOffersThanAnybodyMakesAreRefused) {
  Hosts hosts(2);
  const Bytes out(1000, 'x');
  for (uint32_t k = 0; k < kUcxWindow + 1; ++k) {
    hosts[0].sendZeroCopy(1, out.data(), out.size(), MemoryKind::Host);
  }
  ASSERT_TRUE(hosts.until([&] { return hosts.told(1).lost == 0; }));
  EXPECT_NE(hosts.told(1).whyLost.find("it offered message 16"), std::string::npos)
      << hosts.told(1).whyLost;
}

// Who destroys a communicator refuses what it has not taken, and the network goes on for others.
TEST(UcxZeroCopy, WhatNobodyTookIsRefusedAtTheEnd) {
  Hosts hosts(2);
  const Bytes out(500'000, 'x');
  hosts[0].sendZeroCopy(1, out.data(), out.size(), MemoryKind::Host);
  EXPECT_FALSE(hosts.until([] { return false; }, {}, std::chrono::milliseconds(50)));
  hosts.destroy(1);
  hosts.destroy(0);
  hosts.meet();
  Bytes in(500'000, '-');
  ZeroCopy* const received = hosts[1].receiveZeroCopy(0, in.data(), in.size(), MemoryKind::Host);
  ZeroCopy* const sent = hosts[0].sendZeroCopy(1, out.data(), out.size(), MemoryKind::Host);
  ASSERT_TRUE(hosts.until([&] { return sent->ended() && received->ended(); }));
  EXPECT_TRUE(in == out);
}

TEST(UcxZeroCopy, APeerThatDiesEndsTheCommunicator) {
  Hosts hosts(2);
  Bytes in(500'000, '-');
  ZeroCopy* const received = hosts[1].receiveZeroCopy(0, in.data(), in.size(), MemoryKind::Host);
  hosts.kill(0);
  ASSERT_TRUE(hosts.until([&] { return hosts.told(1).lost == 0; }, {1}));
  EXPECT_FALSE(received->ended());
}

// The memory of one that is under way may be used for something else once the communicator is gone.
TEST(UcxZeroCopy, NothingIsWrittenAfterTheEnd) {
  Hosts hosts(2);
  const Bytes out(64u << 20, 'x'), other(64u << 20, '-');
  Bytes in(out.size(), ' ');
  hosts[0].sendZeroCopy(1, out.data(), out.size(), MemoryKind::Host);
  hosts[1].receiveZeroCopy(0, in.data(), in.size(), MemoryKind::Host);
  ASSERT_TRUE(hosts.until([&] { return in[0] == 'x'; }));
  std::atomic<bool> ended{false};
  std::thread sender([&] {  // pauses for longer than a communicator's end waits for its messages
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    hosts.until([&] { return ended.load(); }, {0});
    hosts.until([] { return false; }, {0}, std::chrono::milliseconds(500));
  });
  hosts[1].abort(1, 0, "");
  hosts.destroy(1);
  in = other;
  ended = true;
  sender.join();
  EXPECT_FALSE(hosts.until([] { return false; }, {}, std::chrono::milliseconds(300)));
  EXPECT_TRUE(in == other);
}

// A peer that takes nothing any more, but may go on later, reads what it was offered then.
TEST(UcxZeroCopy, WhatMessagesLieInOutlivesTheEndWhileTheNetworkHasThem) {
  for (const bool underWay : {false, true}) {
    Hosts hosts(2);
    auto out = std::make_shared<Bytes>(8u << 20, 'x');
    const std::weak_ptr<Bytes> there = out;
    hosts[0].keep(out);
    if (underWay) hosts[0].sendZeroCopy(1, out->data(), out->size(), MemoryKind::Host);
    out.reset();
    EXPECT_FALSE(there.expired());
    // Where few meet the peer answers first.
    EXPECT_FALSE(hosts.until([] { return false; }, {}, std::chrono::milliseconds(100)));
    if (underWay) hosts[0].abort(1, 0, "");
    hosts.destroy(0);
    EXPECT_EQ(there.expired(), !underWay);
  }
}

// An abort of who hurries waits for nothing, also if a peer takes nothing; its words come anyway.
TEST(UcxZeroCopy, AnAbortInAHurryIsHeardOf) {
  Hosts hosts(3);
  const Bytes out(8u << 20, 'x');
  hosts[0].hurry();
  for (const int peer : {1, 2}) {
    hosts[0].sendZeroCopy(peer, out.data(), out.size(), MemoryKind::Host);
  }
  hosts[0].abort(12, 34, "it had enough");
  ASSERT_TRUE(
      hosts.until([&] { return hosts.told(1).aborted == 12 && hosts.told(2).aborted == 12; }));
  EXPECT_EQ(hosts.told(2).reason, "it had enough");
}

TEST(UcxZeroCopy, OnlyWhereAskedForOrACardDoesIt) {
  Hosts hosts(2);
  EXPECT_TRUE(hosts[0].zeroCopies(MemoryKind::Host, true));
  EXPECT_FALSE(hosts[0].zeroCopies(MemoryKind::Host, false));  // TCP alone
  EXPECT_FALSE(hosts[0].zeroCopies(MemoryKind::Cuda, false));
}

}  // namespace
}  // namespace rondo::testing

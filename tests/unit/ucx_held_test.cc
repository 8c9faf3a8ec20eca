// Ways that are made when they are first used: what goes out before the hello is answered, and what
// becomes of the rest.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "support/ucx_hosts.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// Nobody meets; a communicator was, which has left its connections to the next.
class UcxHeld : public ::testing::TestWithParam<int> {
 protected:
  void meetAgain(Hosts& hosts) {
    for (const int from : {0, 1}) {
      const auto out = hosts.sender(from, 1 - from);
      const auto in = hosts[1 - from].recvFrom(0, from, false);
      for (int rail = 0; rail < GetParam(); ++rail) {
        ASSERT_TRUE(send(*out, 1, kChunk));
        ASSERT_TRUE(comes(hosts, *in, 1, kChunk));
      }
    }
    hosts.meet(GetParam());
  }
  const Env few_{"RONDO_TEST_FEW_MET", "0"};
};
INSTANTIATE_TEST_SUITE_P(Cards, UcxHeld, ::testing::Values(1, 2));

TEST_P(UcxHeld, AZeroCopyWaitsForTheAnswerToo) {
  Hosts hosts(2, GetParam());
  meetAgain(hosts);
  ASSERT_GT(hosts.breakConnections(), 0);
  const std::vector<char> out(300'000, 'x');
  std::vector<char> in(out.size(), '-');
  ZeroCopy* const sent = hosts[0].sendZeroCopy(1, out.data(), out.size(), MemoryKind::Host);
  ZeroCopy* const received = hosts[1].receiveZeroCopy(0, in.data(), in.size(), MemoryKind::Host);
  EXPECT_TRUE(hosts.until([&] { return sent->ended() && received->ended(); }));
  EXPECT_TRUE(in == out);
  EXPECT_EQ(hosts.told(0).lost, -1) << hosts.told(0).whyLost;
  EXPECT_EQ(hosts.told(1).lost, -1) << hosts.told(1).whyLost;
}

/// It has carried what may be lost now, though the other one can be made anew.
TEST(UcxHeldRails, AWayThatWasInUseIsNotMadeAnew) {
  const Env few("RONDO_TEST_FEW_MET", "0");
  constexpr uint32_t kBySecondRail = 1;
  Hosts hosts(2, 2, {}, kBySecondRail);
  std::vector<char> data(300'000, 'x'), in(300'000);
  const auto zeroCopy = [&] {
    return hosts[0].sendZeroCopy(1, data.data(), data.size(), MemoryKind::Host);
  };
  ZeroCopy* const sent = zeroCopy();
  hosts[1].receiveZeroCopy(0, in.data(), in.size(), MemoryKind::Host);
  ASSERT_TRUE(hosts.until([&] { return sent->ended(); }));
  hosts.meet(2);
  ASSERT_TRUE(send(*hosts.sender(0, 1), 1, 100));
  ASSERT_TRUE(comes(hosts, *hosts[1].recvFrom(0, 0, false), 1, 100));
  ASSERT_GT(hosts.breakConnections(), 0);
  zeroCopy();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (std::chrono::steady_clock::now() < end) hosts.worker(0).rail(1).progress();
  EXPECT_EQ(hosts.told(0).lost, -1);
  EXPECT_TRUE(hosts.until([&] { return hosts.told(0).lost == 1; }, {0}));
}

/// Who answers from beyond a communicator has used the connection, too.
TEST_P(UcxHeld, AConnectionThatOnlyAnsweredMayHaveDied) {
  Hosts hosts(2, GetParam());
  hosts.destroy(0);
  const auto in = hosts[1].recvFrom(0, 0, false);
  Message message{};
  ASSERT_TRUE(hosts.until([&] { return !in->tryPeek(&message) && hosts.told(1).left == 0; }));
  hosts.meet(GetParam());
  ASSERT_GT(hosts.breakConnections(), 0);
  ASSERT_TRUE(send(*hosts.sender(0, 1), 1, 100));
  EXPECT_TRUE(comes(hosts, *hosts[1].recvFrom(0, 0, false), 1, 100));
  EXPECT_EQ(hosts.told(0).lost, -1) << hosts.told(0).whyLost;
}

/// Their callers' memory may be gone soon.
TEST_P(UcxHeld, MessagesOfACommunicatorThatHasEndedAreForgotten) {
  for (const int ends : {0, 2}) {
    Hosts hosts(3, GetParam());
    std::vector<char> data(kChunk, 'x');
    const auto out = hosts.sender(0, 1);
    ASSERT_TRUE(out->tryPostInPlace(data.data(), data.size(), nullptr, {}));
    EXPECT_FALSE(out->drained());
    hosts[ends].abort(1, 0, "it had enough");
    const auto heard = [&] { return ends == 0 || hosts.told(0).aborted != 0; };
    ASSERT_TRUE(hosts.until(heard, {0, 2}));
    EXPECT_TRUE(out->drained()) << ends;
  }
}

}  // namespace
}  // namespace rondo::testing

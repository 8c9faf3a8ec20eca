// UCX's TCP connections among all of the process's.

#include "ucx/ucx_sockets.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "p2p/tcp_socket.h"

namespace rondo {
namespace {

constexpr int kRtoMaxMs = 44;  // TCP_RTO_MAX_MS

int rtoMaxOf(int fd) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, IPPROTO_TCP, kRtoMaxMs, &value, &length) == 0 ? value : -1;
}

struct Connection {
  UniqueFd here, there;
};

Connection connectTo(const Listeners& listeners) {
  ConnectFailure failure;
  Connection made;
  made.here = connectAny(listeners.endpoints, {}, Deadline(5000), &failure);
  EXPECT_EQ(failure.sentence, "");
  made.there = UniqueFd(accept(listeners.sockets[0].get(), nullptr, nullptr));
  EXPECT_GE(made.there.get(), 0);
  return made;
}

TEST(UcxSockets, OnlyConnectionsOfKnownPortsAreBounded) {
  NetAddress loopback{};
  loopback[10] = loopback[11] = 255;
  loopback[12] = 127;
  loopback[15] = 1;
  const Listeners other = listenAt({loopback});
  const std::vector<int> before = listeningSockets();
  const auto knows = [](const std::vector<int>& list, const Listeners& listeners) {
    return std::find(list.begin(), list.end(), listeners.sockets[0].get()) != list.end();
  };
  EXPECT_TRUE(knows(before, other));
  const Listeners mine = listenAt({loopback});
  EXPECT_FALSE(knows(before, mine));
  const UcxPorts ports = portsSince(before);
  EXPECT_EQ(ports[0], mine.endpoints[0].port);
  EXPECT_EQ(ports[1], 0);

  const Connection strange = connectTo(other), ours = connectTo(mine);
  const int usual = rtoMaxOf(strange.here.get());
  if (usual < 0) GTEST_SKIP() << "this kernel has no TCP_RTO_MAX_MS";
  // Accepted at one of its ports; then also those that lead to a known one.
  EXPECT_EQ(boundRetransmission(ports, {}), 1);
  EXPECT_EQ(rtoMaxOf(ours.there.get()), 1000);
  EXPECT_EQ(rtoMaxOf(ours.here.get()), usual);
  EXPECT_EQ(boundRetransmission({}, {0, mine.endpoints[0].port}), 1);
  EXPECT_EQ(rtoMaxOf(ours.here.get()), 1000);
  EXPECT_EQ(boundRetransmission(ports, {mine.endpoints[0].port}), 2);
  EXPECT_EQ(rtoMaxOf(strange.here.get()), usual);
  EXPECT_EQ(rtoMaxOf(strange.there.get()), usual);
}

}  // namespace
}  // namespace rondo

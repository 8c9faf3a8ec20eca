#pragma once
// TCP connections between ranks that are being introduced to each other.

#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "p2p/fd_exchange.h"
#include "p2p/net_interfaces.h"
#include "p2p/unix_socket.h"

namespace rondo {

/// One place to connect to, as ids and messages carry it.
struct Endpoint {
  NetAddress address;
  uint16_t port;  ///< 0: no endpoint.
};
static_assert(sizeof(Endpoint) == 18);

constexpr int kMostEndpoints = 3;
using Endpoints = std::array<Endpoint, kMostEndpoints>;

/// "10.0.0.1 port 4000"; several with "or" in between.
std::string endpointText(const Endpoint& endpoint);
std::string endpointText(const Endpoints& endpoints);

/// This end's or, if `peer`, the other end's address of a TCP socket.
Endpoint endpointOf(int fd, bool peer);

/// The socket's end will be a reset, so that neither side keeps its port for a minute (TIME_WAIT):
/// ports would run out where communicators are made by the thousand. For the end that is known to
/// be the last to have something to hear, and has heard it.
void resetAtClose(int fd);

/// Time left of a wait.
class Deadline {
 public:
  explicit Deadline(int64_t ms) : ms_(ms) {}
  /// Milliseconds, 0 if over; for poll().
  int left() const;

 private:
  Clock::time_point start_ = Clock::now();
  int64_t ms_;
};

/// Sockets that listen at some addresses of one interface, each at a port of the kernel's choice.
struct Listeners {
  std::vector<UniqueFd> sockets;
  Endpoints endpoints{};
};

/// At as many of `addresses` as an id has room for, both families if there are. Throws Error if
/// none can be listened at.
Listeners listenAt(const std::vector<NetAddress>& addresses);

/// A socket that is being connected, or is (poll for POLLOUT, then ask for SO_ERROR). `sources`:
/// see connectAny(). None (fd -1): `error`, if not nullptr, is errno.
UniqueFd beginConnect(const Endpoint& to, const std::vector<NetAddress>& sources, int* error);

/// Why no endpoint could be connected to.
struct ConnectFailure {
  bool refused = false;  ///< Every endpoint's host answered that nobody listens there.
  std::string sentence;  ///< Endpoint by endpoint.
};

/// Connects to whichever endpoint answers first, trying one after the other with a short head start
/// for each, and drops the others. `sources`, if not empty, are
/// this host's addresses to connect from. None (fd -1): `failure` says why.
UniqueFd connectAny(const Endpoints& endpoints, const std::vector<NetAddress>& sources,
                    const Deadline& deadline, ConnectFailure* failure);

}  // namespace rondo

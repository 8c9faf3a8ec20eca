#include "p2p/tcp_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/error.h"
#include "p2p/interrupt.h"

namespace rondo {
namespace {

constexpr int kBacklog = 1024;
constexpr int kHeadStartMs = 100;  // of an address over the next one, as in RFC 8305

struct SocketAddress {
  sockaddr_storage raw{};
  socklen_t length = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&raw); }
  int family() const { return raw.ss_family; }
};

SocketAddress socketAddress(const NetAddress& address, uint16_t port) {
  SocketAddress out;
  if (isIpv4(address)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.data() + 12, 4);
    std::memcpy(&out.raw, &v4, sizeof v4);
    out.length = sizeof v4;
    return out;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  std::memcpy(&v6.sin6_addr, address.data(), address.size());
  std::memcpy(&out.raw, &v6, sizeof v6);
  out.length = sizeof v6;
  return out;
}

Endpoint endpointFrom(const sockaddr_storage& raw) {
  Endpoint out{};
  if (raw.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &raw, sizeof v4);
    out.port = ntohs(v4.sin_port);
    out.address[10] = out.address[11] = 0xff;
    std::memcpy(out.address.data() + 12, &v4.sin_addr, 4);
  } else if (raw.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &raw, sizeof v6);
    out.port = ntohs(v6.sin6_port);
    std::memcpy(out.address.data(), &v6.sin6_addr, out.address.size());
  }
  return out;
}

UniqueFd newSocket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (fd.get() >= 0) setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

/// A connection that is being made.
struct Attempt {
  Endpoint to;
  UniqueFd fd;
  int error = 0;      // errno of its failure
  bool done = false;  // connected
};

// The kernel may connect a socket to itself if nobody listens at a port of its own choosing.
bool isSelfConnected(int fd) {
  const Endpoint here = endpointOf(fd, false), there = endpointOf(fd, true);
  return here.address == there.address && here.port == there.port;
}

void settle(Attempt& attempt, int error) {
  if (error == 0 && isSelfConnected(attempt.fd.get())) error = ECONNREFUSED;
  attempt.error = error;
  attempt.done = error == 0;
  if (error != 0) attempt.fd = UniqueFd();
}

void begin(Attempt& attempt, const std::vector<NetAddress>& sources) {
  attempt.fd = beginConnect(attempt.to, sources, &attempt.error);
}

/// Waits until at least one attempt under way has ended; false: the time is over.
bool waitForOne(std::vector<Attempt>& attempts, int timeoutMs) {
  std::vector<pollfd> set;
  std::vector<Attempt*> waiting;
  for (Attempt& attempt : attempts) {
    if (attempt.fd.get() < 0) continue;
    set.push_back({attempt.fd.get(), POLLOUT, 0});
    waiting.push_back(&attempt);
  }
  const int found = BootWait::poll(set, timeoutMs);
  if (found == 0) return false;
  if (found < 0 && errno == ECANCELED) {
    throw Error(rondoRemoteError, "rondoCommAbort was called while the communicator was made");
  }
  for (size_t i = 0; found > 0 && i < set.size(); ++i) {
    if (set[i].revents == 0) continue;
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(set[i].fd, SOL_SOCKET, SO_ERROR, &error, &length);
    settle(*waiting[i], error);
  }
  return true;
}

std::string errorText(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);
}

}  // namespace

std::string endpointText(const Endpoint& endpoint) {
  return format("%s port %u", addressText(endpoint.address).c_str(), endpoint.port);
}

std::string endpointText(const Endpoints& endpoints) {
  std::string text;
  for (const Endpoint& each : endpoints) {
    if (each.port != 0) text += (text.empty() ? "" : " or ") + endpointText(each);
  }
  return text;
}

Endpoint endpointOf(int fd, bool peer) {
  sockaddr_storage raw{};
  socklen_t length = sizeof raw;
  (peer ? getpeername : getsockname)(fd, reinterpret_cast<sockaddr*>(&raw), &length);
  return endpointFrom(raw);
}

void resetAtClose(int fd) {
  const linger none{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

int Deadline::left() const {
  return static_cast<int>(std::clamp<int64_t>(ms_ - millisSince(start_), 0, INT_MAX));
}

Listeners listenAt(const std::vector<NetAddress>& addresses) {
  // The first of each family before the second of one.
  std::vector<NetAddress> order = addresses;
  const auto other = std::find_if(order.begin(), order.end(), [&](const NetAddress& each) {
    return isIpv4(each) != isIpv4(order[0]);
  });
  if (other != order.end()) std::rotate(order.begin() + 1, other, other + 1);
  Listeners out;
  std::string why = "no address";
  for (const NetAddress& address : order) {
    if (out.sockets.size() == kMostEndpoints) break;
    SocketAddress at = socketAddress(address, 0);
    UniqueFd fd = newSocket(at.family());
    const int on = 1;
    if (fd.get() >= 0) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd.get() < 0 || bind(fd.get(), at.get(), at.length) != 0 ||
        listen(fd.get(), kBacklog) != 0) {
      why = addressText(address) + ": " + errorText(errno);
      continue;
    }
    out.endpoints[out.sockets.size()] = endpointOf(fd.get(), false);
    out.sockets.push_back(std::move(fd));
  }
  if (out.sockets.empty()) throw Error(rondoSystemError, "listening for ranks failed at " + why);
  return out;
}

UniqueFd beginConnect(const Endpoint& endpoint, const std::vector<NetAddress>& sources,
                      int* error) {
  const auto failed = [error](int why) {
    if (error != nullptr) *error = why;
    return UniqueFd();
  };
  SocketAddress to = socketAddress(endpoint.address, endpoint.port);
  UniqueFd fd = newSocket(to.family());
  if (fd.get() < 0) return failed(errno);
  const auto source = std::find_if(sources.begin(), sources.end(), [&](const NetAddress& each) {
    return isIpv4(each) == isIpv4(endpoint.address);
  });
  if (source != sources.end()) {
    SocketAddress from = socketAddress(*source, 0);
    const int on = 1;  // the port is chosen at connect, where more of them are free
    setsockopt(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd.get(), from.get(), from.length) != 0) return failed(errno);
  } else if (!sources.empty()) {
    return failed(EAFNOSUPPORT);
  }
  if (connect(fd.get(), to.get(), to.length) == 0 || errno == EINPROGRESS || errno == EINTR) {
    return fd;
  }
  return failed(errno);
}

UniqueFd connectAny(const Endpoints& endpoints, const std::vector<NetAddress>& sources,
                    const Deadline& deadline, ConnectFailure* failure) {
  std::vector<Attempt> attempts;
  size_t next = 0;
  for (;;) {
    const auto best =
        std::find_if(attempts.begin(), attempts.end(), [](const Attempt& a) { return a.done; });
    if (best != attempts.end()) return std::move(best->fd);
    const bool more = next < endpoints.size() && endpoints[next].port != 0;
    const bool any = std::any_of(attempts.begin(), attempts.end(),
                                 [](const Attempt& a) { return a.fd.get() >= 0; });
    // The next one begins when there is nothing to wait for, or the others take long.
    if (any &&
        waitForOne(attempts, more ? std::min(kHeadStartMs, deadline.left()) : deadline.left())) {
      continue;
    }
    if (!more) break;
    Attempt& added = attempts.emplace_back();
    added.to = endpoints[next++];
    begin(added, sources);
  }
  failure->refused = !attempts.empty();
  for (const Attempt& attempt : attempts) {
    failure->refused = failure->refused && attempt.error == ECONNREFUSED;
    failure->sentence += (failure->sentence.empty() ? "" : ", ") + endpointText(attempt.to) + ": " +
                         (attempt.error != 0 ? errorText(attempt.error) : "no answer");
  }
  return UniqueFd();
}

}  // namespace rondo

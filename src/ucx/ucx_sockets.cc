#include "ucx/ucx_sockets.h"

#include <dirent.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

namespace rondo {
namespace {

/// TCP_RTO_MAX_MS, which headers older than Linux 6.15 do not have.
constexpr int kRtoMaxMs = 44;
/// The least that it takes.
constexpr int kMostWaitMs = 1000;

int option(int fd, int level, int name) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(fd, level, name, &value, &length) == 0 ? value : -1;
}

/// act(fd) for each TCP socket of this process.
template <class Act>
void forEachTcpSocket(const Act& act) {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder)) {
    char* end = nullptr;
    const auto fd = static_cast<int>(std::strtol(entry->d_name, &end, 10));
    if (end == entry->d_name || fd == dirfd(folder)) continue;
    if (option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP) act(fd);
  }
  closedir(folder);
}

uint16_t portOf(int fd, bool peer) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if ((peer ? getpeername(fd, any, &length) : getsockname(fd, any, &length)) != 0) return 0;
  const uint16_t port =
      address.ss_family == AF_INET6  ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
      : address.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                                     : uint16_t{0};
  return ntohs(port);
}

}  // namespace

std::vector<int> listeningSockets() {
  std::vector<int> found;
  forEachTcpSocket([&](int fd) {
    if (option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1) found.push_back(fd);
  });
  return found;
}

UcxPorts portsSince(const std::vector<int>& before) {
  UcxPorts ports{};
  size_t count = 0;
  for (const int fd : listeningSockets()) {
    if (std::find(before.begin(), before.end(), fd) != before.end()) continue;
    if (count < ports.size()) ports[count++] = portOf(fd, false);
  }
  return ports;
}

namespace {

/// act(fd) for each connection of UCX's.
template <class Act>
void forEachConnection(const UcxPorts& own, const std::unordered_set<uint16_t>& theirs,
                       const Act& act) {
  forEachTcpSocket([&](int fd) {
    const uint16_t to = portOf(fd, true);
    if (to == 0) return;  // not connected
    const bool accepted = std::find(own.begin(), own.end(), portOf(fd, false)) != own.end();
    if (accepted || theirs.count(to) != 0) act(fd);
  });
}

}  // namespace

int boundRetransmission(const UcxPorts& own, const std::unordered_set<uint16_t>& theirs) {
  int bounded = 0;
  forEachConnection(own, theirs, [&](int fd) {
    if (setsockopt(fd, IPPROTO_TCP, kRtoMaxMs, &kMostWaitMs, sizeof kMostWaitMs) == 0) ++bounded;
  });
  return bounded;
}

bool allHasArrived(const UcxPorts& own, const std::unordered_set<uint16_t>& theirs) {
  bool all = true;
  forEachConnection(own, theirs, [&](int fd) {
    int bytes = 0;
    all = all && (ioctl(fd, SIOCOUTQ, &bytes) != 0 || bytes == 0);
  });
  return all;
}

}  // namespace rondo

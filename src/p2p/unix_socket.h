#pragma once
// Names of a group's Unix sockets, and the clock of their waits.

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <string>

#include "p2p/bootstrap.h"

namespace rondo {

/// An address in the abstract name space: nothing in the file system, gone with its last socket.
struct UnixAddress {
  sockaddr_un raw{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

/// "rondo-HEX-SUFFIX". HEX is derived from the secret and the suffix: bound names can be read by
/// anybody in /proc/net/unix, and from one neither the secret, which proves whoever sends it, nor
/// another name can be found.
UnixAddress groupAddress(const Secret& secret, const std::string& suffix);

/// The uid at the other end of a connected socket is this process's.
bool peerIsSameUser(int fd);

using Clock = std::chrono::steady_clock;

inline int64_t millisSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

}  // namespace rondo

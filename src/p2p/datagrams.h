#pragma once
// Unix datagrams that carry file descriptors, to and from processes of this host.

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"
#include "p2p/unix_socket.h"

namespace rondo {

/// A socket that hears what is sent to `name`, does not block, and learns who sends. Throws
/// Error(rondoSystemError), with `purpose` in the sentence.
UniqueFd bindDatagrams(const UnixAddress& name, const char* purpose);

/// Sends the bytes, and `fd` unless it is -1. 0, or errno: EAGAIN, ETOOMANYREFS and ENOBUFS pass
/// when the peer reads, ECONNREFUSED says that nobody has the name, EPIPE that
/// whoever has it hears nothing any more.
int sendDatagram(int socket, const UnixAddress& to, const void* data, size_t bytes, int fd);

/// What came with one.
struct Datagram {
  ssize_t bytes = 0;  ///< Of the message as it was sent, though there may be room for less.
  bool sameUser = false;
  std::vector<UniqueFd> fds;  ///< All that the kernel installed.
};

/// Takes one message into [data, data + room). 0, or errno; EAGAIN: there is none.
int receiveDatagram(int socket, void* data, size_t room, Datagram* out);

}  // namespace rondo

#include "p2p/datagrams.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace rondo {
namespace {

constexpr size_t kMostFds = 8;  // more in one message than any peer sends; all are closed

}  // namespace

UniqueFd bindDatagrams(const UnixAddress& name, const char* purpose) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) throw systemError(format("socket for %s", purpose), errno);
  const int on = 1;
  if (setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    throw systemError(format("SO_PASSCRED on the socket for %s", purpose), errno);
  }
  if (bind(socket.get(), name.get(), name.length) != 0) {
    throw systemError(format("bind of the socket for %s", purpose), errno);
  }
  return socket;
}

int sendDatagram(int socket, const UnixAddress& to, const void* data, size_t bytes, int fd) {
  iovec part{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_name = const_cast<sockaddr*>(to.get());
  header.msg_namelen = to.length;
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

// Everything the kernel installed is owned by `out->fds` before anything is judged.
int receiveDatagram(int socket, void* data, size_t room, Datagram* out) {
  *out = Datagram{};
  iovec part{data, room};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kMostFds * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  do {
    out->bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
  } while (out->bytes < 0 && errno == EINTR);
  if (out->bytes < 0) return errno;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_RIGHTS) {
      const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        out->fds.emplace_back(fd);
      }
    } else if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
      out->sameUser = sender.uid == getuid();  // the kernel fills in the sender's real uid
    }
  }
  return 0;
}

}  // namespace rondo

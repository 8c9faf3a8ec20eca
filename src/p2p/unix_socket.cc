#include "p2p/unix_socket.h"

#include <unistd.h>

#include <cstddef>

#include "base/error.h"
#include "p2p/boot_mac.h"

namespace rondo {

UnixAddress groupAddress(const Secret& secret, const std::string& suffix) {
  std::string name = "rondo-";
  for (const unsigned char byte : derivedSecret(secret, ("socket " + suffix).c_str())) {
    name += format("%02x", byte);
  }
  name += "-" + suffix;
  UnixAddress address;
  address.raw.sun_family = AF_UNIX;
  // sun_path[0] stays 0: that is what makes a name abstract.
  if (name.size() + 1 > sizeof address.raw.sun_path) {
    throw Error(rondoInternalError, "socket name " + name + " is too long");
  }
  name.copy(address.raw.sun_path + 1, name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

bool peerIsSameUser(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

}  // namespace rondo

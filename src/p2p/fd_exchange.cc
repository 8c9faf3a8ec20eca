#include "p2p/fd_exchange.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "p2p/interrupt.h"
#include "p2p/unix_socket.h"

namespace rondo {
namespace {

constexpr uint32_t kMagic = 0x52444644;  // "RDFD"

struct Message {
  uint32_t magic;
  uint32_t round;
  int32_t rank;
  uint32_t hasFd;
  Secret secret;
};

using namespace std::chrono_literals;
constexpr auto kIdleEvery = 50us;   // how often a waiting rank lets MPI progress
constexpr auto kSleepAfter = 2ms;   // a wait this long stops spinning
constexpr auto kProbeEvery = 20ms;  // how often it looks whether the peers are alive
constexpr int kMostPerTurn = 256;   // messages read before sending again, whatever a stranger sends
constexpr size_t kMostFds = 8;      // more in one message than any peer sends; all are closed

UnixAddress addressOf(const Secret& secret, int rank) {
  return groupAddress(secret, "r" + std::to_string(rank));
}

int sendOne(int socket, const UnixAddress& to, Message& message, int fd) {
  iovec part{&message, sizeof message};
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

struct Received {
  Message message{};
  ssize_t bytes = 0;
  bool sameUser = false;
  std::vector<UniqueFd> fds;
};

// Everything the kernel installed is owned by `out.fds` before anything is judged.
int receive(int socket, Received& out) {
  iovec part{&out.message, sizeof out.message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kMostFds * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  do {
    out.bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
  } while (out.bytes < 0 && errno == EINTR);
  if (out.bytes < 0) return errno;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_RIGHTS) {
      const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        out.fds.emplace_back(fd);
      }
    } else if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
      out.sameUser = sender.uid == getuid();  // the kernel fills in the sender's real uid
    }
  }
  return 0;
}

}  // namespace

struct FdExchange::Round {
  std::vector<char> sent;
  std::vector<char> here;
  std::vector<UniqueFd> fds;
  size_t toSend;
  size_t toReceive;
  std::string missing;  // what did not fit; the peers still get what they wait for
};

FdExchange::FdExchange(Bootstrap& boot, std::vector<int> peers)
    : boot_(boot),
      peers_(std::move(peers)),
      socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (socket_.get() < 0) throw systemError("socket for passing descriptors", errno);
  const int on = 1;
  if (setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    throw systemError("SO_PASSCRED on the socket for passing descriptors", errno);
  }
  const UnixAddress address = addressOf(boot_.secret(), boot_.rank());
  if (bind(socket_.get(), address.get(), address.length) != 0) {
    throw systemError("bind of the socket for passing descriptors", errno);
  }
  const auto next =
      std::find_if(peers_.begin(), peers_.end(), [&](int p) { return p > boot_.rank(); });
  firstPeer_ = next == peers_.end() ? 0 : static_cast<size_t>(next - peers_.begin());
}

FdExchange::~FdExchange() = default;

std::vector<UniqueFd> FdExchange::exchange(int fd, int limitMs) {
  Round round{std::vector<char>(peers_.size()),
              std::vector<char>(peers_.size()),
              std::vector<UniqueFd>(peers_.size()),
              peers_.size(),
              peers_.size(),
              ""};
  for (Arrival& early : std::exchange(early_, {})) {
    accept(round, early.peer, round_, std::move(early.fd));
  }
  const auto start = Clock::now();
  auto progress = start, idle = start, probe = start;
  while (round.toSend > 0 || round.toReceive > 0) {
    const bool moved = sendPending(fd, round) | receiveAll(round);
    const auto now = Clock::now();
    if (moved) {
      progress = now;
      continue;
    }
    if (BootWait::interrupted()) {
      throw Error(rondoRemoteError, "rondoCommAbort was called while descriptors were exchanged");
    }
    if (now - idle >= kIdleEvery) {
      boot_.idle();
      idle = now;
    }
    if (now - probe >= kProbeEvery) {
      checkAlive(round);
      probe = now;
    }
    if (now - start >= std::chrono::milliseconds(limitMs)) {
      const auto missing = std::find(round.here.begin(), round.here.end(), 0);
      const auto unsent = std::find(round.sent.begin(), round.sent.end(), 0);
      const bool waits = missing != round.here.end();
      const auto peer = waits ? missing - round.here.begin() : unsent - round.sent.begin();
      throw Error(rondoSystemError,
                  format("rank %d %s within %d ms while descriptors were exchanged",
                         peers_[static_cast<size_t>(peer)],
                         waits ? "sent nothing" : "took no message", limitMs));
    }
    if (now - progress < kSleepAfter) {
      sched_yield();
    } else {
      // Up to 200 us: an arrival wakes it, room in a peer's queue does not.
      pollfd readable{socket_.get(), POLLIN, 0};
      const timespec nap{0, 200000};
      ppoll(&readable, 1, &nap, nullptr);
    }
  }
  ++round_;
  if (!round.missing.empty()) throw Error(rondoSystemError, round.missing);
  return std::move(round.fds);
}

bool FdExchange::sendPending(int fd, Round& round) {
  if (round.toSend == 0) return false;
  bool moved = false;
  Message message{kMagic, round_, boot_.rank(), fd >= 0 ? 1u : 0u, boot_.secret()};
  for (size_t i = 0; i < peers_.size(); ++i) {
    const size_t peer = (firstPeer_ + i) % peers_.size();
    if (round.sent[peer]) continue;
    const int problem =
        sendOne(socket_.get(), addressOf(boot_.secret(), peers_[peer]), message, fd);
    // EAGAIN: its queue (net.unix.max_dgram_qlen, 10 messages) is full. ETOOMANYREFS: this user has
    // too many descriptors in flight. Both pass when the peers read.
    if (problem == EAGAIN || problem == ETOOMANYREFS || problem == ENOBUFS) continue;
    if (problem == ECONNREFUSED) {
      throw Error(rondoRemoteError,
                  format("rank %d has ended while descriptors were exchanged", peers_[peer]));
    }
    if (problem != 0) {
      throw systemError(format("sending a descriptor to rank %d", peers_[peer]), problem);
    }
    round.sent[peer] = 1;
    --round.toSend;
    moved = true;
  }
  return moved;
}

bool FdExchange::receiveAll(Round& round) {
  const size_t before = round.toReceive;
  for (int i = 0; i < kMostPerTurn && receiveOne(round); ++i) {
  }
  return round.toReceive != before;
}

bool FdExchange::receiveOne(Round& round) {
  Received got;
  const int problem = receive(socket_.get(), got);
  if (problem == EAGAIN) return false;
  if (problem != 0) throw systemError("receiving a descriptor", problem);
  const Message& message = got.message;
  const auto peer = std::find(peers_.begin(), peers_.end(), message.rank);
  if (got.bytes != sizeof message || !got.sameUser || message.magic != kMagic ||
      message.secret != boot_.secret() || peer == peers_.end()) {
    ++dropped_;
    return true;
  }
  UniqueFd fd;
  if (message.hasFd != 0 && got.fds.empty()) {
    round.missing = format(
        "the descriptor of rank %d did not fit: this process has too many open "
        "files (see RLIMIT_NOFILE)",
        message.rank);
  } else if (message.hasFd != 0) {
    fd = std::move(got.fds.front());
  }
  accept(round, static_cast<size_t>(peer - peers_.begin()), message.round, std::move(fd));
  return true;
}

void FdExchange::accept(Round& round, size_t peer, uint32_t number, UniqueFd fd) {
  if (number == round_ && !round.here[peer]) {
    round.here[peer] = 1;
    round.fds[peer] = std::move(fd);
    --round.toReceive;
    return;
  }
  // A peer that has everything of this round may be one round ahead, never two: for the next it
  // needs this rank's message.
  const bool known = std::any_of(early_.begin(), early_.end(),
                                 [&](const Arrival& early) { return early.peer == peer; });
  if (number == round_ + 1 && !known) {
    early_.push_back({peer, std::move(fd)});
    return;
  }
  ++dropped_;
}

void FdExchange::checkAlive(Round& round) {
  // Connecting (another socket: a connected one hears only its peer) leaves no message behind and
  // fails if nobody has the name.
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    if (round.here[peer]) continue;
    const UniqueFd probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (probe.get() < 0) return;
    const UnixAddress address = addressOf(boot_.secret(), peers_[peer]);
    if (connect(probe.get(), address.get(), address.length) == 0 || errno != ECONNREFUSED) continue;
    receiveAll(round);  // what it sent before it ended
    if (round.here[peer]) continue;
    throw Error(rondoRemoteError,
                format("rank %d has ended while descriptors were exchanged", peers_[peer]));
  }
}

}  // namespace rondo

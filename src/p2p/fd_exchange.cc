#include "p2p/fd_exchange.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "p2p/datagrams.h"
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

UnixAddress addressOf(const Secret& secret, int rank) {
  return groupAddress(secret, "r" + std::to_string(rank));
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

FdExchange::FdExchange(Bootstrap& boot, std::vector<int> peers, int limitMs)
    : boot_(boot),
      peers_(std::move(peers)),
      limitMs_(limitMs),
      socket_(bindDatagrams(addressOf(boot_.secret(), boot_.rank()), "passing descriptors")) {
  const auto next =
      std::find_if(peers_.begin(), peers_.end(), [&](int p) { return p > boot_.rank(); });
  firstPeer_ = next == peers_.end() ? 0 : static_cast<size_t>(next - peers_.begin());
}

FdExchange::~FdExchange() = default;

std::vector<UniqueFd> FdExchange::exchange(int fd) {
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
    if (now - start >= std::chrono::milliseconds(limitMs_)) {
      const auto missing = std::find(round.here.begin(), round.here.end(), 0);
      const auto unsent = std::find(round.sent.begin(), round.sent.end(), 0);
      const bool waits = missing != round.here.end();
      const auto peer = waits ? missing - round.here.begin() : unsent - round.sent.begin();
      throw Error(rondoSystemError,
                  format("rank %d %s within %d ms while descriptors were exchanged",
                         peers_[static_cast<size_t>(peer)],
                         waits ? "sent nothing" : "took no message", limitMs_));
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
    const int problem = sendDatagram(socket_.get(), addressOf(boot_.secret(), peers_[peer]),
                                     &message, sizeof message, fd);
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
  Message message{};
  Datagram got;
  const int problem = receiveDatagram(socket_.get(), &message, sizeof message, &got);
  if (problem == EAGAIN) return false;
  if (problem != 0) throw systemError("receiving a descriptor", problem);
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

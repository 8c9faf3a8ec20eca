#include "p2p/local_bootstrap.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "p2p/id_service.h"
#include "p2p/unix_socket.h"

namespace rondo {
namespace {

constexpr char kMagic[8] = {'R', 'O', 'N', 'D', 'O', 'I', 'D', '\0'};
constexpr uint32_t kIdVersion = 1;
// The service names who is late when its own limit passes; a joiner that hears nothing for this
// much longer decides that the service itself is stuck.
constexpr int kGraceMs = 2000;

/// The 128 bytes.
struct IdBytes {
  char magic[8];
  uint32_t version;
  uint32_t unused;
  uint64_t hostHash;
  Secret secret;
  char hostName[64];
  char zero[24];
};
static_assert(sizeof(IdBytes) == RONDO_UNIQUE_ID_BYTES);

IdBytes checkId(const rondoUniqueId& id, const IdHost& host) {
  IdBytes bytes;
  std::memcpy(&bytes, &id, sizeof bytes);
  if (std::memcmp(bytes.magic, kMagic, sizeof kMagic) != 0) {
    throw Error(rondoInvalidArgument,
                "id is not one that rondoGetUniqueId made (its first bytes differ); allowed: all "
                "128 bytes, unchanged");
  }
  if (bytes.version != kIdVersion) {
    throw Error(rondoInvalidUsage,
                format("id is of version %u; this library reads version %u: the rank that made it "
                       "uses another version of Rondo",
                       bytes.version, kIdVersion));
  }
  bytes.hostName[sizeof bytes.hostName - 1] = '\0';
  if (bytes.hostHash != host.hash) {
    throw Error(rondoUnsupported,
                format("id was made on host \"%s\" and this is host \"%s\" (containers count as "
                       "hosts); ranks on several hosts are not supported yet",
                       bytes.hostName, host.name.c_str()));
  }
  return bytes;
}

}  // namespace

void makeUniqueId(const IdHost& host, rondoUniqueId* id) {
  IdBytes bytes{};
  std::memcpy(bytes.magic, kMagic, sizeof kMagic);
  bytes.version = kIdVersion;
  bytes.hostHash = host.hash;
  bytes.secret = makeSecret();
  host.name.copy(bytes.hostName, sizeof bytes.hostName - 1);
  IdService::instance().add(std::make_unique<IdGroup>(bytes.secret));
  std::memcpy(id, &bytes, sizeof bytes);
}

LocalBootstrap::LocalBootstrap(const rondoUniqueId& id, int nranks, int rank, const IdHost& host,
                               int limitMs)
    : nranks_(nranks), rank_(rank), limitMs_(limitMs) {
  if (nranks < 1 || nranks > wire::kMostRanks) {
    throw Error(rondoInvalidArgument,
                format("nranks is %d; allowed: 1 to %d", nranks, wire::kMostRanks));
  }
  if (rank < 0 || rank >= nranks) {
    throw Error(rondoInvalidArgument, format("rank is %d; allowed: 0 to %d", rank, nranks - 1));
  }
  secret_ = checkId(id, host).secret;
  connectToMaker();
  struct {
    wire::Header header;
    wire::Hello hello;
  } const message{{wire::Kind::Hello, sizeof(wire::Hello)},
                  {wire::kVersion, rank_, nranks_, limitMs_, secret_}};
  static_assert(sizeof message == sizeof(wire::Header) + sizeof(wire::Hello));
  sendAll(&message, sizeof message);
  const wire::Header header = receiveHeader();
  if (header.kind != wire::Kind::Welcome || header.bytes != 0) {
    throw Error(rondoInternalError, "the process that made the id answered out of turn");
  }
}

void LocalBootstrap::connectToMaker() {
  fd_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd_.get() < 0) throw systemError("socket for joining", errno);
  const UnixAddress address = groupAddress(secret_, "id");
  const auto start = Clock::now();
  while (connect(fd_.get(), address.get(), address.length) != 0) {
    if (errno == EINTR) continue;
    // The maker listens before it gives the id away, so nobody there means that it is over.
    if (errno == ECONNREFUSED) {
      throw Error(rondoSystemError,
                  "nobody answers for the id: the process that made it has ended, or a group was "
                  "already made with it (an id serves one group)");
    }
    if (errno != EAGAIN) throw systemError("connecting to the process that made the id", errno);
    if (millisSince(start) >= limitMs_) {
      throw Error(rondoSystemError,
                  format("the process that made the id accepted no connection in %d ms", limitMs_));
    }
    const timespec nap{0, 500000};  // many ranks connect at once and its queue is full
    nanosleep(&nap, nullptr);
  }
  if (!peerIsSameUser(fd_.get())) {
    throw Error(rondoInvalidUsage, "the id was made by another user of this host");
  }
}

void LocalBootstrap::allGather(const void* mine, size_t bytes, void* all) {
  if (bytes > wire::kMostPart) {
    throw Error(rondoInternalError,
                format("allGather of %zu bytes a rank; allowed: %u", bytes, wire::kMostPart));
  }
  const wire::Header mineHeader{wire::Kind::Gather, static_cast<uint32_t>(bytes)};
  std::vector<char> message(sizeof mineHeader + bytes);
  std::memcpy(message.data(), &mineHeader, sizeof mineHeader);
  if (bytes > 0) std::memcpy(message.data() + sizeof mineHeader, mine, bytes);
  sendAll(message.data(), message.size());
  const wire::Header header = receiveHeader();
  const size_t whole = bytes * static_cast<size_t>(nranks_);
  if (header.kind != wire::Kind::Result || header.bytes != whole) {
    throw Error(rondoInternalError, "the process that made the id answered out of turn");
  }
  receiveAll(all, whole);
}

void LocalBootstrap::waitFor(short events) {
  const auto start = Clock::now();
  for (;;) {
    const int64_t left = int64_t{limitMs_} + kGraceMs - millisSince(start);
    pollfd entry{fd_.get(), events, 0};
    if (left > 0) {
      const int found = poll(&entry, 1, static_cast<int>(left));
      if (found > 0) return;
      if (found < 0 && errno != EINTR) throw systemError("poll", errno);
      continue;
    }
    throw Error(rondoSystemError, format("the process that made the id has not answered for %d ms",
                                         limitMs_ + kGraceMs));
  }
}

void LocalBootstrap::sendAll(const void* bytes, size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(fd_.get(), from, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      waitFor(POLLOUT);
      continue;
    }
    if (sent < 0) return;  // closed at the other side: the answer that waits here says why
    from += sent;
    count -= static_cast<size_t>(sent);
  }
}

void LocalBootstrap::receiveAll(void* bytes, size_t count) {
  char* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = recv(fd_.get(), to, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      waitFor(POLLIN);
      continue;
    }
    if (got <= 0) {
      throw Error(rondoRemoteError, "the process that made the id has ended");
    }
    to += got;
    count -= static_cast<size_t>(got);
  }
}

wire::Header LocalBootstrap::receiveHeader() {
  wire::Header header;
  receiveAll(&header, sizeof header);
  if (header.kind != wire::Kind::Failure) return header;
  int32_t code = 0;
  std::string sentence(std::max<size_t>(header.bytes, sizeof code) - sizeof code, '\0');
  receiveAll(&code, sizeof code);
  receiveAll(sentence.data(), sentence.size());
  throw Error(static_cast<rondoResult_t>(code), sentence);
}

}  // namespace rondo

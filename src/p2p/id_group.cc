#include "p2p/id_group.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace rondo {
namespace {

constexpr int kLingerMs = 30000;  // how long an ended group still tells late joiners why
constexpr int kHelloMs = 30000;   // how long a connection may stay silent
constexpr int kBacklog = 1024;

}  // namespace

struct IdGroup::Link {
  UniqueFd fd;
  Clock::time_point since = Clock::now();
  int rank = -1;  // -1: has not joined
  std::vector<char> in, out;
  std::vector<char> part;
  bool hasPart = false;
  bool closing = false;  // closed as soon as `out` is sent
  bool closed = false;
};

IdGroup::IdGroup(const Secret& secret)
    : secret_(secret), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (listener_.get() < 0) throw systemError("socket of a unique id", errno);
  const UnixAddress address = groupAddress(secret, "id");
  if (bind(listener_.get(), address.get(), address.length) != 0 ||
      listen(listener_.get(), kBacklog) != 0) {
    throw systemError("listening on the socket of a unique id", errno);
  }
}

IdGroup::~IdGroup() = default;

void IdGroup::collect(std::vector<pollfd>& set) const {
  set.push_back({listener_.get(), POLLIN, 0});
  for (const auto& link : links_) {
    const short events = link->out.empty() ? POLLIN : POLLIN | POLLOUT;
    set.push_back({link->fd.get(), events, 0});
  }
}

void IdGroup::handle(const pollfd* entries) {
  const size_t polled = links_.size();
  for (size_t i = 0; i < polled; ++i) {
    Link& link = *links_[i];
    const short found = entries[i + 1].revents;
    if (!link.closed && (found & POLLOUT)) write(link);
    if (!link.closed && (found & (POLLIN | POLLHUP | POLLERR))) read(link);
  }
  if (entries[0].revents & POLLIN) acceptAll();
  checkTime();
  std::erase_if(links_, [](const auto& link) { return link->closed; });
  const auto ranks = static_cast<int>(byRank_.size());
  if (links_.empty() && ranks > 0 && joined_ == ranks) finished_ = true;
}

int IdGroup::timeout() const {
  int64_t least = -1;
  const auto consider = [&](Clock::time_point since, int limit) {
    const int64_t left = std::max<int64_t>(0, limit - millisSince(since) + 1);
    if (least < 0 || left < least) least = left;
  };
  if (!failure_.empty()) consider(waitingSince_, kLingerMs);
  if (waiting_) consider(waitingSince_, limitMs_);
  for (const auto& link : links_) {
    if (link->rank < 0) consider(link->since, kHelloMs);
  }
  return static_cast<int>(least);
}

void IdGroup::acceptAll() {
  for (;;) {
    auto link = std::make_unique<Link>();
    link->fd = UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (link->fd.get() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of descriptors: the joiner stays queued; do not spin on it.
      if (errno != EAGAIN) ppoll(nullptr, 0, std::array{timespec{0, 1000000}}.data(), nullptr);
      return;
    }
    Link& added = *links_.emplace_back(std::move(link));
    if (!peerIsSameUser(added.fd.get())) {
      refuse(added, rondoInvalidUsage, "the unique id was made by another user of this host");
    }
  }
}

void IdGroup::read(Link& link) {
  char buffer[16384];
  for (;;) {
    const ssize_t got = recv(link.fd.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      leave(link);
      return;
    }
    if (!link.closing) link.in.insert(link.in.end(), buffer, buffer + got);
    if (static_cast<size_t>(got) < sizeof buffer) break;
  }
  parse(link);
}

void IdGroup::parse(Link& link) {
  while (!link.closing && !link.closed && link.in.size() >= sizeof(wire::Header)) {
    wire::Header header;
    std::memcpy(&header, link.in.data(), sizeof header);
    const bool hello =
        link.rank < 0 && header.kind == wire::Kind::Hello && header.bytes == sizeof(wire::Hello);
    const bool part =
        link.rank >= 0 && header.kind == wire::Kind::Gather && header.bytes <= wire::kMostPart;
    if (!hello && !part) {
      refuse(link, rondoInvalidUsage,
             "the process that made the unique id did not understand the message (are both of the "
             "same version of Rondo?)");
      return;
    }
    const size_t whole = sizeof header + header.bytes;
    if (link.in.size() < whole) return;
    if (hello) {
      wire::Hello said;
      std::memcpy(&said, link.in.data() + sizeof header, sizeof said);
      join(link, said);
    } else {
      gather(link, link.in.data() + sizeof header, header.bytes);
    }
    link.in.erase(link.in.begin(), link.in.begin() + static_cast<ptrdiff_t>(whole));
  }
}

void IdGroup::join(Link& link, const wire::Hello& hello) {
  if (hello.version != wire::kVersion) {
    return refuse(link, rondoInvalidUsage,
                  format("version %u of the joining protocol; the process that made the unique id "
                         "has %u",
                         hello.version, wire::kVersion));
  }
  if (hello.secret != secret_) {
    return refuse(link, rondoInvalidArgument, "the unique id's secret is wrong");
  }
  const auto known = static_cast<int>(byRank_.size());
  if (known > 0 && hello.nranks != known) {
    return refuse(link, rondoInvalidUsage,
                  format("rank %d says nranks is %d, rank %d said %d", hello.rank, hello.nranks,
                         firstRank_, known));
  }
  if (hello.nranks < 1 || hello.nranks > wire::kMostRanks || hello.rank < 0 ||
      hello.rank >= hello.nranks) {
    return refuse(link, rondoInvalidArgument,
                  format("rank %d of %d; allowed: 0 <= rank < nranks <= %d", hello.rank,
                         hello.nranks, wire::kMostRanks));
  }
  const auto rank = static_cast<size_t>(hello.rank);
  if (known > 0 && everJoined_[rank]) {
    return refuse(
        link, rondoInvalidUsage,
        format("rank %d of %d has already joined with this unique id", hello.rank, known));
  }
  if (!failure_.empty()) {
    everJoined_[rank] = 1;
    ++joined_;
    return refuse(link, failureCode_, failure_);
  }
  if (known == 0) {
    byRank_.resize(static_cast<size_t>(hello.nranks));
    everJoined_.resize(byRank_.size());
    firstRank_ = hello.rank;
    waiting_ = true;
    waitingSince_ = Clock::now();
    limitMs_ = std::max(1, hello.limitMs);
  }
  link.rank = hello.rank;
  byRank_[rank] = &link;
  everJoined_[rank] = 1;
  if (++joined_ < static_cast<int>(byRank_.size())) return;
  waiting_ = false;
  for (Link* member : byRank_) send(*member, wire::Kind::Welcome, nullptr, 0);
}

void IdGroup::gather(Link& link, const char* part, size_t bytes) {
  if (joined_ < static_cast<int>(byRank_.size()) || link.hasPart) {
    return fail(rondoInternalError, format("rank %d spoke out of turn", link.rank));
  }
  if (gone_ > 0) return fail(rondoRemoteError, goneText_);
  link.part.assign(part, part + bytes);
  link.hasPart = true;
  if (!waiting_) {
    waiting_ = true;
    waitingSince_ = Clock::now();
  }
  if (++parts_ == static_cast<int>(byRank_.size())) completeRound();
}

void IdGroup::completeRound() {
  std::vector<char> all;
  for (const Link* member : byRank_) {
    if (member->part.size() != byRank_[0]->part.size()) {
      return fail(rondoInternalError,
                  format("rank %d gathers %zu bytes, rank 0 gathers %zu", member->rank,
                         member->part.size(), byRank_[0]->part.size()));
    }
    all.insert(all.end(), member->part.begin(), member->part.end());
  }
  parts_ = 0;
  waiting_ = false;
  for (Link* member : byRank_) member->hasPart = false;
  // A copy: a member that turns out to have died takes itself out of byRank_.
  for (Link* member : std::vector<Link*>(byRank_)) {
    send(*member, wire::Kind::Result, all.data(), all.size());
  }
}

// The connection has ended at the other side.
void IdGroup::leave(Link& link) {
  link.closed = true;
  if (link.rank < 0 || link.closing) return;
  byRank_[static_cast<size_t>(link.rank)] = nullptr;
  ++gone_;
  goneText_ =
      format("rank %d of %zu ended while the communicator was made", link.rank, byRank_.size());
  if (waiting_) fail(rondoRemoteError, goneText_);
}

void IdGroup::write(Link& link) {
  size_t done = 0;
  while (done < link.out.size()) {
    const ssize_t sent =
        ::send(link.fd.get(), link.out.data() + done, link.out.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return leave(link);
    done += static_cast<size_t>(sent);
  }
  link.out.erase(link.out.begin(), link.out.begin() + static_cast<ptrdiff_t>(done));
  if (link.closing && link.out.empty()) link.closed = true;
}

void IdGroup::send(Link& link, wire::Kind kind, const void* bytes, size_t count) {
  const wire::Header header{kind, static_cast<uint32_t>(count)};
  const char* head = reinterpret_cast<const char*>(&header);
  link.out.insert(link.out.end(), head, head + sizeof header);
  const char* body = static_cast<const char*>(bytes);
  link.out.insert(link.out.end(), body, body + count);
  write(link);
}

void IdGroup::refuse(Link& link, int code, const std::string& sentence) {
  if (link.closing || link.closed) return;
  std::vector<char> body(sizeof(int32_t) + sentence.size());
  const int32_t number = code;
  std::memcpy(body.data(), &number, sizeof number);
  std::memcpy(body.data() + sizeof number, sentence.data(), sentence.size());
  link.closing = true;
  send(link, wire::Kind::Failure, body.data(), body.size());
}

void IdGroup::fail(int code, const std::string& sentence) {
  if (!failure_.empty()) return;
  failureCode_ = code;
  failure_ = sentence;
  waiting_ = false;
  waitingSince_ = Clock::now();
  for (const auto& link : links_) {
    if (link->rank >= 0) refuse(*link, code, sentence);
  }
  std::fill(byRank_.begin(), byRank_.end(), nullptr);
}

void IdGroup::checkTime() {
  if (waiting_ && millisSince(waitingSince_) >= limitMs_) {
    const bool joining = joined_ < static_cast<int>(byRank_.size());
    fail(rondoSystemError,
         format("%s of %zu %s within %d ms", absentRanks().c_str(), byRank_.size(),
                joining ? "did not join" : "joined but did not go on", limitMs_));
  }
  for (const auto& link : links_) {
    if (link->rank < 0 && millisSince(link->since) >= kHelloMs) link->closed = true;
  }
  if (!failure_.empty() && millisSince(waitingSince_) >= kLingerMs) finished_ = true;
}

std::string IdGroup::absentRanks() const {
  std::string text;
  int count = 0;
  const bool joining = joined_ < static_cast<int>(byRank_.size());
  for (size_t rank = 0; rank < byRank_.size(); ++rank) {
    const bool absent = joining ? !everJoined_[rank] : byRank_[rank] && !byRank_[rank]->hasPart;
    if (!absent) continue;
    if (count < 8) text += format("%s%zu", count > 0 ? ", " : "", rank);
    ++count;
  }
  if (count > 8) text += format(" and %d others", count - 8);
  return (count == 1 ? "rank " : "ranks ") + text;
}

}  // namespace rondo

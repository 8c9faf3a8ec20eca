#include "p2p/id_group.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace rondo {
namespace {

constexpr int kLingerMs = 30000;  // how long an ended group still tells late joiners why
constexpr size_t kMostSaid = sizeof(wire::Header) + wire::kMostFailure;

}  // namespace

struct IdGroup::Link {
  UniqueFd fd;
  int rank = -1;  // -1: refused
  Endpoints endpoints{};
  wire::Nonce nonce{};
  std::vector<char> in, out;
  bool closing = false;  // closed as soon as `out` is sent
  bool closed = false;
};

IdGroup::IdGroup(const Secret& secret, uint64_t hostHash, Listeners listeners)
    : secret_(secret), hostHash_(hostHash), gate_(secret, std::move(listeners)) {}

IdGroup::~IdGroup() = default;

void IdGroup::collect(std::vector<pollfd>& set) {
  gateEntries_ = gate_.collect(set);
  for (const auto& link : links_) {
    const short events = link->out.empty() ? POLLIN : POLLIN | POLLOUT;
    set.push_back({link->fd.get(), events, 0});
  }
}

void IdGroup::handle(const pollfd* entries) {
  const size_t polled = links_.size();
  for (size_t i = 0; i < polled; ++i) {
    Link& link = *links_[i];
    const short found = entries[gateEntries_ + i].revents;
    if (!link.closed && (found & POLLOUT)) write(link);
    if (!link.closed && (found & (POLLIN | POLLHUP | POLLERR))) read(link);
  }
  for (Gate::Visitor& visitor : gate_.handle(entries)) join(visitor);
  checkTime();
  std::erase_if(links_, [](const auto& link) { return link->closed; });
  const auto ranks = static_cast<int>(bySlot_.size());
  if (links_.empty() && ranks > 0 && joined_ == ranks) finished_ = true;
}

int IdGroup::timeout() const {
  int64_t least = gate_.timeout();
  const auto consider = [&](int limit) {
    const int64_t left = std::max<int64_t>(0, limit - millisSince(waitingSince_) + 1);
    if (least < 0 || left < least) least = left;
  };
  if (!failure_.empty()) consider(kLingerMs);
  if (waiting_) consider(limitMs_);
  return static_cast<int>(least);
}

/// What is wrong with what a joiner says, or "".
std::string IdGroup::objection(const wire::Hello& hello, int* code) const {
  *code = rondoInvalidUsage;
  if (hello.purpose != wire::Purpose::Register) {
    return "this is the process that made the id, not the parent in the tree";
  }
  if (hello.hostHash == hostHash_ && hello.user != geteuid()) {
    return "the unique id was made by another user of this host";
  }
  const int known = part_.ranks;
  if (known > 0 && hello.nranks != known) {
    return format("rank %d says nranks is %d, rank %d said %d", hello.rank, hello.nranks,
                  firstRank_, known);
  }
  if (hello.nranks < 1 || hello.nranks > wire::kMostRanks || hello.rank < 0 ||
      hello.rank >= hello.nranks) {
    *code = rondoInvalidArgument;
    return format("rank %d of %d; allowed: 0 <= rank < nranks <= %d", hello.rank, hello.nranks,
                  wire::kMostRanks);
  }
  const std::string other = otherIds(hello);
  if (!other.empty()) return other;
  if (known > 0 && everJoined_[slotOf(hello.rank)]) {
    return format("rank %d of %d has already joined with this unique id", hello.rank, known);
  }
  return "";
}

/// What is wrong with the ids that a joiner has, this one among them, or "".
std::string IdGroup::otherIds(const wire::Hello& hello) const {
  const int ids = hello.moreIds + 1, index = hello.part;
  if (part_.ranks > 0 && (ids != part_.ids || index != part_.index)) {
    return format("for rank %d the id is number %d of %d, for rank %d number %d of %d", hello.rank,
                  index, ids, firstRank_, part_.index, part_.ids);
  }
  if (ids > hello.nranks || ids > wire::kMostIds || index >= ids ||
      IdPart{hello.nranks, ids, index}.slotOf(hello.rank) < 0) {
    return format("rank %d of %d does not join by id %d of %d", hello.rank, hello.nranks, index,
                  ids);
  }
  return "";
}

void IdGroup::join(Gate::Visitor& visitor) {
  const wire::Hello& hello = visitor.hello;
  Link& link = *links_.emplace_back(std::make_unique<Link>());
  link.fd = std::move(visitor.fd);
  int code = 0;
  const std::string wrong = objection(hello, &code);
  if (!wrong.empty()) {
    gate_.countRefusal(visitor.from, wrong);
    return refuse(link, code, wrong);
  }
  if (!failure_.empty()) {
    everJoined_[slotOf(hello.rank)] = 1;
    ++joined_;
    return refuse(link, failureCode_, failure_);
  }
  if (bySlot_.empty()) {
    part_ = {hello.nranks, hello.moreIds + 1, hello.part};
    bySlot_.resize(static_cast<size_t>(part_.slots()));
    everJoined_.resize(bySlot_.size());
    firstRank_ = hello.rank;
    waiting_ = true;
    waitingSince_ = Clock::now();
    limitMs_ = std::max(1, hello.limitMs);
  }
  link.rank = hello.rank;
  link.endpoints = hello.endpoints;
  link.nonce = hello.nonce;
  bySlot_[slotOf(hello.rank)] = &link;
  everJoined_[slotOf(hello.rank)] = 1;
  if (++joined_ == static_cast<int>(bySlot_.size())) welcomeAll();
}

void IdGroup::welcomeAll() {
  waiting_ = false;
  // A copy: a member that turns out to have died takes itself out of bySlot_.
  const std::vector<Link*> members = bySlot_;
  for (Link* member : members) {
    wire::Welcome welcome{};
    // The parent of a part's first rank joins by id 0, and so does that rank, once more.
    const int parent = part_.slotOf(treePlace(member->rank, part_.ranks, part_.ids).parent);
    if (parent >= 0) welcome.endpoints = members[static_cast<size_t>(parent)]->endpoints;
    wire::sign(welcome, secret_, member->nonce);
    send(*member, wire::message(wire::Kind::Welcome, &welcome, sizeof welcome));
  }
}

void IdGroup::read(Link& link) {
  char buffer[kMostSaid];
  const ssize_t got = recv(link.fd.get(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return leave(link);
  if (link.closing) return;  // what a refused one says is of no interest
  link.in.insert(link.in.end(), buffer, buffer + got);
  if (!parse(link)) fail(rondoInternalError, format("rank %d spoke out of turn", link.rank));
}

/// False: no part of the protocol.
bool IdGroup::parse(Link& link) {
  wire::Header header;
  if (link.in.size() < sizeof header) return true;
  std::memcpy(&header, link.in.data(), sizeof header);
  const bool all = joined_ == static_cast<int>(bySlot_.size());
  if (all && header.kind == wire::Kind::Bye && header.bytes == 0) {
    bySlot_[slotOf(link.rank)] = nullptr;
    resetAtClose(link.fd.get());
    link.closed = true;
    return true;
  }
  if (header.kind != wire::Kind::Failure || header.bytes > wire::kMostFailure) return false;
  const auto body = link.in.begin() + sizeof header;
  if (link.in.end() - body < static_cast<ptrdiff_t>(header.bytes)) return true;
  try {
    wire::throwFailure({body, body + header.bytes}, format("rank %d", link.rank));
  } catch (const Error& error) {
    fail(error.code(), error.sentence());
  }
  return true;
}

// The connection has ended at the other side.
void IdGroup::leave(Link& link) {
  link.closed = true;
  if (link.rank < 0 || link.closing) return;
  bySlot_[slotOf(link.rank)] = nullptr;
  fail(rondoRemoteError,
       format("rank %d of %d ended while the communicator was made", link.rank, part_.ranks));
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

void IdGroup::send(Link& link, const std::vector<char>& message) {
  if (link.closed || link.closing) return;
  link.out.insert(link.out.end(), message.begin(), message.end());
  write(link);
}

void IdGroup::refuse(Link& link, int code, const std::string& sentence) {
  if (link.closing || link.closed) return;
  const std::vector<char> message = wire::failureMessage(code, sentence);
  link.closing = true;
  link.out.insert(link.out.end(), message.begin(), message.end());
  write(link);
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
  std::fill(bySlot_.begin(), bySlot_.end(), nullptr);
}

void IdGroup::checkTime() {
  if (waiting_ && millisSince(waitingSince_) >= limitMs_) {
    fail(rondoSystemError, format("%s of %d did not join within %d ms%s", absentRanks().c_str(),
                                  part_.ranks, limitMs_, gate_.refusals().c_str()));
  }
  if (!failure_.empty() && millisSince(waitingSince_) >= kLingerMs) finished_ = true;
}

std::string IdGroup::absentRanks() const {
  std::vector<int> absent;
  for (size_t slot = 0; slot < everJoined_.size(); ++slot) {
    if (!everJoined_[slot]) absent.push_back(part_.rankOf(static_cast<int>(slot)));
  }
  return ranksText(absent);
}

}  // namespace rondo

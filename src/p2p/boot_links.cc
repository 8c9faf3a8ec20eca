#include "p2p/boot_links.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "p2p/interrupt.h"

namespace rondo {
namespace {

constexpr int kAskMs = 500;        // in which a rank that waits itself answers Ask
constexpr int kVerdictMs = 10000;  // in which those that do must have found who is missing
constexpr int kFarewellMs = 100;   // for messages that matter to others only

}  // namespace

BootLinks::BootLinks(int rank, int ranks, int limitMs, int ids)
    : rank_(rank), ranks_(ranks), limitMs_(limitMs), place_(treePlace(rank, ranks, ids)) {}

BootLinks::~BootLinks() {
  if (!established_ || failed_) return;
  for (BootLink& link : links_) {
    if (link.rank() < 0 && link.isOpen()) {
      link.send(wire::message(wire::Kind::Bye), Deadline(kFarewellMs));
    }
  }
  // The last thing said between two ranks is the parent's Result, and this one has come.
  if (BootLink* link = parent()) resetAtClose(link->fd());
}

BootLink* BootLinks::parent() {
  const auto at = std::find_if(links_.begin(), links_.end(), [this](const BootLink& each) {
    return each.rank() >= 0 && each.rank() == place_.parent;
  });
  return at == links_.end() ? nullptr : &*at;
}

uint64_t BootLinks::messages() const {
  uint64_t sum = atTheGate_;
  for (const BootLink& link : links_) sum += link.messages();
  return sum;
}

int BootLinks::waitFor(std::vector<pollfd>& set, int timeoutMs) {
  const size_t asked = set.size();
  std::vector<BootLink*> makers;
  for (BootLink& link : links_) {
    if (link.rank() >= 0 || !link.isOpen()) continue;
    makers.push_back(&link);
    set.push_back({link.fd(), POLLIN, 0});
  }
  const int found = BootWait::poll(set, timeoutMs);
  checkInterrupt();
  for (size_t i = 0; found > 0 && i < makers.size(); ++i) {
    if (set[asked + i].revents != 0) listenTo(*makers[i]);
  }
  set.resize(asked);
  return found;
}

/// Blocks until a frame of `kind` is in link.body(). A Failure is thrown.
void BootLinks::receive(BootLink& link, wire::Kind kind, uint32_t bytes, const std::string& who,
                        int limitMs) {
  const Deadline deadline(limitMs);
  for (;;) {
    switch (link.read()) {
      case BootLink::Found::Body:
        if (link.header().kind == wire::Kind::Failure) wire::throwFailure(link.body(), who);
        return;
      case BootLink::Found::Header: {
        const wire::Header& header = link.header();
        const bool failure =
            header.kind == wire::Kind::Failure && header.bytes <= wire::kMostFailure;
        if (!failure && (header.kind != kind || header.bytes != bytes)) {
          throw Error(rondoSystemError,
                      who +
                          " does not answer as Rondo does (another program, or a version of "
                          "Rondo that differs)");
        }
        link.expectBody(header.bytes);
        break;
      }
      case BootLink::Found::Ended:
        throw LinkEnded(rondoRemoteError, who + " has ended");
      case BootLink::Found::Nothing: {
        if (deadline.left() == 0) {
          throw Error(rondoSystemError,
                      format("%s has not answered for %d ms", who.c_str(), limitMs));
        }
        std::vector<pollfd> set{{link.fd(), POLLIN, 0}};
        waitFor(set, deadline.left());
      }
    }
  }
}

wire::Welcome BootLinks::greet(int rank, UniqueFd fd, wire::Hello hello, const Secret& secret,
                               const std::string& who, int limitMs) {
  return finishGreeting(hail(rank, std::move(fd), hello, secret, who, limitMs), hello, secret, who,
                        limitMs);
}

BootLink BootLinks::hail(int rank, UniqueFd fd, wire::Hello& hello, const Secret& secret,
                         const std::string& who, int limitMs) {
  BootLink link(rank, std::move(fd));
  wire::Challenge challenge;
  receive(link, wire::Kind::Challenge, sizeof challenge, who, limitMs);
  std::memcpy(&challenge, link.body().data(), sizeof challenge);
  if (std::memcmp(challenge.magic, wire::kMagic, sizeof wire::kMagic) != 0) {
    throw Error(rondoSystemError, who + " is another program than Rondo");
  }
  if (challenge.version != wire::kVersion) {
    throw Error(rondoInvalidUsage,
                format("%s speaks version %u of the joining protocol; this library speaks %u: the "
                       "ranks use different versions of Rondo",
                       who.c_str(), challenge.version, wire::kVersion));
  }
  hello.nonce = makeSecret();
  wire::sign(hello, secret, challenge.nonce);
  // If it does not get there, the answer that is read next says why.
  link.send(wire::message(wire::Kind::Hello, &hello, sizeof hello), Deadline(limitMs));
  return link;
}

wire::Welcome BootLinks::finishGreeting(BootLink link, const wire::Hello& hello,
                                        const Secret& secret, const std::string& who, int limitMs) {
  wire::Welcome welcome;
  try {
    receive(link, wire::Kind::Welcome, sizeof welcome, who, limitMs);
  } catch (const Error& error) {
    // This connection is not yet among those that are told; its end alone would be taken for this
    // rank's.
    if (BootWait::interrupted()) {
      link.send(wire::failureMessage(error.code(), error.sentence()), Deadline(kFarewellMs));
    }
    throw;
  }
  std::memcpy(&welcome, link.body().data(), sizeof welcome);
  if (!wire::isSigned(welcome, secret, hello.nonce)) {
    throw Error(rondoInvalidArgument, who + " does not know the unique id's secret");
  }
  links_.push_back(std::move(link));
  return welcome;
}

void BootLinks::addChild(int rank, UniqueFd fd, const wire::Hello& hello, const Secret& secret) {
  BootLink link(rank, std::move(fd));
  wire::Welcome welcome{};
  wire::sign(welcome, secret, hello.nonce);
  link.send(wire::message(wire::Kind::Welcome, &welcome, sizeof welcome), Deadline(kFarewellMs));
  atTheGate_ += 2;  // its challenge and its Hello
  links_.push_back(std::move(link));
}

void BootLinks::meet(int limitMs) {
  const int usual = std::exchange(limitMs_, limitMs);
  gather(nullptr, 0, nullptr);
  limitMs_ = usual;
}

void BootLinks::gather(const void* mine, size_t bytes, void* all) {
  if (failed_) throw Error(rondoInvalidUsage, "the group has failed already");
  bytes_ = bytes;
  all_ = static_cast<char*>(all);
  if (bytes > 0) std::memmove(all_ + static_cast<size_t>(rank_) * bytes, mine, bytes);
  for (const TreeBranch& child : place_.children) {
    for (BootLink& link : links_) link.awaited = link.awaited || link.rank() == child.first;
  }
  awaitAll();
  const size_t own = static_cast<size_t>(place_.own.end - place_.own.first);
  const auto size = static_cast<uint32_t>(bytes);
  if (BootLink* up = parent()) {
    sendOrFail(*up, {wire::Kind::Part, size}, all_ + static_cast<size_t>(rank_) * bytes,
               own * bytes);
    up->awaited = true;
    awaitAll();
  }
  for (BootLink& link : links_) {
    if (link.rank() < 0 || link.rank() == place_.parent) continue;
    sendOrFail(link, {wire::Kind::Result, size}, all_, static_cast<size_t>(ranks_) * bytes);
  }
}

void BootLinks::sendOrFail(BootLink& link, const wire::Header& header, const void* body,
                           size_t bytes) {
  const Deadline deadline(limitMs_);
  // One that is broken is noticed, and its last words are heard, when it is next listened to.
  if (!link.send(header, body, bytes, deadline) && deadline.left() == 0) failLate({link.rank()});
}

/// Until no frame is awaited any more. When the time is over every neighbour that is waited for is
/// asked. One that waits itself says so and asks its own; so the rank next to the one that is
/// missing finds out, and its sentence reaches all.
void BootLinks::awaitAll() {
  enum { Patient, Asking, Trusting } stage = Patient;
  Deadline deadline(limitMs_);
  asked_ = false;
  while (!missing(true).empty()) {
    const bool hurry = asked_ && stage == Patient;
    if (pollAll(hurry ? 0 : deadline.left())) continue;
    if (!hurry && deadline.left() > 0) continue;
    if (stage == Patient) {
      ask();
      stage = Asking;
      deadline = Deadline(kAskMs);
    } else if (stage == Asking && missing(false).empty()) {
      stage = Trusting;
      deadline = Deadline(kVerdictMs);
    } else {
      failLate(missing(stage == Trusting));
    }
  }
}

void BootLinks::ask() {
  for (BootLink& link : links_) {
    link.present = false;
    if (link.awaited) link.send(wire::message(wire::Kind::Ask), Deadline(kFarewellMs));
  }
}

std::vector<int> BootLinks::missing(bool alsoPresent) const {
  std::vector<int> ranks;
  for (const BootLink& link : links_) {
    if (link.awaited && (alsoPresent || !link.present)) ranks.push_back(link.rank());
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// Listens to everybody; false: nobody said anything in time.
bool BootLinks::pollAll(int timeoutMs) {
  std::vector<pollfd> set;
  for (const BootLink& link : links_) set.push_back({link.fd(), POLLIN, 0});
  const int found = BootWait::poll(set, timeoutMs);
  checkInterrupt();
  for (size_t i = 0; found > 0 && i < set.size(); ++i) {
    if (set[i].revents != 0) listenTo(links_[i]);
  }
  return found != 0;
}

void BootLinks::listenTo(BootLink& link) {
  for (;;) {
    switch (link.read()) {
      case BootLink::Found::Nothing:
        return;
      case BootLink::Found::Header:
        begin(link);
        break;
      case BootLink::Found::Body:
        // Behind what was awaited nothing is read: its sender may have gone, with every right.
        if (finish(link)) return;
        break;
      case BootLink::Found::Ended:
        if (link.rank() < 0) {
          link.close();  // the tree does without
          return;
        }
        fail(rondoRemoteError,
             format("rank %d of %d ended while the communicator was made", link.rank(), ranks_));
    }
  }
}

/// Where the body of the frame goes whose header has come.
void BootLinks::begin(BootLink& link) {
  const wire::Header& header = link.header();
  const bool isParent = link.rank() == place_.parent;
  if (header.kind == wire::Kind::Failure && header.bytes <= wire::kMostFailure) {
    return link.expectBody(header.bytes);
  }
  if (link.rank() >= 0) {
    const bool question = header.kind == wire::Kind::Ask || header.kind == wire::Kind::Waiting;
    if (question && header.bytes == 0) return link.expectBody(0);
    const wire::Kind wanted = isParent ? wire::Kind::Result : wire::Kind::Part;
    if (link.awaited && header.kind == wanted) {
      if (header.bytes != bytes_) {
        fail(rondoInternalError, format("rank %d gathers %u bytes, rank %d gathers %zu",
                                        link.rank(), header.bytes, rank_, bytes_));
      }
      TreeBranch branch{0, ranks_};
      for (const TreeBranch& child : place_.children) {
        if (child.first == link.rank()) branch = child;
      }
      return link.expect(all_ + static_cast<size_t>(branch.first) * bytes_,
                         static_cast<size_t>(branch.end - branch.first) * bytes_);
    }
  }
  fail(rondoSystemError, link.rank() < 0
                             ? std::string("the process that made the id spoke out of turn")
                             : format("rank %d of %d spoke out of turn", link.rank(), ranks_));
}

/// True: it was what this rank waited for.
bool BootLinks::finish(BootLink& link) {
  switch (link.header().kind) {
    case wire::Kind::Failure:
      passOn(link);
    case wire::Kind::Ask:
      asked_ = true;
      link.send(wire::message(wire::Kind::Waiting), Deadline(kFarewellMs));
      return false;
    case wire::Kind::Waiting:
      link.present = true;
      return false;
    default:
      link.awaited = false;
      return true;
  }
}

void BootLinks::passOn(const BootLink& link) {
  try {
    wire::throwFailure(link.body(), link.rank() < 0 ? std::string("the process that made the id")
                                                    : format("rank %d", link.rank()));
  } catch (const Error& error) {
    fail(error.code(), error.sentence());
  }
}

void BootLinks::failLate(const std::vector<int>& late) {
  fail(rondoSystemError, format("%s of %d joined but did not go on within %d ms",
                                ranksText(late).c_str(), ranks_, limitMs_));
}

void BootLinks::failUnlessTold(int code, const std::string& sentence) {
  std::vector<pollfd> none;
  if (!failed_) waitFor(none, kAskMs);
  fail(code, sentence);
}

void BootLinks::checkInterrupt() {
  if (!BootWait::interrupted()) return;
  fail(
      rondoRemoteError,
      format("rank %d of %d called rondoCommAbort while the communicator was made", rank_, ranks_));
}

void BootLinks::fail(int code, const std::string& sentence) {
  if (!failed_) {
    failed_ = true;
    const std::vector<char> message = wire::failureMessage(code, sentence);
    // Those who are told before this end closes do not take its end for the cause.
    for (BootLink& link : links_) {
      if (link.isOpen()) link.send(message, Deadline(kFarewellMs));
    }
  }
  throw Error(static_cast<rondoResult_t>(code), sentence);
}

}  // namespace rondo

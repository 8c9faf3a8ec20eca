#include "p2p/boot_gate.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/error.h"

namespace rondo {
namespace {

constexpr size_t kMostStrangers = 256;
constexpr int kEvictMs = 1000;  // when full, one older than this makes room
constexpr int kLooks = 20;      // at the door, at least, in the time that a stranger has

}  // namespace

struct Gate::Stranger {
  UniqueFd fd;
  Clock::duration waited{};  // of the time that counts
  std::string from;
  wire::Nonce nonce;
  struct {
    wire::Header header;
    wire::Hello hello;
  } said;
  size_t got = 0;  // bytes of `said`; nothing beyond is read
  bool gone = false;
};

// A Hello takes one round trip; the rest is for busy machines.
Gate::Gate(const Secret& secret, Listeners listeners, int limitMs)
    : secret_(secret), listeners_(std::move(listeners)), limitMs_(limitMs) {}

Gate::~Gate() = default;

size_t Gate::collect(std::vector<pollfd>& set) const {
  const short wanted = isFull() ? 0 : POLLIN;
  for (const UniqueFd& each : listeners_.sockets) set.push_back({each.get(), wanted, 0});
  for (const auto& each : strangers_) set.push_back({each->fd.get(), POLLIN, 0});
  return listeners_.sockets.size() + strangers_.size();
}

std::vector<Gate::Visitor> Gate::handle(const pollfd* entries) {
  std::vector<Visitor> visitors;
  const size_t doors = listeners_.sockets.size(), polled = strangers_.size();
  countTime();
  for (size_t i = 0; i < polled; ++i) {
    if (entries[doors + i].revents == 0) continue;
    Stranger& stranger = *strangers_[i];
    if (!isTrusted(stranger)) continue;
    visitors.push_back({std::move(stranger.fd), stranger.said.hello, stranger.from});
    stranger.gone = true;
  }
  for (size_t i = 0; i < doors; ++i) {
    if (entries[i].revents & POLLIN) acceptAll(listeners_.sockets[i].get());
  }
  checkTime();
  std::erase_if(strangers_, [](const auto& each) { return each->gone; });
  return visitors;
}

bool Gate::isFull() const { return strangers_.size() >= kMostStrangers; }

int Gate::lookMs() const { return std::max(1, limitMs_ / kLooks); }

int Gate::timeout() const {
  if (strangers_.empty()) return -1;
  const auto limit = std::chrono::milliseconds(isFull() ? kEvictMs : limitMs_);
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(limit - strangers_.front()->waited);
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, lookMs()));
}

/// Since the last look. Of one that came much later than was meant, which is this process's own
/// doing, only a part counts.
void Gate::countTime() {
  const auto now = Clock::now();
  const Clock::duration most = std::chrono::milliseconds(2 * lookMs());
  const Clock::duration passed = std::min(now - lookedAt_, most);
  lookedAt_ = now;
  for (const auto& each : strangers_) each->waited += passed;
}

void Gate::acceptAll(int listener) {
  while (!isFull()) {
    UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE) {
        // The joiner stays queued; do not spin on it.
        if (!outOfDescriptors_) countRefusal("anybody", "no file descriptor is left (ulimit -n)");
        outOfDescriptors_ = true;
        const timespec nap{0, 1000000};
        nanosleep(&nap, nullptr);
      }
      return;
    }
    outOfDescriptors_ = false;
    auto stranger = std::make_unique<Stranger>();
    stranger->fd = std::move(fd);
    stranger->from = addressText(endpointOf(stranger->fd.get(), true).address);
    challenge(*stranger);
    strangers_.push_back(std::move(stranger));
  }
}

void Gate::challenge(Stranger& stranger) {
  const wire::Challenge challenge = wire::makeChallenge();
  stranger.nonce = challenge.nonce;
  const std::vector<char> bytes =
      wire::message(wire::Kind::Challenge, &challenge, sizeof challenge);
  // A fresh connection's buffer has room for it.
  const ssize_t sent = send(stranger.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  stranger.gone = sent != static_cast<ssize_t>(bytes.size());
}

bool Gate::isTrusted(Stranger& stranger) {
  if (stranger.gone) return false;
  char* to = reinterpret_cast<char*>(&stranger.said);
  const ssize_t got =
      recv(stranger.fd.get(), to + stranger.got, sizeof stranger.said - stranger.got, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (got <= 0) {
    // A silent one looked whether somebody is here, as an address tried in vain does too.
    if (stranger.got > 0) countRefusal(stranger.from, "it ended within its first message");
    stranger.gone = true;
    return false;
  }
  stranger.got += static_cast<size_t>(got);
  const wire::Header& header = stranger.said.header;
  if (stranger.got < sizeof header) return false;
  if (header.kind != wire::Kind::Hello || header.bytes != sizeof(wire::Hello)) {
    turnAway(stranger, rondoInvalidUsage,
             "what was said is no part of the joining protocol (are all ranks of the same version "
             "of Rondo?)");
    return false;
  }
  if (stranger.got < sizeof stranger.said) return false;
  if (stranger.said.hello.version != wire::kVersion) {
    turnAway(stranger, rondoInvalidUsage,
             format("version %u of the joining protocol; here it is %u: the ranks use different "
                    "versions of Rondo",
                    stranger.said.hello.version, wire::kVersion));
    return false;
  }
  if (!wire::isSigned(stranger.said.hello, secret_, stranger.nonce)) {
    turnAway(stranger, rondoInvalidArgument, "the unique id's secret is wrong");
    return false;
  }
  return true;
}

void Gate::turnAway(Stranger& stranger, int code, const std::string& why) {
  const std::vector<char> bytes = wire::failureMessage(code, why);
  [[maybe_unused]] const ssize_t told =  // who cannot be told is turned away all the same
      send(stranger.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  countRefusal(stranger.from, why);
  stranger.gone = true;
}

void Gate::countRefusal(const std::string& from, const std::string& why) {
  ++refused_;
  lastRefusal_ = from + ": " + why;
}

std::string Gate::refusals() const {
  if (refused_ == 0) return "";
  if (refused_ == 1) return "; a connection was turned away, from " + lastRefusal_;
  return format("; %d connections were turned away, the last from %s", refused_,
                lastRefusal_.c_str());
}

void Gate::checkTime() {
  for (const auto& each : strangers_) {
    if (each->gone || each->waited < std::chrono::milliseconds(limitMs_)) continue;
    countRefusal(each->from, format("it said nothing for %d ms", limitMs_));
    each->gone = true;
  }
  if (!isFull() || strangers_.front()->gone) return;
  if (strangers_.front()->waited < std::chrono::milliseconds(kEvictMs)) return;
  countRefusal(strangers_.front()->from, "it said nothing while others waited");
  strangers_.front()->gone = true;
}

}  // namespace rondo

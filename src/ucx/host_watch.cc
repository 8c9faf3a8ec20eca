#include "ucx/host_watch.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace rondo {
namespace {

constexpr uint64_t kMagic = 0x3143544157444e52;  // "RNDWATC1"
/// Connections whose other end has not said yet who it is, and how long they may take.
constexpr size_t kMostGuests = 256;
constexpr std::chrono::seconds kGreetingLimit{5};
constexpr std::chrono::milliseconds kLookForSilenceEvery{200};

/// The kernel asks after a second without a word, then every second; it gives up after two minutes,
/// long after this file has.
void keepAlive(int fd) {
  const int on = 1, second = 1, most = 120;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &second, sizeof second);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &second, sizeof second);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof most);
}

std::chrono::milliseconds silenceOf(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  return std::chrono::milliseconds(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv));
}

bool wouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

/// Who connects says it, and who was meant answers the same, the other way round.
struct HostWatch::Greeting {
  uint64_t magic, from, to;
};

HostWatch::~HostWatch() = default;

const Endpoints& HostWatch::open(const std::string& wish) {
  if (opened_) return listeners_.endpoints;
  opened_ = true;
  events_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  try {
    const std::vector<NetInterface> all = listInterfaces();
    listeners_ = listenAt(chooseInterface(all, wish).addresses);
  } catch (const Error&) {  // then others are asked for, but cannot ask for this one
  }
  for (const UniqueFd& socket : listeners_.sockets) follow(socket.get(), EPOLLIN);
  return listeners_.endpoints;
}

void HostWatch::follow(int fd, uint32_t wanted) {
  epoll_event event{};
  event.events = wanted;
  event.data.fd = fd;
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST) {
    epoll_ctl(events_.get(), EPOLL_CTL_MOD, fd, &event);
  }
}

HostWatch::Link& HostWatch::linkOf(uint64_t token) {
  for (const auto& link : links_) {
    if (link->token == token) return *link;
  }
  links_.push_back(std::make_unique<Link>());
  links_.back()->token = token;
  return *links_.back();
}

/// The lesser token connects, if it can: both know the same two.
void HostWatch::watch(uint64_t token, const Endpoints& where) {
  if (token == token_) return;
  Link& link = linkOf(token);
  if (link.state == State::Failed) {  // for an earlier communicator: that may be mended
    link.state = State::Awaited;
    link.next = 0;
  }
  if (link.state != State::Awaited || link.next != 0) return;
  link.where = where;
  const bool theirs = listeners_.endpoints[0].port != 0, ours = where[0].port != 0;
  if (ours && (token_ < token || !theirs)) dial(link);
}

bool HostWatch::watches(uint64_t token) const {
  return std::any_of(links_.begin(), links_.end(), [token](const auto& link) {
    return link->token == token && (link->state == State::Up || link->state == State::Ended);
  });
}

void HostWatch::dial(Link& link) {
  while (link.next < link.where.size() && link.where[link.next].port != 0) {
    link.fd = beginConnect(link.where[link.next++], {}, nullptr);
    if (link.fd.get() < 0) continue;
    link.state = State::Connecting;
    link.since = Clock::now();
    return follow(link.fd.get(), EPOLLOUT);
  }
  link.state = State::Failed;
}

/// The connection is made, or not.
void HostWatch::greet(Link& link) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(link.fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  const Greeting mine{kMagic, token_, link.token};
  if (error != 0 || send(link.fd.get(), &mine, sizeof mine, MSG_NOSIGNAL) != sizeof mine) {
    return dial(link);
  }
  link.state = State::Asking;
  follow(link.fd.get(), EPOLLIN | EPOLLRDHUP);
}

void HostWatch::serve(Link& link) {
  if (link.state == State::Connecting) {
    // Not connected yet: SO_ERROR would say nothing.
    tcp_info info{};
    socklen_t length = sizeof info;
    getsockopt(link.fd.get(), IPPROTO_TCP, TCP_INFO, &info, &length);
    if (info.tcpi_state != TCP_SYN_SENT) return greet(link);
    return;
  }
  if (link.state != State::Asking && link.state != State::Up) return;
  Greeting answer{};
  const ssize_t got = recv(link.fd.get(), &answer, sizeof answer, 0);
  if (got < 0 && wouldBlock()) return;
  if (link.state == State::Asking) {
    if (got == sizeof answer && answer.magic == kMagic && answer.from == link.token &&
        answer.to == token_) {
      keepAlive(link.fd.get());
      link.state = State::Up;
      return;
    }
    return dial(link);  // somebody else's address, it seems
  }
  if (got > 0) return;
  // Asked in vain for minutes, the kernel gives up: that is silence and no end.
  const bool silence = got < 0 && errno != ECONNRESET && errno != EPIPE;
  link.state = silence ? State::Failed : State::Ended;
  link.since = Clock::now();
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, link.fd.get(), nullptr);
}

void HostWatch::takeGuests() {
  for (const UniqueFd& socket : listeners_.sockets) {
    for (;;) {
      if (guests_.size() == kMostGuests) return;  // the others wait in the backlog
      UniqueFd fd(accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (fd.get() < 0) break;
      follow(fd.get(), EPOLLIN | EPOLLRDHUP);
      guests_.push_back({std::move(fd), Clock::now()});
    }
  }
}

/// True: it need not be looked at any more.
bool HostWatch::admit(Guest& guest) {
  Greeting said{};
  const ssize_t got = recv(guest.fd.get(), &said, sizeof said, MSG_PEEK);
  if (got < 0 && wouldBlock()) return false;
  if (got > 0 && got < static_cast<ssize_t>(sizeof said)) return false;  // the rest is under way
  if (got != sizeof said || said.magic != kMagic || said.to != token_) return true;
  recv(guest.fd.get(), &said, sizeof said, 0);
  const Greeting answer{kMagic, token_, said.from};
  if (send(guest.fd.get(), &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) return true;
  Link& link = linkOf(said.from);
  if (link.state == State::Up || link.state == State::Ended) return true;
  keepAlive(guest.fd.get());
  link.fd = std::move(guest.fd);
  link.state = State::Up;
  return true;
}

void HostWatch::hearWhatIsSaid() {
  takeGuests();
  std::erase_if(guests_, [this](Guest& guest) { return admit(guest); });
  for (const auto& link : links_) serve(*link);
}

void HostWatch::lookForSilence(std::chrono::milliseconds waiting, std::vector<Event>* events) {
  const auto now = Clock::now();
  std::erase_if(guests_, [now](const Guest& guest) { return now - guest.since > kGreetingLimit; });
  for (const auto& link : links_) {
    if (link->state == State::Connecting && now - link->since > kGreetingLimit) dial(*link);
    if (link->state == State::Up && waiting >= kWaiting && silenceOf(link->fd.get()) >= kSilence) {
      events->push_back({link->token, What::Silent});
    }
  }
}

std::vector<HostWatch::Event> HostWatch::look(std::chrono::milliseconds waiting) {
  std::vector<Event> events;
  if (!opened_) return events;
  epoll_event some;
  if (epoll_wait(events_.get(), &some, 1, 0) > 0) hearWhatIsSaid();
  const auto now = Clock::now();
  for (const auto& link : links_) {
    if (link->state != State::Ended || link->told || now - link->since < kGrace) continue;
    link->told = true;
    events.push_back({link->token, What::Ended});
  }
  if (now - lookedAt_ < kLookForSilenceEvery) return events;
  lookedAt_ = now;
  lookForSilence(waiting, &events);
  return events;
}

}  // namespace rondo

#include "p2p/peer_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/error.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

namespace rondo {
namespace {

std::atomic<bool> someoneDied{false};
pid_t watcher = 0;  // the process that the events are of

/// The pid of a watched process in this process's name space; 0: none, or it was reaped.
int pidOf(int process) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(process));
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("Pid:", 0) == 0) return std::max(0, std::atoi(line.c_str() + 4));
  }
  return 0;
}

/// A process that nobody has reaped yet still has its exit code in its last field.
Ending endingOfZombie(int process) {
  const int pid = pidOf(process);
  if (pid == 0) return Ending::unknown();
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return Ending::unknown();
  const size_t name = line.rfind(") ");
  const size_t last = line.find_last_of(' ');
  if (name == std::string::npos || line[name + 2] != 'Z') return Ending::unknown();
  return Ending::ofStatus(std::atoi(line.c_str() + last + 1));
}

Ending endingOf(int process) {
  siginfo_t info{};
  const auto idType = static_cast<idtype_t>(P_PIDFD);
  const auto id = static_cast<id_t>(process);
  if (waitid(idType, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return endingOfZombie(process);  // not this process's child
  }
  return Ending::ofStatus(info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status);
}

/// A pipe into which nobody writes: only this process can, so that its end is what readers see.
/// Programs that it starts do not inherit the end for writing, and children of a fork let go of it.
class Lifeline {
 public:
  /// Another end for reading; empty, with errno, where there is none to be had.
  static UniqueFd reader() {
    std::array<int, 2> ends = line.load(std::memory_order_acquire);
    if (ends == kNone) {
      if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return UniqueFd();
      std::array<int, 2> none = kNone;
      if (!line.compare_exchange_strong(none, ends, std::memory_order_acq_rel)) {
        closeBoth(ends);  // another thread's came first
        ends = none;
      }
      static const int forked = pthread_atfork(nullptr, nullptr, letGo);
      static_cast<void>(forked);
    }
    return UniqueFd(fcntl(ends[0], F_DUPFD_CLOEXEC, 0));
  }

 private:
  static void letGo() {
    const std::array<int, 2> ends = line.exchange(kNone, std::memory_order_acq_rel);
    if (ends != kNone) closeBoth(ends);
  }
  static void closeBoth(const std::array<int, 2>& ends) {
    for (const int end : ends) close(end);
  }

  static constexpr std::array<int, 2> kNone{-1, -1};
  static inline std::atomic<std::array<int, 2>> line{kNone};
};

/// If errno says so.
void refuseTooMany() {
  if (errno != EMFILE && errno != ENFILE) return;
  throw Error(rondoSystemError,
              "the descriptor by which peers notice this process's end did not fit: this process "
              "has too many open files (see RLIMIT_NOFILE)");
}

/// Once in a process.
void warnUnwatched(const char* what) {
  const int why = errno;
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  std::fprintf(stderr,
               "rondo: warning: %s failed (%s): the ends of processes are not noticed, and a call "
               "waits for ever for one that has ended; set config.timeout or RONDO_TIMEOUT_MS\n",
               what, std::strerror(why));
}

}  // namespace

Ending Ending::ofStatus(int status) {
  if (WIFEXITED(status)) {
    return Ending(kExited | static_cast<uint32_t>(WEXITSTATUS(status)) << kShift);
  }
  return Ending(kKilled | static_cast<uint32_t>(WTERMSIG(status)) << kShift);
}

std::string Ending::text() const {
  const int number = static_cast<int>(word_ >> kShift);
  switch (word_ & 0xff) {
    case kExited:
      return format("ended with exit status %d", number);
    case kKilled:
      return format("was killed by signal %d (%s)", number, strsignal(number));
    default:
      return "ended";
  }
}

PeerWatch& PeerWatch::one() {
  static PeerWatch* const watch = new PeerWatch;  // the progress thread may outlive every static
  return *watch;
}

PeerWatch::PeerWatch() : events_(epoll_create1(EPOLL_CLOEXEC)) { watcher = getpid(); }

UniqueFd PeerWatch::ownProcess() {
#ifdef SYS_pidfd_open
  UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (process.get() >= 0) return process;
  refuseTooMany();
#endif
  UniqueFd line = Lifeline::reader();
  if (line.get() >= 0) return line;
  refuseTooMany();
  warnUnwatched("pipe2");
  return line;
}

void PeerWatch::watch(const void* owner, uint64_t token, UniqueFd process, Listener listener) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (watcher != getpid()) {  // forked: what the parent watches by is its own
    watcher = getpid();
    peers_.clear();
    events_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  }
  const auto known = std::find_if(peers_.begin(), peers_.end(),
                                  [token](const auto& peer) { return peer->token == token; });
  if (known != peers_.end()) {
    (*known)->users.push_back({owner, std::move(listener)});
    return;
  }
  if (process.get() < 0) return;  // the peer has said so
  auto peer = std::make_unique<Peer>();
  peer->token = token;
  peer->users.push_back({owner, std::move(listener)});
  peer->process = std::move(process);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, peer->process.get(), &event) != 0) {
    return warnUnwatched("epoll_ctl");
  }
  peers_.push_back(std::move(peer));
}

void PeerWatch::forget(const void* owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& peer : peers_) {
    std::erase_if(peer->users, [owner](const User& user) { return user.owner == owner; });
  }
  std::erase_if(peers_, [this](const auto& peer) {
    if (peer->users.empty()) unhook(*peer);
    return peer->users.empty();
  });
}

/// Closing would not do: other processes hold the same description.
void PeerWatch::unhook(const Peer& peer) {
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, peer.process.get(), nullptr);
}

void PeerWatch::end(const Peer& peer) {
  dead_.insert(peer.token);
  someoneDied.store(true, std::memory_order_release);
  for (const User& user : peer.users) user.listener(peer.ending);
}

bool PeerWatch::look() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return true;  // somebody looks
  epoll_event events[16];
  const int count = epoll_wait(events_.get(), events, 16, 0);
  bool pending = false;
  const auto now = Clock::now();
  for (int i = 0; i < count; ++i) {
    const auto found = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
      return peer->token == events[i].data.u64;
    });
    if (found == peers_.end()) continue;
    Peer& peer = **found;
    if (peer.seen == Clock::time_point{}) {
      peer.seen = now;
      peer.ending = endingOf(peer.process.get());  // before its parent reaps it, if it can be
    }
    if (now - peer.seen < kGrace) {
      pending = true;
      continue;
    }
    end(peer);
    unhook(peer);
    peers_.erase(found);
  }
  return pending;
}

bool PeerWatch::watches() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !peers_.empty();
}

bool PeerWatch::died(uint64_t token) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dead_.contains(token);
}

void PeerWatch::believeDead(uint64_t token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  dead_.insert(token);
  someoneDied.store(true, std::memory_order_release);
}

void PeerWatch::noteFarDeath() { someoneDied.store(true, std::memory_order_release); }

bool PeerWatch::anyDied() { return someoneDied.load(std::memory_order_acquire); }

}  // namespace rondo

#pragma once
// Learns that a process which shares memory with this one has ended, however it ended.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "p2p/fd_exchange.h"

namespace rondo {

/// How a process ended, in a word that fits shared memory; 0: it has not.
class Ending {
 public:
  explicit Ending(uint32_t word = 0) : word_(word) {}
  static Ending unknown() { return Ending(kEnded); }
  /// `status` as of waitpid.
  static Ending ofStatus(int status);
  uint32_t word() const { return word_; }
  /// "was killed by signal 9 (Killed)", "ended with exit status 3", "ended".
  std::string text() const;

 private:
  static constexpr uint32_t kEnded = 1, kExited = 2, kKilled = 3, kShift = 8;
  uint32_t word_;
};

/// Process-wide and thread safe. A process is known by the token of its segment and watched through
/// a descriptor that it made of itself, which also works across pid name spaces. A stopped process
/// has not ended.
class PeerWatch {
 public:
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;
  static PeerWatch& one();

  /// What peers watch this process by: a pidfd, or, where there is none to be had (kernels before
  /// 5.3, containers that refuse it), a pipe that ends with it, which cannot tell how. Throws
  /// Error(rondoSystemError) where the process can have no descriptors more; empty, with a warning,
  /// where a pipe is refused for another reason.
  static UniqueFd ownProcess();

  /// Called once, on the thread that found out, if the process ends before forget(). It must not
  /// call this object.
  using Listener = std::function<void(Ending)>;
  /// Whose forget() ends the watching; `process` is closed if its token is watched already.
  void watch(const void* owner, uint64_t token, UniqueFd process, Listener listener);
  /// Returns when none of the owner's listeners runs any more.
  void forget(const void* owner);

  /// Looks whether anybody has ended, and tells. A system call. True if somebody has who is given
  /// a little time yet: what it sent last may still be under way to the threads that wait for it.
  bool look();
  static constexpr std::chrono::milliseconds kGrace{50};

  bool watches() const;
  bool died(uint64_t token) const;
  /// Another process saw its end.
  void believeDead(uint64_t token);
  /// Whether any watched process has: no MPI call may be made from then on.
  static bool anyDied();
  /// One of another host has, or is out of reach for good.
  static void noteFarDeath();

  /// Readable while look() has something to see; -1: the system refused.
  int fd() const { return events_.get(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct User {
    const void* owner;
    Listener listener;
  };
  struct Peer {
    uint64_t token;
    UniqueFd process;
    std::vector<User> users;
    Clock::time_point seen{};  ///< When its end was first noticed.
    Ending ending{};           ///< How it ended, as far as it could be told then.
  };
  PeerWatch();
  void end(const Peer& peer);
  void unhook(const Peer& peer);

  UniqueFd events_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::set<uint64_t> dead_;
};

}  // namespace rondo

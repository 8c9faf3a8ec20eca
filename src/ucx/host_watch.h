#pragma once
// Learns that a process of another host has ended, or that its host is out of reach: through a TCP
// connection on which, once it is made, nothing is ever said.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "p2p/tcp_socket.h"

namespace rondo {

/// The kernels of both hosts ask each other every second whether the connection is still there
/// (keep-alive), so that a process that is stopped, or computes, is as alive as its host; and the
/// kernel of one that ends closes its end at once. Nothing waits in such a connection to be sent
/// again, so the first question after a cable was mended is answered: in one with data, TCP would
/// by then ask more and more seldom. Not thread safe.
class HostWatch {
 public:
  /// Nothing heard for so long, while somebody waits for just as long, is the end. A question is
  /// asked every second: a cable that was away for 3 s is back in time.
  static constexpr std::chrono::milliseconds kSilence{4600}, kWaiting{4000};
  /// After the end of a process: what it sent before may still be under way.
  static constexpr std::chrono::milliseconds kGrace{150};

  enum class What { Ended, Silent };
  struct Event {
    uint64_t token;
    What what;
  };

  /// `token`: what other processes know this one by.
  explicit HostWatch(uint64_t token) : token_(token) {}
  ~HostWatch();
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;

  /// Where others may connect to; listens from the first call on, at the interface that `wish` (as
  /// RONDO_NET_IF) allows. No endpoint: the system lets it listen nowhere.
  const Endpoints& open(const std::string& wish);
  /// From now on process `token` is watched, whose open() says `where`; it has to do the same. One
  /// of the two connects; until that is done, and if it cannot be, nothing is known of it. What
  /// failed before is tried again.
  void watch(uint64_t token, const Endpoints& where);
  /// Whether it is, or was, connected.
  bool watches(uint64_t token) const;

  /// What has happened; takes and makes connections. `waiting`: how long somebody has been waiting
  /// for messages. Silence is told again and again, an end once. Cheap, for every few milliseconds.
  std::vector<Event> look(std::chrono::milliseconds waiting);

 private:
  struct Greeting;
  enum class State { Awaited, Connecting, Asking, Up, Ended, Failed };
  struct Link {
    uint64_t token;
    State state = State::Awaited;
    UniqueFd fd;
    Endpoints where{};
    size_t next = 0;  ///< Of `where`, to be tried.
    Clock::time_point since{};
    bool told = false;
  };
  struct Guest {
    UniqueFd fd;
    Clock::time_point since;
  };
  Link& linkOf(uint64_t token);
  void follow(int fd, uint32_t events);
  void dial(Link& link);
  void greet(Link& link);
  void serve(Link& link);
  void takeGuests();
  bool admit(Guest& guest);
  void hearWhatIsSaid();
  void lookForSilence(std::chrono::milliseconds waiting, std::vector<Event>* events);

  uint64_t token_;
  bool opened_ = false;
  Listeners listeners_;
  UniqueFd events_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Guest> guests_;
  Clock::time_point lookedAt_{};
};

}  // namespace rondo

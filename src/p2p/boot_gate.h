#pragma once
// The door at which ranks present themselves: whoever knows the id's secret gets through.

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "p2p/id_wire.h"
#include "p2p/tcp_socket.h"

namespace rondo {

/// A state machine that never blocks. It accepts connections, asks each for its proof, and hands
/// over those that give it. Everybody else (silent, slow, garbage, wrong secret, another version)
/// is turned away without harm to the others: what it reads from a stranger is bounded, and so are
/// the strangers at one time and their time. Only time in which this process looks after its door
/// counts: one that was stopped for a while (SIGSTOP, a machine that was put to sleep) finds
/// strangers who have been waiting for it.
class Gate {
 public:
  struct Visitor {
    UniqueFd fd;
    wire::Hello hello;
    std::string from;  ///< Its address.
  };

  /// `limitMs`: within which a stranger has to have said who it is.
  Gate(const Secret& secret, Listeners listeners, int limitMs = 10000);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  const Endpoints& endpoints() const { return listeners_.endpoints; }

  /// What to poll, appended to `set`; returns how many entries.
  size_t collect(std::vector<pollfd>& set) const;

  /// Acts on the entries that collect() appended, now with poll's findings; returns who got in.
  std::vector<Visitor> handle(const pollfd* entries);

  /// Milliseconds until handle() has something to do without any event; -1: never.
  int timeout() const;

  /// "; 2 connections were turned away, the last from 10.0.0.1: wrong secret", or "".
  std::string refusals() const;

  /// Somebody knocks, and this process has no descriptor left to open by.
  bool outOfDescriptors() const { return outOfDescriptors_; }

  /// For a refusal decided by the owner.
  void countRefusal(const std::string& from, const std::string& why);

 private:
  struct Stranger;

  void acceptAll(int listener);
  void challenge(Stranger& stranger);
  bool isTrusted(Stranger& stranger);
  void turnAway(Stranger& stranger, int code, const std::string& why);
  void checkTime();
  bool isFull() const;
  void countTime();
  int lookMs() const;

  Secret secret_;
  Listeners listeners_;
  int limitMs_;
  std::vector<std::unique_ptr<Stranger>> strangers_;
  bool outOfDescriptors_ = false;
  Clock::time_point lookedAt_ = Clock::now();
  int refused_ = 0;
  std::string lastRefusal_;
};

}  // namespace rondo

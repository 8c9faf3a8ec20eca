#pragma once
// Tells other hosts where ranks of this one are, on a thread of its own: neither the one that moves
// the network nor one that is inside a call can take the time, and the late rank's is elsewhere.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "p2p/fabric.h"

namespace rondo {

/// Process-wide and thread safe.
class FarAnswers {
 public:
  FarAnswers(const FarAnswers&) = delete;
  FarAnswers& operator=(const FarAnswers&) = delete;
  static FarAnswers& one();

  /// Answers what `fabric` of communicator `id` is asked, until remove(fabric). The first call
  /// starts the thread, which sleeps while nobody asks; where the system has none, other hosts are
  /// not answered.
  void add(uint64_t id, Fabric* fabric);
  /// Returns when it is not used any more.
  void remove(const Fabric* fabric);

 private:
  struct Post {
    uint64_t id;
    Fabric* fabric;
  };
  struct Letter {
    Post post;
    FarPlaces::Asked asked;
    std::string text;
  };
  FarAnswers() = default;
  void start() noexcept;
  void wake();
  void loop();
  std::vector<Letter> collect();
  void send(const std::vector<Letter>& letters);

  std::mutex mutex_;  // never held by who has the network's lock
  std::vector<Post> posts_;
  bool started_ = false;
  std::mutex wakeMutex_;  // held for nothing else
  std::condition_variable woken_;
  bool asked_ = false;
};

}  // namespace rondo

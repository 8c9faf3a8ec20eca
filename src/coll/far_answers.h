#pragma once
// Tells other hosts where ranks of this one are, and asks them when rondo-status wants to know, on
// a thread of its own: neither the one that moves the network nor one that is inside a call can
// take the time, and the late rank's is elsewhere. Where ranks speak to few of other hosts, it also
// passes on what came for others (FarRelay).

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

  /// Answers what `fabric` of communicator `id` is asked, and asks through it what the process's
  /// PlaceBoard is asked, until remove(fabric). The board has little room: those that carry device
  /// memory (`carries`) come after all others. The first call starts the thread, which sleeps while
  /// nobody asks; where the system has none, other hosts are not answered.
  void add(uint64_t id, Fabric* fabric, bool carries);
  /// Returns when it is not used any more.
  void remove(const Fabric* fabric);

 private:
  struct Post {
    uint64_t id;
    Fabric* fabric;
    bool carries;
  };
  struct Letter {
    Post post;
    FarPlaces::Asked asked;
    PlaceAnswer said;
  };
  FarAnswers() = default;
  void start() noexcept;
  void wake();
  void loop();
  void serveRequest();
  void ask(const Post& post);
  static bool answerOf(const Fabric& fabric, int rank, PlaceAnswer* said);
  void publish();
  bool passOn();
  std::vector<Letter> collect();
  void send(const std::vector<Letter>& letters);

  std::mutex mutex_;  // never held by who has the network's lock
  std::vector<Post> posts_;
  bool started_ = false;
  PlaceBoard* board_ = nullptr;  // from the first add() on; the process may need no segment
};

}  // namespace rondo

#pragma once
// Two processes on two cores, what they share, and their meeting.

#include <atomic>
#include <cstddef>

namespace rondo::bare {

/// Alone on its lines.
struct alignas(128) Flag {
  std::atomic<long> value{0};
};

/// Memory of both processes, mapped before the second one was made.
struct Shared {
  static constexpr size_t kStaging = 64 << 10;
  Flag arrived[2];
  Flag id;  ///< 1 once `rondoId` holds the communicator's id.
  char rondoId[128];
  double usec[2];
  alignas(4096) char staging[2][kStaging];
};

/// One process's side. Buffers are mapped by both, indexed by rank; `turnTo` moves all four.
class Pair {
 public:
  /// Forks: returns in two processes, each bound to a core of its own. Throws std::system_error.
  explicit Pair(size_t areaBytes);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  int rank = 0;
  Shared* shared;
  float* send[2];
  float* recv[2];

  void meet();
  /// From now on the buffers begin `bytes` into their areas.
  void turnTo(size_t bytes);
  /// Ends the child; says whether it went well. The parent's side only.
  bool joined();

 private:
  float* sendArea_[2];
  float* recvArea_[2];
  long epoch_ = 0;
  int child_ = -1;
  int parent_;
};

}  // namespace rondo::bare

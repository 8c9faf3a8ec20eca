#pragma once
// Where the ranks of one host come together before a timed call, and start it at one instant.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace rondo::bench {

/// A word that one rank writes, on lines of its own (128: the adjacent-line prefetcher takes
/// pairs).
struct alignas(128) MeetingLine {
  std::atomic<int64_t> value{0};
};

/// Shared by all ranks: MeetingLine[ranks + 1] of zeros. Line 0 is the start that the first rank
/// sets, line 1 + r how often rank r has come.
class Meeting {
 public:
  using Clock = std::chrono::steady_clock;

  /// `onLongWait` is called now and then by a rank that waits for long: what the others wait for
  /// may be this rank's to do.
  Meeting(MeetingLine* lines, int rank, int ranks, std::function<void()> onLongWait);

  /// Waits until all ranks are here and for the instant that they agree on, and returns it: the
  /// same on all ranks, later than the one before. A rank that hears of it too late starts at once.
  Clock::time_point meet();

 private:
  void await(const std::atomic<int64_t>& word, int64_t least) const;
  int64_t agree();

  MeetingLine* lines_;
  int rank_;
  int ranks_;
  std::function<void()> onLongWait_;
  int64_t meetings_ = 0;
  int64_t start_ = 0;  // of the last one, nanoseconds
};

}  // namespace rondo::bench

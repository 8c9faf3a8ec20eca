#pragma once
// Times the calls of several libraries in turn on the same buffers.

#include <cstdint>
#include <functional>
#include <vector>

#include "buffers.h"
#include "contender.h"
#include "meeting.h"
#include "session.h"
#include "stats.h"

namespace rondo::bench {

/// What one size measures.
struct Trial {
  const Session& session;
  const std::vector<Contender>& contenders;
  const BufferRing& ring;
  CallArgs args;  ///< Everything but the buffers.
  bool check;
  int pauseMs = 0;  ///< Before every sample ranks do nothing for so long.

  void pause() const;
  CallArgs onSet(size_t set) const {
    CallArgs result = args;
    result.send = ring.send(set);
    result.recv = ring.recv(set);
    return result;
  }
};

/// Of one library: this rank's times in microseconds, and its wrong elements.
struct Samples {
  std::vector<double> usec;
  uint64_t wrong = 0;
};

/// Told now and then how far the timing has come.
using OnProgress = std::function<void(int done, int total)>;

/// A way to time: host calls by the clock, device calls by events.
class Timer {
 public:
  virtual ~Timer() = default;

  /// Calls each library once on up to eight sets and adds the wrong elements to `samples`.
  virtual void check(const Trial& trial, std::vector<Samples>& samples) = 0;

  /// Runs `iterations` rounds of one timed sample for each library. With `keep` the times and the
  /// wrong elements of the last round go to `samples`. Returns the seconds it took, untimed parts
  /// included.
  virtual double rounds(const Trial& trial, int iterations, bool keep, const OnProgress& progress,
                        std::vector<Samples>& samples) = 0;

  /// How the ranks' times of one sample are put together.
  virtual AcrossRanks across() const = 0;
};

/// Timer of calls that are complete when they return.
class HostTimer : public Timer {
 public:
  /// Before each call the ranks meet in `meeting`; in MPI_Barrier where it is nullptr.
  explicit HostTimer(Meeting* meeting) : meeting_(meeting) {}

  void check(const Trial& trial, std::vector<Samples>& samples) override;
  double rounds(const Trial& trial, int iterations, bool keep, const OnProgress& progress,
                std::vector<Samples>& samples) override;
  AcrossRanks across() const override { return AcrossRanks::kMean; }

 private:
  void gather(const Trial& trial) const;

  Meeting* meeting_;
};

/// Which library goes at place `place` of round `round`. Where the libraries divide the sets of the
/// ring, each would meet the same sets in every turn; so every other turn of the ring goes through
/// the libraries backwards. All then meet all sets, and each set rests for a full turn as before.
size_t contenderAt(size_t round, size_t place, size_t contenders, size_t sets);

/// How graphs of `calls` calls go round a ring: graph g begins at set g * calls of the first `sets`
/// and goes on as the calls of one that follows another would.
struct GraphTurns {
  size_t sets;    ///< Of the ring, those that the graphs use.
  size_t graphs;  ///< Until one would begin at set 0 again.
};

/// Of nearly all `sets` of a ring, at least seven eighths (of four at least three), as many as few
/// graphs go round. Samples that take the graphs in turn find each set `sets` calls behind its last
/// use, whosever that was.
/// The number of graphs is no multiple of 4, so that two libraries in the order of alternating()
/// both take all of them.
GraphTurns graphTurns(size_t sets, size_t calls);

/// Which library goes at place `place` of round `round` where every other round goes backwards.
inline size_t alternating(size_t round, size_t place, size_t contenders) {
  return round % 2 == 0 ? place : contenders - 1 - place;
}

}  // namespace rondo::bench

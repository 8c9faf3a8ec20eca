#pragma once
// Times calls that are forced to an algorithm, in turn with each other, so that what disturbs the
// machine disturbs all of them alike. For rondo-tune and benchmarks/regret.

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/rondo.h"
#include "coll/communicator.h"

namespace rondo::tune {

/// A communicator over MPI_COMM_WORLD that runs what `rules` (as RONDO_TUNE) say, on host memory
/// unless `device` (as config.device) says otherwise. Collective.
class ForcedComm {
 public:
  explicit ForcedComm(const std::string& rules, int device = RONDO_DEVICE_NONE);
  ~ForcedComm();
  ForcedComm(const ForcedComm&) = delete;
  ForcedComm& operator=(const ForcedComm&) = delete;

  rondoComm_t handle() const { return comm_; }
  Communicator& impl() const;
  const std::string& rules() const { return rules_; }

 private:
  std::string rules_;
  rondoComm_t comm_ = nullptr;
};

/// Bytes of a rank's buffers in a call whose slots have `bytes`; those of a root where there is
/// one.
uint64_t sendBytes(Collective collective, uint64_t bytes, int ranks);
uint64_t recvBytes(Collective collective, uint64_t bytes, int ranks);

/// Two areas of memory from which successive calls take different pieces, as rondo-bench does.
class RotatingBuffers {
 public:
  /// `most`: of one buffer. `mapped`: of rondoMemAlloc, which peers read in place.
  RotatingBuffers(uint64_t most, bool mapped);
  struct Piece {
    const void* send;
    void* recv;
  };
  Piece next(uint64_t sendBytes, uint64_t recvBytes);
  bool mapped() const { return mapped_; }
  /// After how many such pieces all of them were used.
  int sets(uint64_t sendBytes, uint64_t recvBytes) const;

 private:
  struct Area {
    std::unique_ptr<void, void (*)(void*)> memory;
    uint64_t bytes;
  };
  static Area makeArea(uint64_t bytes, bool mapped);
  char* pieceOf(const Area& area, uint64_t bytes) const;

  Area send_, recv_;
  bool mapped_;
  size_t turn_ = 0;
};

/// A call that is timed again and again.
struct Trial {
  const ForcedComm* comm;
  Collective collective;
  uint64_t bytes;                      ///< Of a slot; a multiple of 4.
  RotatingBuffers* buffers = nullptr;  ///< Its own; nullptr: those of all trials.
};

/// The trial's call, once, on the caller's buffers; throws Error if it fails.
void callOnce(const Trial& trial, const RotatingBuffers::Piece& piece);

struct Pace {
  double seconds = 20;  ///< Rounds over all trials begin until then...
  int least = 5;        ///< ... but so many at least,
  int most = 400;       ///< and so many at most.
  /// Short calls are timed several in a row, as their mean; but for those with a root.
  bool inARow = false;
  /// Lengths that a first round does not reach in a quarter of the time are left out.
  bool sheds = false;
};

/// By trial: the median of its times, in picoseconds; 0: there are too few. A call's time is the
/// mean over the ranks, or where it has a root that of the slowest.
using Times = std::vector<double>;

/// Collective over MPI_COMM_WORLD; the same on all ranks.
Times timeTrials(const std::vector<Trial>& trials, RotatingBuffers& buffers, const Pace& pace);

/// What was measured while the machine was in one of its states.
struct StateTimes {
  uint64_t flag;  ///< A flag's way in it (coll/flag_way.h); 0: no two ranks could look.
  size_t calls;
  Times times;
  /// Some trial's calls all lost a turn of a rank's core to another process, and count nonetheless.
  bool disturbed = false;
};

/// The same by the states that the machine was in, the one with the most calls first: before and
/// after calls of each length two ranks look, and what came between two states counts for none.
/// Where all did, it is one state whose flag's way nobody knows (0).
std::vector<StateTimes> timeStates(const std::vector<Trial>& trials, RotatingBuffers& buffers,
                                   const Pace& pace);

/// Hosts that the job's ranks are on, as Rondo counts them. Collective over MPI_COMM_WORLD.
int hostsOfJob();

/// A flag's way just now, the same on all ranks; 0: no two ranks can look. Collective.
uint64_t flagNow(const ForcedComm& comm);

}  // namespace rondo::tune

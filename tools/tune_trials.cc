#include "tune_trials.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <new>

#include "api/handle.h"
#include "api/rondo_mpi.h"
#include "base/error.h"
#include "base/turns_lost.h"
#include "coll/costs_file.h"
#include "p2p/staging_way.h"
#include "tune_fit.h"

namespace rondo::tune {
namespace {

/// What rondo-bench's buffers touch before they are used again, and how many there are at most.
constexpr uint64_t kRotatedBytes = 32u << 20;
constexpr uint64_t kMostSets = 64;
/// Longer calls find their buffers in memory whatever was before. Shorter ones find them where a
/// job does that makes such calls alone only after all buffers were used by them: beside other
/// kinds, which use more memory, ring and two-shot of 64 KiB took 11 to 14 us instead of 6 to 7
/// (two ranks on an EPYC, an L3 of 32 MiB, 2026-11-22).
constexpr uint64_t kMostInCaches = 1u << 20;

void check(rondoResult_t result) {
  if (result != rondoSuccess) throw Error(result, rondoGetLastError(nullptr));
}

void call(const Trial& trial, const RotatingBuffers::Piece& piece) {
  rondoComm_t comm = trial.comm->handle();
  const size_t count = trial.bytes / 4;
  const rondoDataType_t type = rondoFloat32;
  const rondoRedOp_t op = rondoSum;
  const void* const send = piece.send;
  void* const recv = piece.recv;
  switch (trial.collective) {
    case Collective::AllReduce:
      return check(rondoAllReduce(send, recv, count, type, op, comm, nullptr));
    case Collective::Broadcast:
      // Out of place, as its plan has it; in place a root saves its own copy.
      return check(rondoBroadcast(send, recv, count, type, 0, comm, nullptr));
    case Collective::Barrier:
      return check(rondoBarrier(comm, nullptr));
    case Collective::Reduce:
      return check(rondoReduce(send, recv, count, type, op, 0, comm, nullptr));
    case Collective::AllGather:
      return check(rondoAllGather(send, recv, count, type, comm, nullptr));
    case Collective::ReduceScatter:
      return check(rondoReduceScatter(send, recv, count, type, op, comm, nullptr));
    case Collective::AllToAll:
      return check(rondoAllToAll(send, recv, count, type, comm, nullptr));
    case Collective::Gather:
      return check(rondoGather(send, recv, count, type, 0, comm, nullptr));
    case Collective::Scatter:
      return check(rondoScatter(send, recv, count, type, 0, comm, nullptr));
    case Collective::Scan:
      return check(rondoScan(send, recv, count, type, op, comm, nullptr));
    case Collective::Exscan:
      return check(rondoExscan(send, recv, count, type, op, comm, nullptr));
  }
}

/// From one piece of an area to the next, and how many there are.
uint64_t strideOf(uint64_t bytes) { return std::max<uint64_t>((bytes + 127) / 64 * 64, 64); }
uint64_t setsIn(uint64_t area, uint64_t bytes) {
  return std::clamp<uint64_t>(area / strideOf(bytes), 1, kMostSets);
}

/// Calls in a row of one trial, before it is another's turn.
int callsARound(uint64_t bytes) {
  if (bytes <= 8u << 10) return 72;
  if (bytes <= 256u << 10) return 24;
  if (bytes <= kMostInCaches) return 6;
  return bytes <= 4u << 20 ? 2 : 1;
}

/// Calls before these that are not timed: `sets` calls of a length that caches hold, so that they
/// hold what they do in a job that makes such calls alone, and as many as go round the windows of
/// staging (ShmLayout::kWindows), which are each communicator's own. Where only the sets were gone
/// through, 4 and 16 KiB met windows that were out of the caches, but 64 KiB did not, so that the
/// fit could not have both right (two ranks on an EPYC, 2026-11-23).
int callsBefore(uint64_t bytes, int sets) {
  constexpr uint64_t kRound = 2u << 20;
  if (bytes > kMostInCaches) return bytes <= 8u << 20 ? 1 : 0;
  const uint64_t round = bytes < kLeastWide ? 0 : (kRound + bytes - 1) / bytes;
  return std::max(sets, static_cast<int>(round));
}

double medianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void callOnce(const Trial& trial, const RotatingBuffers::Piece& piece) { call(trial, piece); }

ForcedComm::ForcedComm(const std::string& rules, int device) : rules_(rules) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = device;
  config.tune = rules_.c_str();
  check(rondoCommInitMPI(&comm_, MPI_COMM_WORLD, &config));
}

ForcedComm::~ForcedComm() { rondoCommDestroy(comm_); }

Communicator& ForcedComm::impl() const { return *comm_->impl; }

uint64_t sendBytes(Collective collective, uint64_t bytes, int ranks) {
  if (collective == Collective::Barrier) return 0;
  const bool all = collective == Collective::ReduceScatter || collective == Collective::AllToAll ||
                   collective == Collective::Scatter;
  return all ? bytes * static_cast<uint64_t>(ranks) : bytes;
}

uint64_t recvBytes(Collective collective, uint64_t bytes, int ranks) {
  if (collective == Collective::Barrier) return 0;
  const bool all = collective == Collective::AllGather || collective == Collective::AllToAll ||
                   collective == Collective::Gather;
  return all ? bytes * static_cast<uint64_t>(ranks) : bytes;
}

RotatingBuffers::RotatingBuffers(uint64_t most, bool mapped)
    : send_(makeArea(std::max(most, kRotatedBytes), mapped)),
      recv_(makeArea(std::max(most, kRotatedBytes), mapped)),
      mapped_(mapped) {}

RotatingBuffers::Area RotatingBuffers::makeArea(uint64_t bytes, bool mapped) {
  void* memory = nullptr;
  if (mapped) {
    check(rondoMemAlloc(&memory, bytes));
  } else {
    memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (memory == nullptr) throw std::bad_alloc();
  }
  Area area{{memory, mapped ? +[](void* p) { rondoMemFree(p); } : +[](void* p) { std::free(p); }},
            bytes};
  std::fill_n(static_cast<float*>(memory), bytes / 4, 1.0f);
  return area;
}

char* RotatingBuffers::pieceOf(const Area& area, uint64_t bytes) const {
  return static_cast<char*>(area.memory.get()) +
         turn_ % setsIn(area.bytes, bytes) * strideOf(bytes);
}

int RotatingBuffers::sets(uint64_t sendBytes, uint64_t recvBytes) const {
  return static_cast<int>(std::max(setsIn(send_.bytes, sendBytes), setsIn(recv_.bytes, recvBytes)));
}

RotatingBuffers::Piece RotatingBuffers::next(uint64_t sendBytes, uint64_t recvBytes) {
  ++turn_;
  return {pieceOf(send_, sendBytes), pieceOf(recv_, recvBytes)};
}

namespace {

/// Times of calls, and the state of the machine that each was in.
struct Samples {
  std::vector<double> times;
  std::vector<uint64_t> flags;  ///< By time; kBetween: two states.
  std::vector<int> lost;        ///< By time; 1: some rank's core was another process's meanwhile.
};
constexpr uint64_t kBetween = UINT64_MAX;
/// A median of fewer times says nothing.
constexpr size_t kLeastTimes = 3;
/// A state with less than this part of the calls was but passed.
constexpr size_t kLeastPart = 20;

class Timer {
 public:
  Timer(const std::vector<Trial>& trials, RotatingBuffers& buffers, bool looks)
      : trials_(trials),
        buffers_(buffers),
        looks_(looks),
        ranks_(trials.front().comm->impl().place().size),
        samples_(trials.size()) {
    const CommFacts& facts = trials.front().comm->impl().facts();
    ownCores_ = static_cast<uint32_t>(facts.localRanks) <= facts.cpus;
    // Calls of one length together, so that short ones find the caches as they would leave them.
    for (size_t i = 0; i < trials.size(); ++i) lengths_[trials[i].bytes].push_back(i);
  }

  void run(const Pace& pace) {
    inARow_ = pace.inARow;
    runRound(false, pace.sheds ? pace.seconds / 4 : 1e9);
    const Clock::time_point start = Clock::now();
    for (int round = 0, more = 1; more != 0; ++round) {
      runRound(true);
      const std::chrono::duration<double> passed = Clock::now() - start;
      more = round + 1 < pace.least || (round + 1 < pace.most && passed.count() < pace.seconds);
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (size_t i = 0; i < trials_.size(); ++i) {
      std::vector<double>& mine = samples_[i].times;
      const bool rooted = isRooted(trials_[i].collective);
      MPI_Allreduce(MPI_IN_PLACE, mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE,
                    rooted ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
      for (double& time : mine) time /= rooted ? 1 : ranks_;
      std::vector<int>& lost = samples_[i].lost;
      lost.resize(mine.size(), 0);
      MPI_Allreduce(MPI_IN_PLACE, lost.data(), static_cast<int>(lost.size()), MPI_INT, MPI_MAX,
                    MPI_COMM_WORLD);
    }
  }

  const std::vector<Samples>& samples() const { return samples_; }

 private:
  using Clock = std::chrono::steady_clock;

  uint64_t look() const { return looks_ ? flagNow(*trials_.front().comm) : 0; }

  /// Lengths to which it comes only after more than `limit` seconds are left out from then on.
  void runRound(bool keep, double limit = 1e9) {
    ++turn_;
    uint64_t before = look();
    const Clock::time_point begin = Clock::now();
    for (auto next = lengths_.begin(); next != lengths_.end(); ++next) {
      const auto& [bytes, same] = *next;
      const std::chrono::duration<double> passed = Clock::now() - begin;
      int late = limit < 1e9 && passed.count() > limit ? 1 : 0;
      if (limit < 1e9) MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
      if (late != 0) {
        lengths_.erase(next, lengths_.end());
        return;
      }
      // The first of a length finds the caches as another length left them, however many calls come
      // before its timed ones: one-shot, which always was, took 1.3 to 1.5 of its time at 16 and 64
      // KiB (two ranks on an EPYC, 2026-11-23). So each is it in turn, after calls that do not
      // count.
      const size_t first = turn_ % same.size();
      if (bytes <= kMostInCaches) runOne(same[first], false);
      for (size_t k = 0; k < same.size(); ++k) runOne(same[(first + k) % same.size()], keep);
      const uint64_t after = look();
      const bool steady = before == after || sameState(before, after);
      for (const size_t i : same) {
        samples_[i].flags.resize(samples_[i].times.size(), steady ? before : kBetween);
      }
      before = after;
    }
  }

  void runOne(size_t i, bool keep) {
    const Trial& trial = trials_[i];
    const uint64_t sent = sendBytes(trial.collective, trial.bytes, ranks_);
    const uint64_t received = recvBytes(trial.collective, trial.bytes, ranks_);
    RotatingBuffers& buffers = trial.buffers != nullptr ? *trial.buffers : buffers_;
    const int calls = callsARound(trial.bytes);
    if (inARow_ && !isRooted(trial.collective)) return runInARow(i, calls, keep);
    if (!inARow_) {
      for (int k = callsBefore(trial.bytes, buffers.sets(sent, received)); k > 0; --k) {
        call(trial, buffers.next(sent, received));
      }
    }
    for (int k = calls; k > 0; --k) {
      const RotatingBuffers::Piece piece = buffers.next(sent, received);
      MPI_Barrier(MPI_COMM_WORLD);
      const long lost = turnsLost();
      const Clock::time_point begin = Clock::now();
      call(trial, piece);
      const std::chrono::duration<double, std::pico> took = Clock::now() - begin;
      if (keep) samples_[i].times.push_back(took.count());
      if (keep) samples_[i].lost.push_back(ownCores_ && turnsLost() != lost ? 1 : 0);
    }
  }

  void runInARow(size_t i, int calls, bool keep) {
    const Trial& trial = trials_[i];
    const uint64_t sent = sendBytes(trial.collective, trial.bytes, ranks_);
    const uint64_t received = recvBytes(trial.collective, trial.bytes, ranks_);
    RotatingBuffers& buffers = trial.buffers != nullptr ? *trial.buffers : buffers_;
    MPI_Barrier(MPI_COMM_WORLD);
    call(trial, buffers.next(sent, received));  // ranks that left the barrier late are here, too
    const Clock::time_point begin = Clock::now();
    for (int k = 0; k < calls; ++k) call(trial, buffers.next(sent, received));
    const std::chrono::duration<double, std::pico> took = Clock::now() - begin;
    if (keep) samples_[i].times.push_back(took.count() / calls);
  }

  const std::vector<Trial>& trials_;
  RotatingBuffers& buffers_;
  bool looks_, inARow_ = false;
  bool ownCores_;  ///< Where ranks wait for each other's, every call loses turns.
  int ranks_;
  size_t turn_ = 0;  ///< Rounds so far, the same on all ranks.
  std::vector<Samples> samples_;
  std::map<uint64_t, std::vector<size_t>> lengths_;
};

/// What was measured while a flag's way was from `least` to `most`: of calls that lost no turn, if
/// there are enough of them.
StateTimes timesBetween(const std::vector<Samples>& samples, uint64_t least, uint64_t most) {
  StateTimes out{};
  for (const Samples& all : samples) {
    std::vector<double> mine, whole;
    for (size_t k = 0; k < all.times.size(); ++k) {
      if (all.flags[k] < least || all.flags[k] > most) continue;
      mine.push_back(all.times[k]);
      if (all.lost[k] == 0) whole.push_back(all.times[k]);
    }
    out.calls += mine.size();
    out.disturbed |= whole.size() < kLeastTimes;
    if (whole.size() >= kLeastTimes) mine = std::move(whole);
    out.times.push_back(mine.size() < kLeastTimes ? 0 : medianOf(std::move(mine)));
  }
  return out;
}

}  // namespace

int hostsOfJob() {
  const ForcedComm any("");
  int firsts = any.impl().place().localRank == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &firsts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return firsts;
}

uint64_t flagNow(const ForcedComm& comm) {
  Communicator& impl = comm.impl();
  std::vector<int> hostOf;
  for (int r = 0; r < impl.place().size; ++r) {
    hostOf.push_back(impl.fabric()->near(r) ? 0 : 1);  // right on rank 0's host, which counts
  }
  int ends[2] = {-1, -1};
  if (impl.place().rank == 0) {
    const FlagPair mine = flagPairOf(impl.facts(), hostOf);
    ends[0] = mine.first, ends[1] = mine.second;
  }
  MPI_Bcast(ends, 2, MPI_INT, 0, MPI_COMM_WORLD);
  uint64_t flag = 0;
  if (impl.flagWay({ends[0], ends[1]}, &flag) != RunResult::Ok) {
    throw Error(rondoRemoteError, "a rank did not answer");
  }
  MPI_Bcast(&flag, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return flag;
}

Times timeTrials(const std::vector<Trial>& trials, RotatingBuffers& buffers, const Pace& pace) {
  Timer timer(trials, buffers, false);
  timer.run(pace);
  return timesBetween(timer.samples(), 0, 0).times;
}

std::vector<StateTimes> timeStates(const std::vector<Trial>& trials, RotatingBuffers& buffers,
                                   const Pace& pace) {
  Timer timer(trials, buffers, true);
  timer.run(pace);
  std::vector<uint64_t> flags;
  for (const Samples& all : timer.samples()) {
    for (const uint64_t flag : all.flags) {
      if (flag != kBetween) flags.push_back(flag);
    }
  }
  std::vector<StateTimes> states;
  for (const std::vector<uint64_t>& same : splitStates(flags)) {
    if (same.size() * kLeastPart < flags.size()) continue;
    states.push_back(timesBetween(timer.samples(), same.front(), same.back()));
    states.back().flag = same[same.size() / 2];
  }
  // On a crowded machine no length may have passed in one state: then that is what there is.
  if (states.empty()) states.push_back(timesBetween(timer.samples(), 0, kBetween));
  std::stable_sort(states.begin(), states.end(),
                   [](const StateTimes& a, const StateTimes& b) { return a.calls > b.calls; });
  return states;
}

}  // namespace rondo::tune

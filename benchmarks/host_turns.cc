// Collectives of Rondo and of MPI in turn within one job of two hosts that share this machine's
// cores (tests/testbed/hosts), told apart by the machine's state: how long a flag takes between
// core 0 and core 1. A virtual machine's two cores may share a cache at one time and none at
// another, and then everything that one of them wrote and the other reads costs something else.
// Usage: mpirun -n N host_turns FILE SECONDS COLLECTIVE:KIB[,COLLECTIVE:KIB...]
// FILE is one that all ranks can map. KIB: the whole of what a rank has in the call (all-reduce,
// broadcast, all-to-all, reduce-scatter), or its own part (all-gather). Rank 0 prints
// COLLECTIVE,BYTES,STATE,ROUNDS,RONDO,MPI: medians over rounds, in us, of the mean over the ranks.

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "api/rondo_mpi.h"

namespace {

int rank = 0, ranks = 1;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "host_turns: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// A flag there and back between rank 0 and the middle one, the first of the second host.
class FlagPair {
 public:
  explicit FlagPair(const char* path) {
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0) fail("cannot make FILE");
    void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) fail("cannot map FILE");
    close(fd);
    words_ = static_cast<Words*>(memory);
    if (rank == 0) new (words_) Words;
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// Nanoseconds one way, the least of some times; the same on all ranks.
  double measure() {
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    if (rank == 0 || rank == ranks / 2) pin(rank == 0 ? 0 : 1);
    double least = 1e9;
    for (int k = 0; k < kTimes; ++k) least = std::min(least, oneTime());
    sched_setaffinity(0, sizeof before, &before);
    MPI_Bcast(&least, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return least;
  }

 private:
  static constexpr int kTimes = 6, kTurns = 30;
  struct Words {
    alignas(128) std::atomic<int> there{0};
    alignas(128) std::atomic<int> back{0};
  };
  static void pin(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  static void await(const std::atomic<int>& word, int value) {
    for (int looks = 0; word.load(std::memory_order_acquire) != value; ++looks) {
      if (looks > 20'000) sched_yield();
    }
  }
  double oneTime() {
    const double begin = MPI_Wtime();
    for (int k = 0; k < kTurns; ++k) {
      ++turn_;
      if (rank == 0) {
        words_->there.store(turn_, std::memory_order_release);
        await(words_->back, turn_);
      } else if (rank == ranks / 2) {
        await(words_->there, turn_);
        words_->back.store(turn_, std::memory_order_release);
      }
    }
    return (MPI_Wtime() - begin) / (2 * kTurns) * 1e9;
  }

  Words* words_;
  int turn_ = 0;
};

enum State { kOneCore, kOneCache, kApart, kMixed };
constexpr const char* kStates[] = {"one core", "one cache", "apart"};

/// 25, 50 and 245 ns were seen on the two cores of a virtual machine.
State stateOf(double ns) { return ns < 38 ? kOneCore : ns < 110 ? kOneCache : kApart; }

struct Cell {
  std::string what;
  size_t bytes;
  std::vector<float> src, dst;
  Cell(std::string name, size_t size)
      : what(std::move(name)),
        bytes(size),
        src(size / sizeof(float)),
        dst(size / sizeof(float) * (what == "allgather" ? static_cast<size_t>(ranks) : 1)) {}

  size_t part() const { return src.size() / static_cast<size_t>(ranks); }

  void rondo(rondoComm_t comm) {
    const auto sum = rondoSum;
    const auto type = rondoFloat32;
    rondoResult_t result = rondoInvalidArgument;
    if (what == "allreduce")
      result = rondoAllReduce(src.data(), dst.data(), src.size(), type, sum, comm, nullptr);
    if (what == "allgather")
      result = rondoAllGather(src.data(), dst.data(), src.size(), type, comm, nullptr);
    if (what == "alltoall")
      result = rondoAllToAll(src.data(), dst.data(), part(), type, comm, nullptr);
    if (what == "bcast")
      result = rondoBroadcast(src.data(), src.data(), src.size(), type, 0, comm, nullptr);
    if (what == "reduce_scatter")
      result = rondoReduceScatter(src.data(), dst.data(), part(), type, sum, comm, nullptr);
    if (result != rondoSuccess) fail("a call of Rondo failed, or is not known");
  }

  void mpi() {
    const auto all = static_cast<int>(src.size()), one = static_cast<int>(part());
    const MPI_Comm world = MPI_COMM_WORLD;
    if (what == "allreduce") MPI_Allreduce(src.data(), dst.data(), all, MPI_FLOAT, MPI_SUM, world);
    if (what == "allgather")
      MPI_Allgather(src.data(), all, MPI_FLOAT, dst.data(), all, MPI_FLOAT, world);
    if (what == "alltoall")
      MPI_Alltoall(src.data(), one, MPI_FLOAT, dst.data(), one, MPI_FLOAT, world);
    if (what == "bcast") MPI_Bcast(src.data(), all, MPI_FLOAT, 0, world);
    if (what == "reduce_scatter")
      MPI_Reduce_scatter_block(src.data(), dst.data(), one, MPI_FLOAT, MPI_SUM, world);
  }
};

using Times = std::array<std::vector<double>, 2>;  // Rondo's, MPI's

/// One call of each first, that is not counted, then two that are.
void oneRound(Cell& cell, rondoComm_t comm, int first, Times* times) {
  for (int turn = 0; turn < 2; ++turn) {
    const auto who = static_cast<size_t>((first + turn) % 2);
    for (int k = 0; k < 3; ++k) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      who == 0 ? cell.rondo(comm) : cell.mpi();
      double spent = (MPI_Wtime() - begin) / ranks * 1e6;
      MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      if (k > 0) (*times)[who].push_back(spent);
    }
  }
}

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// A round counts for a state that the machine was in before and after it.
void measure(Cell& cell, rondoComm_t comm, FlagPair& flag, double seconds) {
  std::map<State, Times> all;
  Times unused;
  oneRound(cell, comm, 0, &unused);
  State before = stateOf(flag.measure());
  const double begin = MPI_Wtime();
  int more = 1;
  for (int round = 0; more != 0; ++round) {
    Times times;
    oneRound(cell, comm, round % 2, &times);
    const State after = stateOf(flag.measure());
    Times& its = all[before == after ? after : kMixed];
    for (size_t who = 0; who < 2; ++who) {
      its[who].insert(its[who].end(), times[who].begin(), times[who].end());
    }
    before = after;
    more = MPI_Wtime() - begin < seconds ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank != 0) return;
  for (auto& [state, times] : all) {
    if (state == kMixed) continue;
    std::printf("%s,%zu,%s,%zu,%.1f,%.1f\n", cell.what.c_str(), cell.bytes, kStates[state],
                times[0].size() / 2, median(times[0]), median(times[1]));
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) fail("usage: host_turns FILE SECONDS COLLECTIVE:KIB[,COLLECTIVE:KIB...]");
  FlagPair flag(argv[1]);
  rondoComm_t comm = nullptr;
  if (rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) != rondoSuccess) fail("no communicator");
  const std::string cells = argv[3];
  for (size_t at = 0; at < cells.size();) {
    const size_t end = std::min(cells.find(',', at), cells.size()), colon = cells.find(':', at);
    if (colon > end) fail("a cell is COLLECTIVE:KIB");
    Cell cell(cells.substr(at, colon - at), std::strtoull(&cells[colon + 1], nullptr, 10) << 10);
    measure(cell, comm, flag, std::atof(argv[2]));
    at = end + 1;
  }
  rondoCommDestroy(comm);
  MPI_Finalize();
  return 0;
}

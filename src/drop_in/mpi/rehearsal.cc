#include "drop_in/mpi/rehearsal.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/rehearsed_members.h"
#include "drop_in/mpi/rehearsed_own.h"
#include "drop_in/mpi/requests.h"
#include "drop_in/rehearsed_machine.h"

namespace rondo::drop_in {
namespace {

/// Never destroyed, as the layer's other state.
struct State {
  std::mutex mutex;
  Wish wish;
  std::vector<rondoComm_t> machines;  ///< A handle on each rehearsal, for its time.
  struct Begun {
    rondoComm_t comm;
    int peer;
    bool sends;
    size_t bytes;
    uint64_t by;  ///< The thread. Its communicator it may be: another's call would be refused.
  };
  std::vector<Begun> begun;
  /// That anybody was told. MPI's clock may begin anywhere, and planning before that is taken off.
  double latest = std::numeric_limits<double>::lowest();
};
State& state() {
  static State* const one = new State;
  return *one;
}

/// A number that no other thread ever has, unlike its id.
uint64_t thisThread() {
  static std::atomic<uint64_t> next{0};
  thread_local const uint64_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

constexpr const char* kDoor = "rondo_mpi";
/// As many are timed together at most.
constexpr size_t kMostBegun = 4096;

/// Its time is this process's until the end.
rondoComm_t keep(const Machine& machine) {
  if (machine.made == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().machines.push_back(machine.kept);
  return machine.made;
}

/// `facts` without members: ranks of a part that only a rule knows.
int keepVirtual(MPI_Comm comm, rondoComm_t made, Rehearsed facts = {}) {
  if (made == nullptr)
    return raise(MPI_COMM_WORLD, rondoInvalidArgument, rondoGetLastError(nullptr));
  int rank = 0, size = 0;
  rondoCommUserRank(made, &rank);
  rondoCommCount(made, &size);
  if (facts.members == nullptr) {
    facts.members = std::make_shared<const Members>(membersApart(size, rank));
  }
  keepAs(comm, made, rank, size, facts);
  return MPI_SUCCESS;
}

}  // namespace

int beginRehearsal() {
  State& self = state();
  int processes = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &processes);
  try {
    if (processes != 1) {
      throw Error(rondoInvalidUsage,
                  format("RONDO_VIRTUAL is set, and %d processes were started; allowed: one, which "
                         "is the rank that RONDO_VIRTUAL_RANK says",
                         processes));
    }
    self.wish = readWish();
  } catch (const Error& error) {
    return raise(MPI_COMM_WORLD, error.code(), error.sentence());
  }
  const Machine machine =
      makeMachine(self.wish, self.wish.ranks, self.wish.rank, self.wish.output, /*ownData=*/true);
  const rondoComm_t world = keep(machine);
  Members all;
  if (world != nullptr) {
    int size = 0;
    rondoCommCount(world, &size);
    rondoCommUserRank(world, &all.own);
    all.ranks.resize(static_cast<size_t>(size));
    std::iota(all.ranks.begin(), all.ranks.end(), 0);
  }
  const int code = keepVirtual(MPI_COMM_WORLD, world, {std::make_shared<const Members>(all), {}});
  rehearsing = code == MPI_SUCCESS;
  if (rehearsing) {
    leastLater = leastUneven = leastUnevenLater = 0;
    measuring = usualProgram = false;
  }
  return code;
}

void endRehearsal() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  for (rondoComm_t machine : self.machines) reportMachine(kDoor, machine);
  bool written = !self.machines.empty();
  for (rondoComm_t machine : self.machines) written = endMachine(kDoor, machine) && written;
  if (written) {
    std::fprintf(stderr, "rondo_mpi: wrote %s.calls.csv, .flows.csv and .trace.json\n",
                 self.wish.output.c_str());
  }
  self.machines.clear();
  rehearsing = false;
}

int rehearseDup(MPI_Comm parent, MPI_Comm made) {
  const KnownComm* known = rehearsed(parent);
  if (known == nullptr || made == MPI_COMM_NULL) return MPI_SUCCESS;
  const OwnCalls own;
  rondoComm_t twin = nullptr;
  rondoCommDup(known->rondo, &twin, nullptr);
  return keepVirtual(made, twin, known->rehearsed);
}

int rehearsePart(const KnownComm& parent, MPI_Comm comm, const Part& part, MPI_Comm* made) {
  const OwnCalls own;
  rondoComm_t child = nullptr;
  const rondoResult_t result =
      part.rule.empty() ? rondoCommDup(parent.rondo, &child, nullptr)
                        : rondoCommSplitVirtual(parent.rondo, part.rule.c_str(), &child, nullptr);
  if (result != rondoSuccess) return raise(comm, result, rondoGetLastError(nullptr));
  *made = MPI_COMM_NULL;
  if (child == nullptr) return MPI_SUCCESS;
  const int code = PMPI_Comm_dup(comm, made);
  if (code != MPI_SUCCESS) {
    rondoCommDestroy(child);
    return code;
  }
  if (!part.rule.empty()) child = keep(keepMachine(child));
  return keepVirtual(*made, child, part.facts);
}

int rehearseHost(MPI_Comm parent, MPI_Comm made) {
  const KnownComm* known = rehearsed(parent);
  if (known == nullptr || made == MPI_COMM_NULL) return MPI_SUCCESS;
  const OwnCalls own;
  rondoComm_t host = nullptr;
  if (rondoCommSplitVirtual(known->rondo, "host", &host, nullptr) != rondoSuccess) {
    return keepVirtual(made, nullptr);
  }
  return keepVirtual(made, keep(keepMachine(host)));
}

int rehearseSplit(const KnownComm& parent, MPI_Comm comm, int color, int key, MPI_Comm* made) {
  const OwnCalls own;
  const bool none = color == MPI_UNDEFINED;
  if (color < 0 && !none) return PMPI_Comm_split(comm, color, key, made);  // its own error
  rondoComm_t part = nullptr;
  const rondoResult_t result =
      rondoCommSplit(parent.rondo, none ? RONDO_SPLIT_NOCOLOR : color, key, &part, nullptr);
  if (result != rondoSuccess) return raise(comm, result, rondoGetLastError(nullptr));
  const int code = PMPI_Comm_split(comm, color, key, made);
  if (none) return code;
  if (code == MPI_SUCCESS) return keepVirtual(*made, keep(keepMachine(part)));
  rondoCommDestroy(part);
  return code;
}

OthersEdges othersEdges() { return state().wish.edges; }

int refuseChild(const char* call, MPI_Comm comm) {
  return raise(comm, rondoUnsupported,
               format("%s: in a rehearsal (RONDO_VIRTUAL) nobody knows what other ranks would say; "
                      "allowed: MPI_Comm_dup, MPI_Comm_split by RONDO_VIRTUAL_SPLIT, "
                      "MPI_Comm_split_type with MPI_COMM_TYPE_SHARED, MPI_Comm_create and "
                      "MPI_Comm_create_group, MPI_Cart_create, MPI_Cart_sub, MPI_Graph_create, "
                      "MPI_Dist_graph_create_adjacent, MPI_Dist_graph_create by "
                      "RONDO_VIRTUAL_GRAPH",
                      call));
}

int refuseCall(const char* call, MPI_Comm comm, const char* unknown, const char* allowed) {
  return raise(comm, rondoUnsupported,
               format("%s: in a rehearsal (RONDO_VIRTUAL) nobody knows %s; allowed: %s", call,
                      unknown, allowed));
}

void beginTransfer(const KnownComm& known, int peer, bool sends, size_t bytes) {
  if (known.aborted) return;
  State& self = state();
  bool full = false;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    self.begun.push_back({known.rondo, peer, sends, bytes, thisThread()});
    full = self.begun.size() % kMostBegun == 0;  // what other threads began may stay
  }
  if (full) flushTransfers();
}

namespace {

/// Those of what was begun that are `wanted`.
template <class Wanted>
std::vector<State::Begun> takeBegun(Wanted wanted) {
  State& self = state();
  std::vector<State::Begun> taken;
  const std::lock_guard<std::mutex> lock(self.mutex);
  std::erase_if(self.begun, [&](const State::Begun& one) {
    if (!wanted(one)) return false;
    taken.push_back(one);
    return true;
  });
  return taken;
}

void timeBegun(const std::vector<State::Begun>& begun) {
  if (begun.empty()) return;
  const OwnCalls own;
  char nothing = 0;  // nobody looks at it
  rondoGroupStart();
  for (const State::Begun& t : begun) {
    // What a rank sends to itself moves in its memory.
    int me = 0;
    rondoCommUserRank(t.comm, &me);
    if (t.peer == me) continue;
    if (t.sends) {
      rondoSend(&nothing, t.bytes, rondoUint8, t.peer, t.comm, nullptr);
    } else {
      rondoRecv(&nothing, t.bytes, rondoUint8, t.peer, t.comm, nullptr);
    }
  }
  if (rondoGroupEnd() != rondoSuccess) {
    std::fprintf(stderr, "rondo_mpi: %s\n", rondoGetLastError(nullptr));
  }
}

}  // namespace

void flushTransfers() {
  timeBegun(takeBegun([self = thisThread()](const State::Begun& one) { return one.by == self; }));
}

void flushTransfersOf(MPI_Comm comm) {
  flushTransfers();
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) return;
  timeBegun(takeBegun([known](const State::Begun& one) { return one.comm == known->rondo; }));
  forgetOwnMessages(*known);
}

void flushAllTransfers() {
  timeBegun(takeBegun([](const State::Begun&) { return true; }));
}

double rehearsedTime() {
  flushTransfers();
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  double ahead = 0;
  for (rondoComm_t machine : self.machines) {
    const rondoPrediction_t p = predictionOf(machine);
    ahead += static_cast<double>(p.picoseconds) * 1e-12;
    ahead -= static_cast<double>(p.planningNanoseconds) * 1e-9;
  }
  // What another thread plans is taken off when it has done: until then the clock stands.
  self.latest = std::max(self.latest, PMPI_Wtime() + ahead);
  return self.latest;
}

}  // namespace rondo::drop_in

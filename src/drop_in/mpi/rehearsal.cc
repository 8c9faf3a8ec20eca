#include "drop_in/mpi/rehearsal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "api/rondo_virtual.h"
#include "base/error.h"
#include "drop_in/mpi/failure.h"

namespace rondo::drop_in {
namespace {

/// A machine, and which of its ranks this process is.
struct Wish {
  std::string topology, output = "rondo-virtual";
  int ranks = 0, rank = 0;
};

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
  };
  std::vector<Begun> begun;
};
State& state() {
  static State* const one = new State;
  return *one;
}

/// As many are timed together at most.
constexpr size_t kMostBegun = 4096;

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A whole number at the end of the environment variable; false: it is none.
bool parseNumber(const std::string& text, int* out) {
  if (text.empty() || text.size() > 8 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  *out = std::stoi(text);
  return true;
}

[[noreturn]] void refuse(const char* name, const std::string& allowed) {
  throw Error(rondoInvalidArgument, format("environment variable %s is \"%s\"; allowed: %s", name,
                                           env(name).c_str(), allowed.c_str()));
}

/// "machine.xml:64"; without a number behind the last colon, a rank on every place.
Wish readWish() {
  Wish out;
  out.topology = env("RONDO_VIRTUAL");
  const size_t colon = out.topology.rfind(':');
  int ranks = 0;
  if (colon != std::string::npos && parseNumber(out.topology.substr(colon + 1), &ranks)) {
    if (ranks == 0) refuse("RONDO_VIRTUAL", "TOPOLOGY:N with N from 1");
    out.ranks = ranks;
    out.topology.resize(colon);
  }
  if (out.topology.empty())
    refuse("RONDO_VIRTUAL", "TOPOLOGY:N, a file or a description and ranks");
  const std::string rank = env("RONDO_VIRTUAL_RANK");
  if (!rank.empty() && !parseNumber(rank, &out.rank)) {
    refuse("RONDO_VIRTUAL_RANK", "the rank that this process is, from 0");
  }
  if (const std::string output = env("RONDO_VIRTUAL_OUT"); !output.empty()) out.output = output;
  return out;
}

/// A virtual communicator, and a handle on it that stays until the end.
rondoComm_t makeMachine(int ranks, int rank, const std::string& output) {
  State& self = state();
  rondoVirtualConfig_t config = RONDO_VIRTUAL_CONFIG_INITIALIZER;
  config.ownData = 1;
  config.name = "rehearsal";
  config.output = output.c_str();
  rondoComm_t kept = nullptr, made = nullptr;
  if (rondoCommInitVirtual(&kept, self.wish.topology.c_str(), ranks, rank, &config) !=
      rondoSuccess) {
    return nullptr;
  }
  if (rondoCommDup(kept, &made, nullptr) != rondoSuccess) {
    rondoCommDestroy(kept);
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.machines.push_back(kept);
  return made;
}

int keepVirtual(MPI_Comm comm, rondoComm_t made) {
  if (made == nullptr)
    return raise(MPI_COMM_WORLD, rondoInvalidArgument, rondoGetLastError(nullptr));
  int rank = 0, size = 0;
  rondoCommUserRank(made, &rank);
  rondoCommCount(made, &size);
  keepAs(comm, made, rank, size);
  return MPI_SUCCESS;
}

rondoPrediction_t predictionOf(rondoComm_t comm) {
  rondoPrediction_t out{};
  out.size = sizeof out;
  rondoCommGetPrediction(comm, &out);
  return out;
}

void report(rondoComm_t machine) {
  const rondoPrediction_t p = predictionOf(machine);
  int rank = 0, size = 0;
  rondoCommUserRank(machine, &rank);
  rondoCommCount(machine, &size);
  std::fprintf(stderr, "rondo_mpi: rehearsed %llu calls as rank %d of %d: %.2f us predicted\n",
               static_cast<unsigned long long>(p.calls), rank, size,
               static_cast<double>(p.picoseconds) * 1e-6);
}

}  // namespace

bool wantsRehearsal() { return !env("RONDO_VIRTUAL").empty(); }

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
  const int code =
      keepVirtual(MPI_COMM_WORLD, makeMachine(self.wish.ranks, self.wish.rank, self.wish.output));
  rehearsing = code == MPI_SUCCESS;
  return code;
}

void endRehearsal() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  for (rondoComm_t machine : self.machines) report(machine);
  for (rondoComm_t machine : self.machines) {
    if (rondoCommDestroy(machine) == rondoSuccess) continue;
    std::fprintf(stderr, "rondo_mpi: %s\n", rondoGetLastError(nullptr));
  }
  if (!self.machines.empty()) {
    std::fprintf(stderr, "rondo_mpi: wrote %s.calls.csv, .flows.csv and .trace.json\n",
                 self.wish.output.c_str());
  }
  self.machines.clear();
  rehearsing = false;
}

int rehearseDup(MPI_Comm parent, MPI_Comm made) {
  const KnownComm* known = rehearsed(parent);
  if (known == nullptr || made == MPI_COMM_NULL) return MPI_SUCCESS;
  rondoComm_t twin = nullptr;
  rondoCommDup(known->rondo, &twin, nullptr);
  return keepVirtual(made, twin);
}

int rehearseHost(MPI_Comm parent, MPI_Comm made) {
  const KnownComm* known = rehearsed(parent);
  if (known == nullptr || made == MPI_COMM_NULL) return MPI_SUCCESS;
  int rank = 0, size = 0;
  rondoCommLocalRank(known->rondo, &rank);
  rondoCommLocalSize(known->rondo, &size);
  State& self = state();
  // Hosts are taken to be alike: it is the first one's ranks that are rehearsed.
  return keepVirtual(
      made, makeMachine(size, rank,
                        format("%s.host%zu", self.wish.output.c_str(), self.machines.size())));
}

int refuseChild(const char* call, MPI_Comm comm) {
  return raise(comm, rondoUnsupported,
               format("%s: in a rehearsal (RONDO_VIRTUAL) nobody knows what other ranks would say; "
                      "allowed: MPI_Comm_dup, and MPI_Comm_split_type with MPI_COMM_TYPE_SHARED",
                      call));
}

void beginTransfer(const KnownComm& known, int peer, bool sends, size_t bytes) {
  if (known.aborted) return;
  State& self = state();
  bool full = false;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    self.begun.push_back({known.rondo, peer, sends, bytes});
    full = self.begun.size() >= kMostBegun;
  }
  if (full) flushTransfers();
}

void flushTransfers() {
  State& self = state();
  std::vector<State::Begun> begun;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    begun.swap(self.begun);
  }
  if (begun.empty()) return;
  char nothing = 0;  // nobody looks at it
  rondoGroupStart();
  for (const State::Begun& t : begun) {
    // What a rank sends to itself moves in its memory.
    int own = 0;
    rondoCommUserRank(t.comm, &own);
    if (t.peer == own) continue;
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
  return PMPI_Wtime() + ahead;
}

}  // namespace rondo::drop_in

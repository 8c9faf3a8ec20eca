#include "drop_in/mpi/mpi_progress.h"

#include <dlfcn.h>
#include <mpi.h>

#include <mutex>

#include "base/ticks.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

/// Open MPI's own non-blocking collectives are moved on in this way. Its functions for it are no
/// part of MPI: they are looked for, and done without where they are missing.
using Callback = int (*)();
using Register = int (*)(Callback);

int poll() {
  if (!anyPending() || mpiMayNotPoll) return 0;
  const NoPollsOfMpi whilePolling;
  pollPending();
  return 0;
}

struct State {
  std::mutex mutex;
  bool asked = false;
};
State& state() {
  static State* const instance = new State;
  return *instance;
}

bool call(const char* name) {
  const auto function = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr && function(poll) == 0;
}

}  // namespace

RONDO_NEAR_THREAD constinit thread_local bool mpiMayNotPoll = false;
RONDO_NEAR_THREAD constinit thread_local unsigned answeredCalls = 0;

void progressMpi() {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

void moveMpiOnNow() {
  constexpr uint64_t kBetweenNs = 20'000;  // a look takes some 100
  RONDO_NEAR_THREAD static constinit thread_local uint64_t last = 0;
  const uint64_t now = monotonicNs();
  if (mpiMayNotPoll || now - last < kBetweenNs) return;
  last = now;
  const NoPollsOfMpi messagesOnly;
  progressMpi();
}

void askMpiToPoll() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (!self.asked) self.asked = call("opal_progress_register");
}

void askMpiNoMore() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.asked) call("opal_progress_unregister");
  self.asked = false;
}

}  // namespace rondo::drop_in

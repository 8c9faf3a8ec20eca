#include "drop_in/mpi/mpi_progress.h"

#include <dlfcn.h>

#include <mutex>

#include "drop_in/mpi/near_thread.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

/// Open MPI's own non-blocking collectives are moved on in this way. Its functions for it are no
/// part of MPI: they are looked for, and done without where they are missing.
using Callback = int (*)();
using Register = int (*)(Callback);

RONDO_NEAR_THREAD constinit thread_local bool inside = false;

int poll() {
  if (!anyPending() || inside) return 0;
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

NoPollsOfMpi::NoPollsOfMpi() : before_(inside) { inside = true; }
NoPollsOfMpi::~NoPollsOfMpi() { inside = before_; }

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

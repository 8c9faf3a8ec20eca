#include "api/mpi_state.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "api/mpi_bootstrap.h"
#include "base/error.h"
#include "p2p/peer_watch.h"

namespace rondo {
namespace {

/// Never destroyed: MPI_Finalize may run in an atexit handler, after static destructors.
struct State {
  std::mutex mutex;
  bool hooked = false;
  std::vector<rondoComm*> kept;
  // A duplicate of MPI_COMM_SELF, so that making and freeing it is local. No message is ever sent
  // on it: probing it does nothing but let MPI progress.
  MPI_Comm progress = MPI_COMM_NULL;
  std::atomic<bool> ended{false};
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

// MPI_Finalize begins by deleting MPI_COMM_SELF's attributes. Nothing here waits for another rank.
int atFinalize(MPI_Comm, int, void*, void*) {
  State& self = state();
  self.ended = true;
  std::vector<rondoComm*> left;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    left.swap(self.kept);
  }
  // Newest first, as they would be destroyed by hand.
  std::for_each(left.rbegin(), left.rend(), freeComm);
  if (self.progress != MPI_COMM_NULL) MPI_Comm_free(&self.progress);
  return MPI_SUCCESS;
}

int threadLevel() {
  int level = MPI_THREAD_SINGLE;
  checkMpi(MPI_Query_thread(&level), "MPI_Query_thread");
  return level;
}

void forget(rondoComm* comm) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  std::erase(self.kept, comm);
}

}  // namespace

void requireMpi() {
  int flag = 0;
  MPI_Initialized(&flag);
  if (!flag) {
    throw Error(rondoInvalidUsage, "MPI is not initialised; allowed: after MPI_Init");
  }
  MPI_Finalized(&flag);
  if (flag || state().ended) {
    throw Error(rondoInvalidUsage, "MPI is finalised; allowed: before MPI_Finalize");
  }
  int mainThread = 0;
  MPI_Is_thread_main(&mainThread);
  if (!mainThread && threadLevel() < MPI_THREAD_SERIALIZED) {
    throw Error(rondoInvalidUsage,
                "the calling thread is not the one that initialised MPI, and MPI was initialised "
                "below MPI_THREAD_SERIALIZED; allowed: the main thread");
  }
}

void requireThreads() {
  if (threadLevel() == MPI_THREAD_MULTIPLE) return;
  throw Error(
      rondoInvalidUsage,
      "config.blocking is 0, but MPI was initialised below MPI_THREAD_MULTIPLE, and another "
      "thread than the caller would use it; allowed: MPI_Init_thread with "
      "MPI_THREAD_MULTIPLE, or config.blocking 1");
}

void requireIntraComm(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) {
    throw Error(rondoInvalidArgument, "mpiComm is MPI_COMM_NULL; allowed: an intra-communicator");
  }
  int inter = 0;
  checkMpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter) {
    throw Error(rondoInvalidArgument,
                "mpiComm is an inter-communicator; allowed: an intra-communicator (see "
                "MPI_Intercomm_merge)");
  }
}

void hookFinalize() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.hooked) return;
  if (self.progress == MPI_COMM_NULL) {
    MPI_Comm progress = MPI_COMM_NULL;
    checkMpi(MPI_Comm_dup(MPI_COMM_SELF, &progress), "MPI_Comm_dup of MPI_COMM_SELF");
    MPI_Comm_set_errhandler(progress, MPI_ERRORS_RETURN);
    self.progress = progress;
  }
  int keyval = MPI_KEYVAL_INVALID;
  checkMpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, atFinalize, &keyval, nullptr),
           "MPI_Comm_create_keyval");
  checkMpi(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr), "MPI_Comm_set_attr");
  MPI_Comm_free_keyval(&keyval);  // lives on until the attribute is deleted
  self.hooked = true;
}

WaitHook progressHook() {
  const bool anyThread = threadLevel() == MPI_THREAD_MULTIPLE;
  return [anyThread, maker = std::this_thread::get_id()] {
    const State& self = state();
    // MPI knows nothing of a rank that died: a call of it may not come back.
    if (self.ended.load(std::memory_order_relaxed) || PeerWatch::anyDied()) return;
    if (!anyThread && std::this_thread::get_id() != maker) return;
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, self.progress, &found, MPI_STATUS_IGNORE);
  };
}

void keepUntilFinalize(rondoComm& comm) {
  State& self = state();
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    self.kept.push_back(&comm);
  }
  onFree(comm, [handle = &comm] { forget(handle); });
  onChild(comm, keepUntilFinalize);
}

void freeIfKept(rondoComm* comm) {
  State& self = state();
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    if (std::erase(self.kept, comm) == 0) return;
  }
  freeComm(comm);
}

}  // namespace rondo

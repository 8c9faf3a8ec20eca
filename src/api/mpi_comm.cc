// rondo_mpi.h: communicators made from, or cached on, an MPI_Comm.

#include <memory>
#include <mutex>
#include <optional>

#include "api/comm_create.h"
#include "api/forming.h"
#include "api/mpi_bootstrap.h"
#include "api/mpi_state.h"
#include "api/profile_range.h"
#include "api/rondo_mpi.h"
#include "base/error.h"

namespace rondo {
namespace {

// Collective. What is wrong on one rank only is agreed on before anything else, so that the others
// get the sentence instead of waiting.
CommPtr makeOverMpi(const char* call, MPI_Comm mpiComm, bool haveOutput,
                    const rondoConfig_t* given) {
  hookFinalize();
  MpiBootstrap boot(mpiComm);
  Config config;
  together(boot, [&] {
    if (!haveOutput) {
      throw Error(rondoInvalidArgument, "comm is NULL; allowed: where to put the communicator");
    }
    config = checkConfig(call, given);
  });
  CommPtr comm = createComm(boot, config, progressHook());
  keepUntilFinalize(*comm);
  return comm;
}

/// The same on a thread of its own. What is wrong on this rank only waits until the others can be
/// told.
rondoResult_t makeInBackground(const char* call, MPI_Comm mpiComm, rondoComm_t* comm,
                               const rondoConfig_t* given) {
  Config config;
  std::optional<Error> wrong;
  std::shared_ptr<MpiBootstrap> boot;
  WaitHook hook;
  const rondoResult_t bad = guarded(nullptr, call, [&] {
    requireThreads();
    hookFinalize();
    try {
      config = checkConfig(call, given);
    } catch (const Error& error) {
      wrong = error;
    }
    config.blocking = comm == nullptr;
    if (comm == nullptr) {
      wrong = Error(rondoInvalidArgument, "comm is NULL; allowed: where to put the communicator");
    }
    hook = progressHook();
    boot = std::make_shared<MpiBootstrap>(mpiComm, MpiBootstrap::Begin{});
  });
  if (bad != rondoSuccess) return bad;
  rondoComm_t nowhere = nullptr;
  return makeNowOrInBackground(
      call, comm == nullptr ? &nowhere : comm, config,
      [boot, wrong, config, hook] {
        boot->finish();
        together(*boot, [&] {
          if (wrong) throw *wrong;
        });
        return buildComm(*boot, config, hook);
      },
      keepUntilFinalize);
}

int freeCached(MPI_Comm, int, void* cached, void*) {
  freeIfKept(static_cast<rondoComm*>(cached));
  return MPI_SUCCESS;
}

/// The key of the attribute that holds a communicator's Rondo communicator.
int cacheKey() {
  static std::mutex mutex;
  static int key = MPI_KEYVAL_INVALID;
  const std::lock_guard<std::mutex> lock(mutex);
  if (key == MPI_KEYVAL_INVALID) {
    int made = MPI_KEYVAL_INVALID;
    checkMpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freeCached, &made, nullptr),
             "MPI_Comm_create_keyval");
    key = made;
  }
  return key;
}

rondoComm* cachedOn(MPI_Comm mpiComm) {
  void* cached = nullptr;
  int found = 0;
  checkMpi(MPI_Comm_get_attr(mpiComm, cacheKey(), &cached, &found), "MPI_Comm_get_attr");
  return found ? static_cast<rondoComm*>(cached) : nullptr;
}

}  // namespace
}  // namespace rondo

using namespace rondo;

rondoResult_t rondoCommInitMPI(rondoComm_t* comm, MPI_Comm mpiComm, const rondoConfig_t* config) {
  const LifeRange range("rondoCommInitMPI");
  constexpr const char* kCall = "rondoCommInitMPI";
  if (asksNotToWait(config)) {
    const rondoResult_t bad = guarded(nullptr, kCall, [&] {
      requireMpi();
      requireIntraComm(mpiComm);
    });
    return bad != rondoSuccess ? bad : makeInBackground(kCall, mpiComm, comm, config);
  }
  return guarded(nullptr, kCall, [&] {
    requireMpi();
    requireIntraComm(mpiComm);
    CommPtr made = makeOverMpi(kCall, mpiComm, comm != nullptr, config);
    if (comm != nullptr) *comm = made.release();  // NULL was refused on all ranks
  });
}

rondoResult_t rondoCommFromMPI(MPI_Comm mpiComm, rondoComm_t* comm) {
  const LifeRange range("rondoCommFromMPI");
  constexpr const char* kCall = "rondoCommFromMPI";
  return guarded(nullptr, kCall, [&] {
    requireMpi();
    requireIntraComm(mpiComm);
    rondoComm* cached = cachedOn(mpiComm);
    if (cached == nullptr) {
      CommPtr made = makeOverMpi(kCall, mpiComm, comm != nullptr, nullptr);
      setOwnedByMpi(*made);
      checkMpi(MPI_Comm_set_attr(mpiComm, cacheKey(), made.get()), "MPI_Comm_set_attr");
      cached = made.release();
    }
    if (comm == nullptr) {
      throw Error(rondoInvalidArgument, "comm is NULL; allowed: where to put the communicator");
    }
    *comm = cached;
  });
}

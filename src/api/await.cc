// Collectives on device memory that the caller waits for.

#include "api/rondo_await.h"

#include "api/comm_create.h"
#include "api/group.h"
#include "api/handle.h"
#include "base/error.h"
#include "coll/communicator.h"
#include "coll/device_runner.h"

namespace rondo {
namespace {

constexpr int stateOf(Awaited awaited) {
  return awaited == Awaited::kRuns   ? RONDO_AWAITED_RUNS
         : awaited == Awaited::kDone ? RONDO_AWAITED_DONE
                                     : RONDO_AWAITED_ON_STREAM;
}

/// nullptr: there are no kernels whose end could be asked for.
DeviceRunner* runnerOf(rondoComm* comm) {
  return comm->rehearsal != nullptr ? nullptr : comm->impl->deviceRunner();
}

rondoResult_t refuseNull(rondoComm* comm, const char* call, const char* argument) {
  return fail(
      comm, rondoInvalidArgument,
      format("%s: argument %s is NULL; allowed: where to write the answer", call, argument));
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoCommAwaitNext(rondoComm_t comm, unsigned microseconds, int* willing) {
  const char* const call = "rondoCommAwaitNext";
  const rondo::Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  if (willing == nullptr) return rondo::refuseNull(comm, call, "willing");
  if (microseconds > RONDO_MOST_LINGER) {
    return rondo::fail(comm, rondoInvalidArgument,
                       rondo::format("%s: argument microseconds is %u; allowed: 0 to %d", call,
                                     microseconds, RONDO_MOST_LINGER));
  }
  if (rondo::groupOpen()) {
    return rondo::fail(comm, rondoInvalidUsage,
                       rondo::format("%s: a group is open; allowed: calls outside groups", call));
  }
  rondo::DeviceRunner* const runner = rondo::runnerOf(comm);
  return rondo::guarded(comm, call, [&] {
    *willing = runner != nullptr && runner->awaitNext(std::chrono::microseconds(microseconds));
  });
}

rondoResult_t rondoCommAwaited(rondoComm_t comm, int* state) {
  const char* const call = "rondoCommAwaited";
  const rondo::Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  if (state == nullptr) return rondo::refuseNull(comm, call, "state");
  rondo::DeviceRunner* const runner = rondo::runnerOf(comm);
  if (runner == nullptr) {
    *state = RONDO_AWAITED_ON_STREAM;
    return rondoSuccess;
  }
  return rondo::guarded(comm, call, [&] { *state = rondo::stateOf(runner->awaited()); });
}

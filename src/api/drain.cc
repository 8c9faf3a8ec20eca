#include "api/drain.h"

#include "api/comm_create.h"
#include "api/group.h"
#include "base/error.h"
#include "coll/progress.h"
#include "coll/waiter.h"

namespace rondo {
namespace {

/// Reading the words of all ranks costs more than a poll.
constexpr int kPollsBetweenLooks = 64;

/// False if the bound of tests has passed.
bool awaitGroups(Communicator& impl) {
  Waiter waiter(impl.groupWait());
  for (int polls = 1; !impl.idle(); ++polls) {
    const bool moved = ProgressThread::pollAll();
    if (polls % kPollsBetweenLooks == 0) impl.closing().look();
    // Aborts are seen by the polls, which end the operations.
    if (moved) {
      waiter.reset();
    } else if (waiter.wait() == RunResult::SpinBound) {
      return false;
    }
  }
  return true;
}

}  // namespace

rondoResult_t drain(rondoComm* comm, const char* call) {
  Communicator& impl = *comm->impl;
  if (impl.idle()) {  // what failed before, its request tells
    impl.closing().end();
    return rondoSuccess;
  }
  if (const rondoResult_t bad = refuseInGroup(call)) return bad;
  impl.closing().begin();
  if (!awaitGroups(impl)) {
    return fail(comm, rondoRemoteError,
                format("%s: waited longer than RONDO_SPIN_BOUND_MS for a peer", call));
  }
  const Communicator::GroupFault& fault = impl.groupFault();
  if (fault.call == nullptr) {
    impl.closing().end();
    return rondoSuccess;
  }
  comm->broken = fault.what;
  comm->brokenCode = fault.code;
  impl.noteBroken(fault.what);
  return fail(comm, comm->brokenCode, format("%s: %s: %s", call, fault.call, fault.what.c_str()));
}

}  // namespace rondo

#include "api/group.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "api/argument_checks.h"
#include "api/comm_create.h"
#include "api/holds.h"
#include "api/open_group.h"
#include "api/profile_range.h"
#include "base/error.h"
#include "base/of_thread.h"
#include "coll/progress.h"

namespace rondo {
namespace {

/// The calling thread's.
OpenGroup& openGroup() { return ofThread<OpenGroup, struct OfGroups>(); }

/// How many groups are open on the calling thread, in each other. Apart, because every call asks
/// and this needs no constructor.
constinit thread_local int depth = 0;
/// Some thread has opened one. Asked before `depth`, which a call of the loader's finds. At a fixed
/// offset it would take none, but a library that has such things cannot be loaded by dlopen if it
/// has as many of a thread's as CUDA's runtime brings (8 KiB).
std::atomic<bool> everOpened{false};

}  // namespace
}  // namespace rondo

/// What was open on a thread, while it is not.
struct rondoGroup {
  int depth = 0;
  rondo::OpenGroup open;
};

namespace rondo {
namespace {

/// Empties the open group on the way out.
struct Dropper {
  Dropper() = default;
  Dropper(const Dropper&) = delete;
  Dropper& operator=(const Dropper&) = delete;
  ~Dropper() { openGroup().drop(); }
};

/// What the group collected while this thread runs it, apart from the group: the wait polls MPI,
/// whose progress may come back with another group (librondo_mpi.so begins calls of the program's
/// other communicators there). Ends before the Dropper.
class Running {
 public:
  Running() : request_(&openGroup().request()) { openGroup().take(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { openGroup().putBack(request_); }
  rondoRequest& collected() const { return *request_; }

 private:
  rondoRequest* const request_;
};

rondoResult_t refuse(const char* call, const std::string& what) {
  return fail(nullptr, rondoInvalidUsage, std::string(call) + ": " + what);
}

rondoComm* commOf(const std::vector<rondoComm*>& comms, const Communicator* impl) {
  for (rondoComm* comm : comms) {
    const Keep keep(comm);
    if (keep && comm->impl.get() == impl) return comm;
  }
  return nullptr;
}

/// Records a fault of a run and marks the communicator, which the caller `held`s, or which may end
/// meanwhile by an abort: then somebody else's call finds the abort word by itself.
rondoResult_t report(const char* call, const std::vector<rondoComm*>& comms,
                     const OperationFault& fault, bool held) {
  if (fault.call == nullptr) return rondoSuccess;
  rondoComm* comm = commOf(comms, fault.comm);
  if (comm != nullptr && !held && !claimComm(comm, rondoComm::kBusy)) comm = nullptr;
  const bool known = comm != nullptr && comm->impl.get() == fault.comm;
  if (known) {
    comm->broken = fault.what;
    comm->brokenCode = fault.code;
    comm->impl->noteBroken(fault.what);
  }
  const std::string where =
      std::string(call) == fault.call ? fault.call : format("%s: %s", call, fault.call);
  const rondoResult_t result = fail(known ? comm : nullptr, fault.code, where + ": " + fault.what);
  if (comm != nullptr && !held) releaseComm(comm);
  return result;
}

/// Waits for `run` on the calling thread. With the spin bound of tests it may give up.
bool waitFor(GroupRun& run, const WaitPolicy& policy) {
  Waiter waiter(policy);
  while (!run.done()) {
    run.attend();
    bool moved = run.tryPoll();
    if (!run.done() && !moved) moved = ProgressThread::pollAll();
    if (moved) {
      waiter.reset();
      continue;
    }
    // Aborts are seen by the polls, which end the operations.
    if (waiter.wait() == RunResult::SpinBound) {
      run.giveUp();
      return false;
    }
  }
  return true;
}

/// `held` as for report().
rondoResult_t refuseSpinBound(const char* call, const std::vector<rondoComm*>& comms, bool held) {
  const std::string what = "waited longer than RONDO_SPIN_BOUND_MS for a peer";
  const std::string sentence = std::string(call) + ": " + what;
  for (rondoComm* each : comms) {
    if (!held && !claimComm(each, rondoComm::kBusy)) continue;
    each->broken = what;
    each->noteError(sentence);
    each->impl->noteBroken(what);
    if (!held) releaseComm(each);
  }
  return fail(nullptr, rondoRemoteError, sentence);
}

/// What is wrong with the operations of the group as a whole.
rondoResult_t checkWhole(const char* call, rondoRequest& collected) {
  for (rondoComm* comm : collected.comms) {
    const Keep keep(comm, call);
    if (!keep) return keep.result();
    const std::string fault = collected.run.faultOf(*comm->impl);
    if (!fault.empty()) {
      return fail(comm, rondoInvalidUsage, std::string(call) + ": " + fault);
    }
  }
  return rondoSuccess;
}

/// Closes one level of the open group. `outermost` is set if that was the last one, and nothing is
/// wrong with what it collected.
rondoResult_t close(const char* call, bool* outermost) {
  *outermost = false;
  if (depth == 0) {
    return refuse(call, "there is no open group on this thread; allowed: after rondoGroupStart");
  }
  if (--depth > 0) return rondoSuccess;
  rondoResult_t result = std::exchange(openGroup().failure, rondoSuccess);
  if (result != rondoSuccess) {
    result = fail(nullptr, result, format("%s: %s", call, openGroup().sentence.c_str()));
  } else {
    result = checkWhole(call, openGroup().request());
    if (result == rondoSuccess) result = openGroup().device.check(call);
  }
  if (result != rondoSuccess) openGroup().drop();
  *outermost = result == rondoSuccess;
  return result;
}

}  // namespace

OpenGroup* endOpenGroup(const char* call, rondoResult_t* result) {
  bool outermost = false;
  try {
    *result = close(call, &outermost);
  } catch (...) {
    openGroup().drop();
    *result = guarded(nullptr, call, [] { throw; });
  }
  return outermost ? &openGroup() : nullptr;
}

rondoResult_t endInVain(const std::string& sentence) {
  const rondoResult_t bad = fail(nullptr, rondoInvalidArgument, sentence);
  if (depth > 0) --depth;
  if (depth > 0) {
    deferFailure(bad);
  } else {
    openGroup().failure = rondoSuccess;
    openGroup().drop();
  }
  return bad;
}

bool endsInside(const char* call) {
  if (depth <= 1) return false;
  refuse(call, "this group stands inside another one; allowed: rondoGroupEnd there");
  deferFailure(rondoInvalidUsage);
  --depth;
  return true;
}

namespace {

rondoResult_t finish(rondoRequest* request, rondoRequest_t* handle, const char* call) {
  *handle = nullptr;
  ProgressThread::one().remove(request->run);
  const rondoResult_t result = report(call, request->comms, request->run.fault(), false);
  giveBack(request);
  return result;
}

/// Waits for a group that runs on by itself: as one of its communicators does that is alive, and
/// that another thread may abort meanwhile.
bool waitForOther(rondoRequest& request) {
  for (rondoComm* comm : request.comms) {
    const Keep keep(comm);
    if (keep) return waitFor(request.run, comm->impl->pollersWait());
  }
  return waitFor(request.run, WaitPolicy());
}

rondoResult_t waitRequest(rondoRequest_t* handle, const char* call) {
  rondoResult_t bad = rondoSuccess;
  rondoRequest* request = findRequest(handle, call, &bad);
  if (request == nullptr) return bad;
  if (!request->run.done() && !waitForOther(*request)) {
    return refuseSpinBound(call, request->comms, false);
  }
  return finish(request, handle, call);
}

}  // namespace

bool groupOpen() { return everOpened.load(std::memory_order_relaxed) && depth > 0; }

bool groupHolds(const rondoComm* comm) { return groupOpen() && openGroup().holds(comm); }

void addToGroup(rondoComm* comm, const char* call, const HostRequest& request) {
  if (comm->rehearsal != nullptr) return openGroup().rehearsed.add(comm, call, request);
  openGroup().runFor(comm).addCollective(*comm->impl, call, request);
}

void addToGroup(rondoComm* comm, const char* call, std::span<const Transfer> transfers) {
  if (comm->rehearsal != nullptr) return openGroup().rehearsed.add(comm, call, transfers);
  openGroup().runFor(comm).addTransfers(*comm->impl, call, transfers);
}

void addToGroup(rondoComm* comm, const DeviceCall& call) { openGroup().device.add(comm, call); }

void addToGroup(rondoComm* comm, const TransferCall& call) { openGroup().device.add(comm, call); }

void deferFailure(rondoResult_t result) {
  if (openGroup().failure != rondoSuccess) return;
  openGroup().failure = result;
  openGroup().sentence = rondoGetLastError(nullptr);
}

rondoResult_t refuseInGroup(const char* call) {
  if (!groupOpen()) return rondoSuccess;
  return refuse(call,
                "this thread has a group open, and the call would wait for what the group "
                "has not begun; allowed: after rondoGroupEnd");
}

namespace {

/// Nobody will do the rest.
void giveUpHalf(rondoRequest& collected) {
  for (rondoComm* comm : collected.comms) comm->impl->abort();
  collected.run.giveUp();
}

/// Runs what was collected, on the calling thread, which may use `comms`.
rondoResult_t runNow(const char* call, rondoRequest& collected) {
  GroupRun& run = collected.run;
  run.issue(OpOrigin::Group);
  try {
    if (!waitFor(run, collected.comms.front()->impl->pollersWait())) {
      return refuseSpinBound(call, collected.comms, true);
    }
  } catch (...) {
    giveUpHalf(collected);
    throw;
  }
  return report(call, collected.comms, run.fault(), true);
}

/// Enqueues what the group has on device memory, before anything on host memory waits; what is
/// virtual is over at once.
rondoResult_t launchDevice(const char* call) {
  if (const rondoResult_t bad = openGroup().rehearsed.run(call)) return bad;
  if (openGroup().device.empty()) return rondoSuccess;
  Holds holds(openGroup().device.comms());
  if (const rondoResult_t bad = holds.take(call)) return bad;
  const rondoResult_t result = openGroup().device.launch(call);
  openGroup().device.clear();
  return result;
}

/// Lets what was collected run on by itself, as *request.
rondoResult_t letRun(const char* call, rondoRequest_t* request) {
  const Dropper onFailure;
  rondoRequest& collected = openGroup().request();
  ProgressThread& thread = ProgressThread::one();
  Holds holds(collected.comms);
  if (const rondoResult_t bad = holds.take(call)) return bad;
  collected.run.issue(OpOrigin::Async);
  collected.run.tryPoll();
  try {
    if (!collected.run.done()) thread.add(collected.run);
  } catch (...) {
    giveUpHalf(collected);
    throw;
  }
  *request = giveOut(openGroup().take());
  return rondoSuccess;
}

/// Closes the group, and runs what the outermost one has collected.
rondoResult_t endGroup(const char* call) {
  bool outermost = false;
  if (const rondoResult_t bad = close(call, &outermost); bad || !outermost) return bad;
  const Dropper afterwards;
  if (const rondoResult_t bad = launchDevice(call)) return bad;
  if (openGroup().request().comms.empty()) return rondoSuccess;
  const Running running;
  rondoRequest& collected = running.collected();
  Holds holds(collected.comms);
  if (const rondoResult_t bad = holds.take(call)) return bad;
  return runNow(call, collected);
}

}  // namespace

rondoResult_t runAlone(rondoComm* comm, const char* call, const HostRequest& request) {
  const Dropper afterwards;
  addToGroup(comm, call, request);
  const Running running;
  return runNow(call, running.collected());
}

rondoResult_t runAlone(rondoComm* comm, const char* call, std::span<const Transfer> transfers) {
  const Dropper afterwards;
  addToGroup(comm, call, transfers);
  const Running running;
  return runNow(call, running.collected());
}

}  // namespace rondo

using rondo::depth;
using rondo::everOpened;
using rondo::openGroup;

rondoResult_t rondoGroupStart(void) {
  if (!everOpened.load(std::memory_order_relaxed)) everOpened = true;
  ++depth;
  return rondoSuccess;
}

rondoResult_t rondoGroupSetAside(rondoGroup_t* aside) {
  const char* call = "rondoGroupSetAside";
  if (aside == nullptr) {
    return rondo::fail(nullptr, rondoInvalidArgument,
                       std::string(call) + ": argument group is NULL; allowed: where to write it");
  }
  *aside = nullptr;
  if (!rondo::groupOpen()) [[likely]]
    return rondoSuccess;
  return rondo::guarded(nullptr, call, [&] {
    auto taken = std::make_unique<rondoGroup>();
    taken->open.swap(openGroup());
    taken->depth = std::exchange(depth, 0);
    *aside = taken.release();
  });
}

rondoResult_t rondoGroupTakeBack(rondoGroup_t aside) {
  if (aside == nullptr) return rondoSuccess;
  if (depth > 0) {
    return rondo::refuse("rondoGroupTakeBack",
                         "this thread has a group open; allowed: after rondoGroupEnd");
  }
  const std::unique_ptr<rondoGroup> taken(aside);
  openGroup().swap(taken->open);
  depth = taken->depth;
  return rondoSuccess;
}

rondoResult_t rondoGroupEnd(void) {
  const char* call = "rondoGroupEnd";
  const rondo::ProfileRange range(call, [] { return rondo::RangePayload{}; });
  try {
    return rondo::endGroup(call);
  } catch (...) {
    openGroup().drop();
    return rondo::guarded(nullptr, call, [] { throw; });
  }
}

rondoResult_t rondoGroupEndAsync(rondoRequest_t* request) {
  const char* call = "rondoGroupEndAsync";
  const rondo::ProfileRange range(call, [] { return rondo::RangePayload{}; });
  if (request == nullptr) {
    return rondo::endInVain(
        "rondoGroupEndAsync: argument request is NULL; allowed: where to write the request");
  }
  if (rondo::endsInside(call)) return rondoSuccess;
  try {
    bool outermost = false;
    if (const rondoResult_t bad = rondo::close(call, &outermost)) return bad;
    if (const rondoResult_t bad = rondo::launchDevice(call)) {
      openGroup().drop();
      return bad;
    }
    return rondo::letRun(call, request);
  } catch (...) {
    openGroup().drop();
    return rondo::guarded(nullptr, call, [] { throw; });
  }
}

rondoResult_t rondoTest(rondoRequest_t* request, int* done) {
  const char* call = "rondoTest";
  rondoResult_t bad = rondoSuccess;
  rondoRequest* found = rondo::findRequest(request, call, &bad);
  if (found == nullptr) return bad;
  if (done == nullptr) {
    return rondo::fail(nullptr, rondoInvalidArgument,
                       "rondoTest: argument done is NULL; allowed: where to write the answer");
  }
  if (!found->run.done()) {
    found->run.attend();
    found->run.tryPoll();
  }
  *done = found->run.done() ? 1 : 0;
  return *done != 0 ? rondo::finish(found, request, call) : rondoSuccess;
}

rondoResult_t rondoWait(rondoRequest_t* request) {
  if (const rondoResult_t bad = rondo::refuseInGroup("rondoWait")) return bad;
  return rondo::waitRequest(request, "rondoWait");
}

rondoResult_t rondoWaitAll(size_t count, rondoRequest_t* requests) {
  const char* call = "rondoWaitAll";
  if (const rondoResult_t bad = rondo::refuseInGroup(call)) return bad;
  if (requests == nullptr && count > 0) {
    return rondo::fail(nullptr, rondoInvalidArgument,
                       rondo::format("%s: argument requests is NULL with count %zu; allowed: %zu "
                                     "requests",
                                     call, count, count));
  }
  if (count > PTRDIFF_MAX / sizeof(rondoRequest_t)) {
    return rondo::fail(nullptr, rondoInvalidArgument,
                       rondo::format("%s: argument count is %s; allowed: the number of requests",
                                     call, rondo::countText(count).c_str()));
  }
  rondoResult_t first = rondoSuccess;
  std::string sentence;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == nullptr) continue;
    const rondoResult_t result = rondo::waitRequest(&requests[i], call);
    if (first != rondoSuccess || result == rondoSuccess) continue;
    first = result;
    sentence = rondoGetLastError(nullptr);
  }
  return first == rondoSuccess ? first : rondo::fail(nullptr, first, sentence);
}

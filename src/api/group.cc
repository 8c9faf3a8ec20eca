#include "api/group.h"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "api/comm_create.h"
#include "base/error.h"
#include "coll/progress.h"

/// A group that runs on by itself.
struct rondoRequest {
  std::shared_ptr<rondo::GroupRun> run;
  std::vector<rondoComm*> comms;
};

namespace rondo {
namespace {

/// The calling thread's open group.
struct OpenGroup {
  int depth = 0;
  std::vector<std::pair<rondoComm*, Operation>> operations;
  rondoResult_t failure = rondoSuccess;
  std::string sentence;
};
thread_local OpenGroup group;

/// The requests there are, so that a stale pointer is refused instead of read.
struct Requests {
  std::mutex mutex;
  std::unordered_set<rondoRequest*> alive;
};
Requests& requests() {
  static Requests* all = new Requests;  // outlives every static
  return *all;
}

rondoResult_t refuse(const char* call, const std::string& what) {
  return fail(nullptr, rondoInvalidUsage, std::string(call) + ": " + what);
}

rondoComm* commOf(const std::vector<rondoComm*>& comms, const Communicator* impl) {
  for (rondoComm* comm : comms) {
    if (comm->impl.get() == impl) return comm;
  }
  return nullptr;
}

/// Records a fault of `run` and marks the communicator.
rondoResult_t report(const char* call, const std::vector<rondoComm*>& comms,
                     const OperationFault& fault) {
  if (fault.call == nullptr) return rondoSuccess;
  rondoComm* comm = commOf(comms, fault.comm);
  if (comm != nullptr) {
    comm->broken = fault.what;
    comm->brokenCode = fault.remote ? rondoRemoteError : rondoInvalidUsage;
  }
  const std::string where =
      std::string(call) == fault.call ? fault.call : format("%s: %s", call, fault.call);
  return fail(comm, fault.remote ? rondoRemoteError : rondoInvalidUsage, where + ": " + fault.what);
}

/// Waits for `run` on the calling thread. With the spin bound of tests it may give up.
bool waitFor(GroupRun& run, const WaitPolicy& policy) {
  Waiter waiter(policy);
  while (!run.done()) {
    bool moved = run.tryPoll();
    if (!run.done() && !moved) moved = ProgressThread::one().pollAll();
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

rondoResult_t refuseSpinBound(const char* call, const std::vector<rondoComm*>& comms) {
  rondoComm* comm = comms.empty() ? nullptr : comms.front();
  const std::string what = "waited longer than RONDO_SPIN_BOUND_MS for a peer";
  for (rondoComm* each : comms) each->broken = what;
  return fail(comm, rondoRemoteError, std::string(call) + ": " + what);
}

/// Takes the open group's operations as a run.
std::shared_ptr<GroupRun> takeRun(std::vector<rondoComm*>* comms) {
  auto run = std::make_shared<GroupRun>();
  for (auto& [comm, operation] : group.operations) {
    if (std::find(comms->begin(), comms->end(), comm) == comms->end()) comms->push_back(comm);
    run->add(*comm->impl, std::move(operation));
  }
  group.operations.clear();
  return run;
}

/// What is wrong with the sends and receives of the group as a whole.
rondoResult_t checkSelfTransfers(const char* call) {
  std::vector<rondoComm*> seen;
  for (const auto& [comm, unused] : group.operations) {
    if (std::find(seen.begin(), seen.end(), comm) != seen.end()) continue;
    seen.push_back(comm);
    std::vector<Transfer> all;
    for (const auto& [other, operation] : group.operations) {
      if (other != comm) continue;
      all.insert(all.end(), operation.transfers.begin(), operation.transfers.end());
    }
    const std::string fault = Exchange::selfFault(comm->impl->place().rank, all);
    if (!fault.empty()) {
      return fail(comm, rondoInvalidUsage, std::string(call) + ": " + fault);
    }
  }
  return rondoSuccess;
}

/// Closes one level of the open group. `outermost` is set if that was the last one and there is
/// something to run.
rondoResult_t close(const char* call, bool* outermost) {
  *outermost = false;
  if (group.depth == 0) {
    return refuse(call, "there is no open group on this thread; allowed: after rondoGroupStart");
  }
  if (--group.depth > 0) return rondoSuccess;
  rondoResult_t result = std::exchange(group.failure, rondoSuccess);
  if (result != rondoSuccess) {
    group.operations.clear();
    return fail(nullptr, result, format("%s: %s", call, group.sentence.c_str()));
  }
  result = checkSelfTransfers(call);
  if (result != rondoSuccess) {
    group.operations.clear();
    return result;
  }
  for (const auto& [comm, operation] : group.operations) {
    if (const rondoResult_t bad = checkHandle(comm, call)) {
      group.operations.clear();
      return bad;
    }
  }
  *outermost = true;
  return rondoSuccess;
}

rondoRequest* findRequest(rondoRequest_t* request, const char* call, rondoResult_t* bad) {
  if (request == nullptr) {
    *bad = fail(nullptr, rondoInvalidArgument,
                format("%s: argument request is NULL; allowed: the address of a request", call));
    return nullptr;
  }
  Requests& all = requests();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (*request == nullptr || all.alive.count(*request) == 0) {
    *bad = fail(nullptr, rondoInvalidArgument,
                format("%s: argument request is %p; allowed: a request of rondoGroupEndAsync that "
                       "was not waited for yet",
                       call, static_cast<void*>(*request)));
    return nullptr;
  }
  return *request;
}

rondoResult_t finish(rondoRequest_t* handle, const char* call) {
  const std::unique_ptr<rondoRequest> request(*handle);
  {
    Requests& all = requests();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.alive.erase(*handle);
  }
  *handle = nullptr;
  return report(call, request->comms, request->run->fault());
}

const WaitPolicy& policyOf(const std::vector<rondoComm*>& comms) {
  return comms.front()->impl->groupWait();
}

rondoResult_t waitRequest(rondoRequest_t* handle, const char* call) {
  rondoResult_t bad = rondoSuccess;
  rondoRequest* request = findRequest(handle, call, &bad);
  if (request == nullptr) return bad;
  const bool wait = !request->run->done() && !request->comms.empty();
  if (wait && !waitFor(*request->run, policyOf(request->comms))) {
    return refuseSpinBound(call, request->comms);
  }
  return finish(handle, call);
}

}  // namespace

bool groupOpen() { return group.depth > 0; }

void addToGroup(rondoComm* comm, Operation operation) {
  group.operations.emplace_back(comm, std::move(operation));
}

void deferFailure(rondoResult_t result) {
  if (group.failure != rondoSuccess) return;
  group.failure = result;
  group.sentence = rondoGetLastError(nullptr);
}

rondoResult_t refuseInGroup(const char* call) {
  if (!groupOpen()) return rondoSuccess;
  return refuse(call,
                "this thread has a group open, and the call would wait for what the group "
                "has not begun; allowed: after rondoGroupEnd");
}

rondoResult_t runAlone(rondoComm* comm, Operation operation) {
  GroupRun run;
  const char* call = operation.call;
  run.add(*comm->impl, std::move(operation));
  if (!waitFor(run, comm->impl->groupWait())) return refuseSpinBound(call, {comm});
  return report(call, {comm}, run.fault());
}

}  // namespace rondo

using rondo::group;

rondoResult_t rondoGroupStart(void) {
  ++group.depth;
  return rondoSuccess;
}

rondoResult_t rondoGroupEnd(void) {
  const char* call = "rondoGroupEnd";
  bool outermost = false;
  if (const rondoResult_t bad = rondo::close(call, &outermost); bad || !outermost) return bad;
  std::vector<rondoComm*> comms;
  const auto run = rondo::takeRun(&comms);
  if (comms.empty()) return rondoSuccess;
  if (!rondo::waitFor(*run, rondo::policyOf(comms))) return rondo::refuseSpinBound(call, comms);
  return rondo::report(call, comms, run->fault());
}

rondoResult_t rondoGroupEndAsync(rondoRequest_t* request) {
  const char* call = "rondoGroupEndAsync";
  if (request == nullptr) {
    const rondoResult_t bad = rondo::fail(
        nullptr, rondoInvalidArgument,
        "rondoGroupEndAsync: argument request is NULL; allowed: where to write the request");
    if (group.depth > 0) --group.depth;
    if (group.depth == 0) group.operations.clear();
    return bad;
  }
  if (group.depth > 1) {
    rondo::fail(nullptr, rondoInvalidUsage,
                "rondoGroupEndAsync: this group stands inside another one; allowed: rondoGroupEnd "
                "there");
    rondo::deferFailure(rondoInvalidUsage);
    --group.depth;
    return rondoSuccess;
  }
  bool outermost = false;
  if (const rondoResult_t bad = rondo::close(call, &outermost)) return bad;
  auto handle = std::make_unique<rondoRequest>();
  handle->run = rondo::takeRun(&handle->comms);
  handle->run->tryPoll();
  if (!handle->run->done()) rondo::ProgressThread::one().add(handle->run);
  rondo::Requests& all = rondo::requests();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.alive.insert(handle.get());
  *request = handle.release();
  return rondoSuccess;
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
  if (!found->run->done()) found->run->tryPoll();
  *done = found->run->done() ? 1 : 0;
  return *done != 0 ? rondo::finish(request, call) : rondoSuccess;
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

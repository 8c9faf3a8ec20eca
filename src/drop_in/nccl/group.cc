#include "drop_in/nccl/group.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "drop_in/nccl/failure.h"
#include "drop_in/nccl/jobs.h"

namespace rondo::nccl {

constinit thread_local int groupDepth = 0;

namespace {

/// A communicator that the group has calls on, and their streams, each once.
struct Use {
  ncclComm* comm;
  std::vector<cudaStream_t> streams;
};

struct Collected {
  std::vector<Job> jobs;
  std::vector<Use> uses;
  std::vector<rondoComm_t> left;  ///< Of ncclCommAbort.
  bool opened = false;            ///< Rondo's group is open.
  ncclResult_t failure = ncclSuccess;
  std::string sentence;
};
thread_local Collected collected;

/// Closes Rondo's group without running it: a call that fails in it is the way.
void drop() {
  rondoAllReduce(nullptr, nullptr, 0, rondoInt8, rondoSum, nullptr, nullptr);
  rondoGroupEnd();
}

ncclResult_t dropAll(const Collected& group, ncclResult_t result, const std::string& sentence) {
  if (group.opened) drop();
  for (const Job& job : group.jobs) discard(job);
  return fail(nullptr, result, sentence);
}

/// Streams first: Rondo orders those of one group, not those of several.
ncclResult_t orderStreams(const Collected& group) {
  return guarded("ncclGroupEnd", [&] {
    for (const Use& use : group.uses) {
      if (const ncclResult_t bad = usable(use.comm, "ncclGroupEnd")) return bad;
      use.comm->order.before(use.streams, use.comm->place);
    }
    return ncclSuccess;
  });
}

void markAnyway(const Use& use) {
  try {
    use.comm->order.after(use.streams, use.comm->place);
  } catch (const Error&) {  // the first cause counts
  }
}

ncclResult_t launch(const Collected& group) {
  if (const ncclResult_t bad = orderStreams(group)) {
    drop();
    return bad;
  }
  const rondoResult_t result = rondoGroupEnd();
  if (result != rondoSuccess) {
    const ncclResult_t failed = failAs(nullptr, "ncclGroupEnd", result);
    // Of several communicators some have launched theirs before another one failed.
    for (const Use& use : group.uses) markAnyway(use);
    return failed;
  }
  return guarded("ncclGroupEnd", [&] {
    for (const Use& use : group.uses) use.comm->order.after(use.streams, use.comm->place);
    return ncclSuccess;
  });
}

/// Jobs on communicators that the group also has calls on are waited for: those come after them.
void awaitForCalls(Collected* group) {
  for (Job& job : group->jobs) {
    const bool used = std::any_of(group->uses.begin(), group->uses.end(),
                                  [&job](const Use& use) { return use.comm == job.on; });
    if (used) job.blocking = true;
  }
}

/// Communicators first: they wait for other ranks, whose threads may have nothing else to do.
ncclResult_t end(Collected group) {
  const char* name = "ncclGroupEnd";
  if (group.failure != ncclSuccess) {
    return dropAll(group, group.failure, std::string(name) + ": " + group.sentence);
  }
  awaitForCalls(&group);
  ncclResult_t made = ncclSuccess;
  if (!group.jobs.empty()) made = runTogether(std::exchange(group.jobs, {}));
  if (made != ncclSuccess && made != ncclInProgress) {
    if (group.opened) drop();
    return made;
  }
  if (!group.opened) return made;
  const ncclResult_t launched = launch(group);
  return launched == ncclSuccess ? made : launched;
}

constexpr const char* kSimulate = "ncclGroupSimulateEnd";

bool initialised(const ncclSimInfo_t* info) {
  return info != nullptr && info->size == sizeof *info && info->magic == kSimInfoMagic;
}

/// After the level is closed: the outermost one is dropped, an outer one fails at its end.
ncclResult_t refuseSimulation(ncclResult_t result, const std::string& what) {
  const std::string sentence = std::string(kSimulate) + ": " + what;
  if (groupOpen()) return failInGroup(fail(nullptr, result, sentence));
  return dropAll(std::exchange(collected, {}), result, sentence);
}

/// Nothing of the group runs, and no stream waits.
ncclResult_t simulate(const Collected& group, ncclSimInfo_t* info) {
  const std::string name = kSimulate;
  if (group.failure != ncclSuccess) {
    return dropAll(group, group.failure, name + ": " + group.sentence);
  }
  if (!group.jobs.empty()) {
    return dropAll(group, ncclInvalidUsage,
                   name +
                       ": the group makes or ends communicators, which nothing predicts, and is "
                       "dropped; allowed: collectives, sends and receives");
  }
  uint64_t picoseconds = 0;
  if (group.opened) {
    const rondoResult_t result = rondoGroupPredict(&picoseconds);
    if (result != rondoSuccess) return failAs(nullptr, kSimulate, result);
  }
  info->estimatedTime = static_cast<float>(static_cast<double>(picoseconds) * 1e-6);
  return ncclSuccess;
}

/// Aborted communicators first, all at once: the kernels of one may be what another's end waits
/// for.
ncclResult_t leave(std::vector<rondoComm_t> left) {
  if (left.empty()) return ncclSuccess;
  const rondoResult_t result = rondoCommLeave(left.data(), static_cast<int>(left.size()));
  return result == rondoSuccess ? ncclSuccess : failAs(nullptr, "ncclGroupEnd", result);
}

/// Closes one level. `outermost`: that was the last one.
ncclResult_t close(const char* name, bool* outermost) {
  if (groupDepth == 0) {
    return fail(
        nullptr, ncclInvalidUsage,
        format("%s: there is no open group on this thread; allowed: after ncclGroupStart", name));
  }
  *outermost = --groupDepth == 0;
  return ncclSuccess;
}

}  // namespace

void addToGroup(Job job) { collected.jobs.push_back(std::move(job)); }

void leaveInGroup(rondoComm_t inner) { collected.left.push_back(inner); }

void noteInGroup(ncclComm* comm, cudaStream_t stream) {
  if (!collected.opened) {
    rondoGroupStart();
    collected.opened = true;
  }
  auto& uses = collected.uses;
  auto use = std::find_if(uses.rbegin(), uses.rend(),
                          [comm](const Use& each) { return each.comm == comm; });
  if (use == uses.rend()) {
    uses.push_back({comm, {stream}});
  } else if (std::find(use->streams.begin(), use->streams.end(), stream) == use->streams.end()) {
    use->streams.push_back(stream);
  }
}

ncclResult_t failInGroup(ncclResult_t result) {
  if (groupOpen() && collected.failure == ncclSuccess) {
    collected.failure = result;
    collected.sentence = lastSentence();
  }
  return result;
}

}  // namespace rondo::nccl

using rondo::nccl::collected;
using rondo::nccl::fail;
using rondo::nccl::groupDepth;
using rondo::nccl::guarded;

RONDO_NCCL_CALL(ncclResult_t, ncclGroupStart, ()) {
  ++groupDepth;
  return ncclSuccess;
}

RONDO_NCCL_CALL(ncclResult_t, ncclGroupEnd, ()) {
  bool outermost = false;
  if (const ncclResult_t bad = rondo::nccl::close("ncclGroupEnd", &outermost)) return bad;
  if (!outermost) return ncclSuccess;
  return guarded("ncclGroupEnd", [] {
    const ncclResult_t left = rondo::nccl::leave(std::exchange(collected.left, {}));
    const ncclResult_t ended = rondo::nccl::end(std::exchange(collected, {}));
    return ended == ncclSuccess ? left : ended;
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t * simInfo)) {
  const char* const name = rondo::nccl::kSimulate;
  bool outermost = false;
  if (const ncclResult_t bad = rondo::nccl::close(name, &outermost)) return bad;
  if (outermost) rondo::nccl::leave(std::exchange(collected.left, {}));
  if (!rondo::nccl::initialised(simInfo)) {
    return rondo::nccl::refuseSimulation(ncclInvalidArgument,
                                         "argument simInfo is not what NCCL_SIM_INFO_INITIALIZER "
                                         "makes; allowed: that");
  }
  if (!outermost) {
    return rondo::nccl::refuseSimulation(
        ncclInvalidUsage, "this group stands inside another one; allowed: ncclGroupEnd there");
  }
  return guarded(
      name, [simInfo] { return rondo::nccl::simulate(std::exchange(collected, {}), simInfo); });
}

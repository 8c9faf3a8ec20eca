#include "coll/communicator.h"

#include <cstdio>

#include "api/types.h"

namespace rondo {
namespace {

/// Without hwloc's word on the last-level cache.
constexpr uint64_t kUsualL3 = 32u << 20;

}  // namespace

Communicator::Communicator(Parts parts) : parts_(std::move(parts)), runner_(parts_.place.size) {
  if (parts_.shm) {
    channels_ = parts_.shm->makeChannels();
    if (parts_.decorate) parts_.decorate(channels_, parts_.place.rank);
    parts_.wait.aborted = [shm = parts_.shm.get()] { return shm->aborted() != 0; };
  } else {
    channels_.chunkBytes = ShmLayout::kMostArea / 2;
    parts_.wait.aborted = [] { return false; };
  }
  parts_.facts.lanes = channels_.lanes;
  parts_.facts.chunkBytes = channels_.chunkBytes;
  // Source and destination of all ranks together no longer fit the last-level cache.
  const uint64_t l3 = parts_.facts.l3Bytes != 0 ? parts_.facts.l3Bytes : kUsualL3;
  streamBytes_ = l3 / (2 * static_cast<uint64_t>(parts_.place.localSize));
}

const BoundPlan* Communicator::makePlan(const PlanKey& key) {
  const Request request{key.collective, key.count, typeSize(key.type), key.root};
  const std::vector<Candidate> ranking = rankCandidates(request, parts_.facts, parts_.tune);
  if (parts_.explain && parts_.place.rank == 0) {
    std::fputs(explainChoice(request, ranking).c_str(), stderr);
  }
  const Candidate& best = ranking.front();
  const algo::Group group{parts_.place.rank, parts_.place.size, key.root};
  const Plan plan = recordPlan(*best.algorithm, group, best.geometry);
  return plans_.insert(key, bindPlan(plan, key.type, key.op, {&channels_, parts_.cpu}));
}

RunResult Communicator::runPlan(const BoundPlan& plan, const HostRequest& request) {
  const HostCall call{static_cast<const char*>(request.src), static_cast<char*>(request.dst),
                      plan.totalBytes >= streamBytes_,
                      request.src != request.dst || plan.algorithm->inPlaceAnnounce};
  return runner_.run(plan, call, parts_.wait);
}

}  // namespace rondo

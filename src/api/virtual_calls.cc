// Calls on virtual communicators, alone and in groups.

#include <algorithm>

#include "api/comm_create.h"
#include "api/group.h"
#include "api/group_time.h"
#include "api/types.h"
#include "api/virtual_comm.h"
#include "base/error.h"
#include "coll/joint_call.h"
#include "coll/runner.h"

namespace rondo {

namespace {

/// Slots of different lengths as even ones of the mean length: that is what times them. It is
/// rounded up, so that few elements for many ranks are not nothing. Who is not the root of a gather
/// or a scatter knows its own slot alone, and takes the others for alike.
HostRequest evened(const HostRequest& request, int rank) {
  HostRequest out = request;
  out.uneven = nullptr;
  if (request.uneven == nullptr) return out;
  const UnevenSlots& slots = *request.uneven;
  const Collective collective = request.key.collective;
  const bool rooted = collective == Collective::Gather || collective == Collective::Scatter;
  if (rooted && rank != request.key.root) {
    const auto me = static_cast<size_t>(rank);
    out.key.count = std::max(slots.srcCounts[me], slots.dstCounts[me]);
    return out;
  }
  uint64_t source = 0, target = 0;
  for (const uint64_t count : slots.srcCounts) source += count;
  for (const uint64_t count : slots.dstCounts) target += count;
  const uint64_t ranks = std::max<uint64_t>(1, slots.srcCounts.size());
  out.key.count = (std::max(source, target) + ranks - 1) / ranks;
  return out;
}

OwnBlock ownBlockOf(const rondoComm& comm, const HostRequest& request) {
  const PlanKey& key = request.key;
  const int rank = comm.impl->place().rank;
  const SlotUse use = slotUse(key.collective, rank, key.root);
  const bool first = key.collective == Collective::Exscan;  // nothing comes before its own
  if (use.src == Slots::None || use.dst == Slots::None || first) return {};
  const size_t element = typeSize(key.type);
  size_t count = key.count, from = 0, to = 0;
  if (request.uneven != nullptr) {
    const UnevenSlots& slots = *request.uneven;
    const auto me = static_cast<size_t>(rank);
    count = std::min(slots.srcCounts[me], slots.dstCounts[me]);
    from = slots.srcDispls[me];
    to = slots.dstDispls[me];
  } else {
    if (use.src == Slots::All) from = count * static_cast<size_t>(rank);
    if (use.dst == Slots::All) to = count * static_cast<size_t>(rank);
  }
  return {static_cast<const char*>(request.src) + from * element,
          static_cast<char*>(request.dst) + to * element, count * element};
}

}  // namespace

rondoResult_t runVirtual(rondoComm* comm, const char* call, const HostRequest& request) {
  return guarded(comm, call, [&] {
    if (groupOpen()) return addToGroup(comm, call, request);
    comm->rehearsal->run(call, evened(request, comm->impl->place().rank));
    comm->rehearsal->keepOwn(ownBlockOf(*comm, request));
  });
}

rondoResult_t runVirtual(rondoComm* comm, const char* call, std::span<const Transfer> transfers) {
  return guarded(comm, call, [&] {
    if (groupOpen()) return addToGroup(comm, call, transfers);
    comm->rehearsal->run(call, transfers);
  });
}

void VirtualGroup::add(rondoComm* comm, const char* call, const HostRequest& request) {
  const HostRequest even = evened(request, comm->impl->place().rank);
  calls_.push_back({comm, call, even, ownBlockOf(*comm, request), {}});
}

void VirtualGroup::add(rondoComm* comm, const char* call, std::span<const Transfer> transfers) {
  calls_.push_back({comm, call, {}, {}, {transfers.begin(), transfers.end()}});
}

template <class Each>
void VirtualGroup::Work::eachPass(const RankPlace& place, const Each& each) const {
  for (size_t at = 0; at < requests.size();) {
    const std::span<const HostRequest> left(requests.data() + at, requests.size() - at);
    const size_t pass = JointCall::passOf(left, place.size);
    HostRequest joint = left[0];
    joint.key = JointCall::keyOf(left.first(pass), place);
    each(at, at + pass, joint);
    at += pass;
  }
}

VirtualGroup::Work VirtualGroup::workOf(rondoComm* comm, const std::vector<Call>& calls) {
  Work work;
  for (const Call& call : calls) {
    if (call.comm != comm) continue;
    work.transfers.insert(work.transfers.end(), call.transfers.begin(), call.transfers.end());
    if (!call.transfers.empty()) continue;
    work.requests.push_back(call.request);
    work.owns.push_back(call.own);
    work.names.push_back(call.name);
  }
  const std::string fault = Exchange::selfFault(comm->impl->place().rank, work.transfers);
  if (!fault.empty()) throw Error(rondoInvalidUsage, fault);
  return work;
}

std::vector<rondoComm*> VirtualGroup::commsOf(const std::vector<Call>& calls) {
  std::vector<rondoComm*> comms;
  for (const Call& each : calls) {
    if (std::find(comms.begin(), comms.end(), each.comm) == comms.end()) {
      comms.push_back(each.comm);
    }
  }
  return comms;
}

void VirtualGroup::runFor(rondoComm* comm, const std::vector<Call>& calls) {
  const Work work = workOf(comm, calls);
  VirtualComm& rehearsal = *comm->rehearsal;
  if (!work.transfers.empty()) rehearsal.run("rondoGroupEnd", work.transfers);
  work.eachPass(comm->impl->place(), [&](size_t first, size_t end, const HostRequest& joint) {
    rehearsal.run(work.names[first], joint);
    for (size_t i = first; i < end; ++i) rehearsal.keepOwn(work.owns[i]);
  });
}

rondoResult_t VirtualGroup::run(const char* call) {
  std::vector<Call> calls;
  calls.swap(calls_);
  for (rondoComm* comm : commsOf(calls)) {
    const Use use(comm, call);
    if (use.result() != rondoSuccess) return use.result();
    if (const rondoResult_t bad = guarded(comm, call, [&] { runFor(comm, calls); })) return bad;
  }
  return rondoSuccess;
}

rondoResult_t VirtualGroup::foretell(const char* call, GroupTime* sum) const {
  for (rondoComm* comm : commsOf(calls_)) {
    const Keep keep(comm, call);
    if (!keep) return keep.result();
    const rondoResult_t bad = guarded(comm, call, [&] {
      const Work work = workOf(comm, calls_);
      VirtualComm& rehearsal = *comm->rehearsal;
      uint64_t time = work.transfers.empty() ? 0 : rehearsal.foretell(work.transfers);
      work.eachPass(comm->impl->place(), [&](size_t, size_t, const HostRequest& joint) {
        time += rehearsal.foretell(joint);
      });
      sum->add(GroupTime::kVirtual, rehearsal.clock(), time);
    });
    if (bad != rondoSuccess) return bad;
  }
  return rondoSuccess;
}

bool isVirtual(rondoComm* comm) {
  const Keep keep(comm);
  return keep && comm->rehearsal != nullptr &&
         comm->state.load(std::memory_order_acquire) == rondoComm::kAlive;
}

void requireVirtual(const rondoComm& comm) {
  if (comm.rehearsal != nullptr) return;
  throw Error(rondoInvalidUsage,
              format("communicator \"%s\" is not virtual; allowed: one of rondoCommInitVirtual, "
                     "or made of one",
                     comm.impl->name().c_str()));
}

rondoResult_t finishVirtual(rondoComm* comm, const char* call) {
  return guarded(comm, call, [&] { comm->rehearsal->close(); });
}

}  // namespace rondo

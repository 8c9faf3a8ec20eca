#include "api/device_group.h"

#include <algorithm>

#include "api/comm_create.h"
#include "api/group.h"
#include "api/profile_range.h"
#include "api/types.h"
#include "base/error.h"
#include "coll/exchange.h"

namespace rondo {
namespace {

/// Before a launch: the communicator's own sentence is better than the runner's.
void refuseBroken(Communicator& comm) {
  if (!comm.aborted()) [[likely]]
    return;
  const Communicator::End end = comm.endOf();
  throw Error(end.code, end.why);
}

/// What is written down of a launch before it.
OpFacts noteLaunch(Communicator& comm, const DeviceCall& call) {
  OpFacts facts;
  facts.collective = static_cast<uint8_t>(call.collective);
  facts.origin = OpOrigin::Device;
  facts.type = call.type;
  facts.op = call.op;
  facts.root = call.root;
  facts.count = call.count;
  comm.numberLaunch(call.stream, &facts);
  comm.recorder().launch(facts);
  return facts;
}

/// And after it.
void noteLaunched(Communicator& comm, const DeviceCall& call, OpFacts facts,
                  const DeviceServed& served) {
  facts.way = served.way;
  facts.choice = served.choice;
  comm.recorder().launched(facts);
  logLine(LogPart::Call, LogLevel::Debug, comm.place().rank, [&] {
    return format("communicator \"%s\": launched %s with count %zu, datatype %s",
                  comm.name().c_str(), call.name, call.count, typeName(call.type));
  });
}

/// Enqueues a collective, and writes down that it was.
void launchOne(Communicator& comm, const DeviceCall& call) {
  refuseBroken(comm);
  const OpFacts facts = noteLaunch(comm, call);
  noteLaunched(comm, call, facts, comm.deviceRunner()->run(call));
}

/// Several as one launch.
void launchJoint(Communicator& comm, std::span<const DeviceCall> calls) {
  refuseBroken(comm);
  static thread_local std::vector<OpFacts> facts;
  facts.clear();
  for (const DeviceCall& call : calls) facts.push_back(noteLaunch(comm, call));
  const DeviceServed served = comm.deviceRunner()->runJoint(calls);
  for (size_t i = 0; i < calls.size(); ++i) noteLaunched(comm, calls[i], facts[i], served);
}

void launchTransfers(Communicator& comm, const char* name, std::span<const Transfer> transfers,
                     std::span<const rondoStream_t> streams) {
  refuseBroken(comm);
  OpFacts facts;
  facts.collective = OpFacts::kTransfers;
  facts.origin = OpOrigin::Device;
  facts.transfers = static_cast<uint16_t>(std::min<size_t>(transfers.size(), 0xffff));
  for (const Transfer& each : transfers) facts.count += each.bytes;
  facts.root = transfers.empty() ? 0 : transfers.front().peer;
  facts.sends = !transfers.empty() && transfers.front().sends;
  comm.recorder().launch(facts);
  comm.deviceRunner()->exchange(name, transfers, streams);
  comm.recorder().launched(facts);
}

}  // namespace

DeviceGroup::Part& DeviceGroup::partOf(rondoComm* comm) {
  for (size_t i = used_; i-- > 0;) {
    if (parts_[i].comm == comm) return parts_[i];
  }
  if (used_ == parts_.size()) parts_.emplace_back();
  Part& part = parts_[used_++];
  part.comm = comm;
  comms_.push_back(comm);
  return part;
}

void DeviceGroup::add(rondoComm* comm, const DeviceCall& call) {
  partOf(comm).calls.push_back(call);
}

void DeviceGroup::add(rondoComm* comm, const char* name, std::span<const Transfer> transfers,
                      rondoStream_t stream) {
  Part& part = partOf(comm);
  if (part.transfers.empty()) part.transferCall = name;
  part.transfers.insert(part.transfers.end(), transfers.begin(), transfers.end());
  if (std::find(part.streams.begin(), part.streams.end(), stream) == part.streams.end()) {
    part.streams.push_back(stream);
  }
}

void DeviceGroup::clear() {
  for (size_t i = 0; i < used_; ++i) {
    parts_[i].comm = nullptr;
    parts_[i].transfers.clear();
    parts_[i].streams.clear();
    parts_[i].calls.clear();
  }
  used_ = 0;
  comms_.clear();
}

rondoResult_t DeviceGroup::check(const char* call) const {
  for (size_t i = 0; i < used_; ++i) {
    const Part& part = parts_[i];
    const Keep keep(part.comm, call);
    if (!keep) return keep.result();
    const std::string fault = Exchange::selfFault(part.comm->impl->place().rank, part.transfers);
    if (fault.empty()) continue;
    return fail(part.comm, rondoInvalidUsage, std::string(call) + ": " + fault);
  }
  return rondoSuccess;
}

void DeviceGroup::launch(const Part& part) {
  DeviceRunner& runner = *part.comm->impl->deviceRunner();
  Communicator& comm = *part.comm->impl;
  if (!part.transfers.empty()) {
    launchTransfers(comm, part.transferCall, part.transfers, part.streams);
  }
  const std::span<const DeviceCall> calls(part.calls);
  for (size_t i = 0; i < calls.size();) {
    // The collectives of a communicator share its memory.
    if (i > 0 && calls[i].stream != calls[i - 1].stream) {
      runner.order(calls[i - 1].stream, calls[i].stream);
    }
    const size_t joined = runner.joins(calls.subspan(i));
    joined > 0 ? launchJoint(comm, calls.subspan(i, joined)) : launchOne(comm, calls[i]);
    i += std::max<size_t>(joined, 1);
  }
}

rondoResult_t DeviceGroup::launch(const char* call) {
  std::stable_sort(parts_.begin(), parts_.begin() + static_cast<ptrdiff_t>(used_),
                   [](const Part& a, const Part& b) {
                     return a.comm->impl->deviceRunner()->serial() <
                            b.comm->impl->deviceRunner()->serial();
                   });
  for (size_t i = 0; i < used_; ++i) {
    rondoComm* comm = parts_[i].comm;
    const rondoResult_t bad = guarded(comm, call, [&] { launch(parts_[i]); });
    if (bad != rondoSuccess) return bad;
  }
  return rondoSuccess;
}

namespace {

/// The collective as sends and receives, for a rank that has all of it in `all`, slot by slot.
void addSlots(std::vector<Transfer>* transfers, const DeviceCall& call, const void* all, int size,
              bool sends) {
  const uint64_t slot = call.count * typeSize(call.type);
  char* const begin = static_cast<char*>(const_cast<void*>(all));
  for (int r = 0; r < size; ++r) {
    transfers->push_back({r, sends, begin + static_cast<uint64_t>(r) * slot, slot});
  }
}

std::vector<Transfer>& asTransfers(const DeviceCall& call, const RankPlace& place) {
  static thread_local std::vector<Transfer> transfers;
  transfers.clear();
  const uint64_t slot = call.count * typeSize(call.type);
  const bool root = place.rank == call.root;
  const Transfer mine{call.root, true, static_cast<char*>(const_cast<void*>(call.send)), slot};
  const Transfer own{call.root, false, static_cast<char*>(call.recv), slot};
  switch (call.collective) {
    case Collective::Gather:
      transfers.push_back(mine);
      if (root) addSlots(&transfers, call, call.recv, place.size, false);
      break;
    case Collective::Scatter:
      transfers.push_back(own);
      if (root) addSlots(&transfers, call, call.send, place.size, true);
      break;
    default:
      addSlots(&transfers, call, call.send, place.size, true);
      addSlots(&transfers, call, call.recv, place.size, false);
  }
  return transfers;
}

/// All-to-all through windows needs few ranks, and NVLink to be quick; sends and receives do not.
bool needsTransfers(const DeviceRunner& runner, const DeviceCall& call) {
  if (call.collective == Collective::Gather || call.collective == Collective::Scatter) return true;
  if (call.collective != Collective::AllToAll || call.send == call.recv) return false;
  const auto element = static_cast<uint32_t>(typeSize(call.type));
  return runner.choose({call.collective, call.count, element, Reduces::kNothing}).byTransfers;
}

}  // namespace

rondoResult_t runOnDevice(rondoComm* comm, const DeviceCall& call) {
  const ProfileRange range(call.name, [&]() -> RangePayload {
    return {call.count * typeSize(call.type),
            call.count,
            isReduction(call.collective) ? call.op : -1,
            isRooted(call.collective) ? call.root : -1,
            -1,
            comm->impl->place().rank};
  });
  if (needsTransfers(*comm->impl->deviceRunner(), call)) {
    return runOnDevice(comm, call.name, asTransfers(call, comm->impl->place()), call.stream);
  }
  if (groupOpen()) {
    addToGroup(comm, call);
    return rondoSuccess;
  }
  return guarded(comm, call.name, [&] { launchOne(*comm->impl, call); });
}

rondoResult_t runOnDevice(rondoComm* comm, const char* name, std::span<const Transfer> transfers,
                          rondoStream_t stream) {
  const ProfileRange range(name,
                           [&] { return RangePayload::of(transfers, comm->impl->place().rank); });
  if (groupOpen()) {
    addToGroup(comm, name, transfers, stream);
    return rondoSuccess;
  }
  const std::string fault = Exchange::selfFault(comm->impl->place().rank, transfers);
  if (!fault.empty()) return fail(comm, rondoInvalidUsage, std::string(name) + ": " + fault);
  return guarded(comm, name, [&] { launchTransfers(*comm->impl, name, transfers, {&stream, 1}); });
}

}  // namespace rondo

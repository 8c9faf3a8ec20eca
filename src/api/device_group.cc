#include "api/device_group.h"

#include <algorithm>
#include <optional>

#include "api/comm_create.h"
#include "api/group.h"
#include "api/profile_range.h"
#include "api/types.h"
#include "base/error.h"
#include "base/of_thread.h"
#include "coll/device_request.h"
#include "coll/exchange.h"

namespace rondo {
namespace {

/// The communicator's own sentence is better than the runner's. Before a launch, and where that
/// failed: it may have ended meanwhile.
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

/// And after it; so many were noted `behind` it.
void noteLaunched(Communicator& comm, const DeviceCall& call, OpFacts facts,
                  const DeviceServed& served, size_t behind = 0) {
  facts.way = served.way;
  facts.choice = served.choice;
  comm.recorder().launched(facts, behind);
  logLine(LogPart::Call, LogLevel::Debug, comm.place().rank, [&] {
    return format("communicator \"%s\": launched %s with count %zu, datatype %s",
                  comm.name().c_str(), call.name, call.count, typeName(call.type));
  });
}

/// The last so many were refused: these peers need not make, and what comes next has their numbers.
void takeBack(Communicator& comm, std::span<const OpFacts> facts) {
  comm.takeBackLaunches(facts.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    comm.recorder().notLaunched(facts[i], facts.size() - 1 - i);
  }
}

/// Enqueues a collective, and writes down that it was.
void launchOne(Communicator& comm, const DeviceCall& call) {
  refuseBroken(comm);
  const OpFacts facts = noteLaunch(comm, call);
  try {
    noteLaunched(comm, call, facts, comm.deviceRunner()->run(call));
  } catch (const Error&) {
    takeBack(comm, {&facts, 1});
    refuseBroken(comm);
    throw;
  }
}

/// Several as one launch.
void launchJoint(Communicator& comm, std::span<const DeviceCall> calls) {
  refuseBroken(comm);
  auto& facts = ofThread<std::vector<OpFacts>, struct OfJoint>();
  facts.clear();
  for (const DeviceCall& call : calls) facts.push_back(noteLaunch(comm, call));
  DeviceServed served;
  try {
    served = comm.deviceRunner()->runJoint(calls);
  } catch (const Error&) {
    takeBack(comm, facts);
    refuseBroken(comm);
    throw;
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    noteLaunched(comm, calls[i], facts[i], served, calls.size() - 1 - i);
  }
}

void launchTransfers(Communicator& comm, const char* name, std::span<const Transfer> transfers,
                     std::span<const rondoStream_t> streams, bool inPlace = false) {
  refuseBroken(comm);
  OpFacts facts;
  facts.collective = OpFacts::kTransfers;
  facts.origin = OpOrigin::Device;
  facts.transfers = static_cast<uint16_t>(std::min<size_t>(transfers.size(), 0xffff));
  for (const Transfer& each : transfers) facts.count += each.bytes;
  facts.root = transfers.empty() ? 0 : transfers.front().peer;
  facts.sends = !transfers.empty() && transfers.front().sends;
  comm.numberTransfers(&facts);
  comm.recorder().launch(facts);
  try {
    if (inPlace) {
      comm.deviceRunner()->exchangeInPlace(name, transfers, streams.front());
    } else {
      comm.deviceRunner()->exchange(name, transfers, streams);
    }
  } catch (const Error&) {
    refuseBroken(comm);
    throw;
  }
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

/// Its operator may be destroyed before it is launched.
void DeviceGroup::add(rondoComm* comm, const DeviceCall& call) {
  std::vector<DeviceCall>& calls = partOf(comm).calls;
  calls.push_back(call);
  if (call.scaled == nullptr) return;
  if (scaledUsed_ == scaled_.size()) scaled_.push_back(std::make_unique<ScaledOp>());
  ScaledOp& kept = *scaled_[scaledUsed_++];
  call.scaled->copyTo(&kept);
  calls.back().scaled = &kept;
}

void DeviceGroup::add(rondoComm* comm, const TransferCall& call) {
  Part& part = partOf(comm);
  std::vector<Transfer>& to = call.collective ? part.pieces : part.transfers;
  const size_t begin = to.size();
  if (call.collective) {
    part.made.push_back({call.name, part.calls.size(), begin, begin + call.transfers.size(),
                         call.stream, call.inPlace});
  } else {
    if (begin == 0) part.transferCall = call.name;
    if (std::find(part.streams.begin(), part.streams.end(), call.stream) == part.streams.end()) {
      part.streams.push_back(call.stream);
    }
  }
  to.insert(to.end(), call.transfers.begin(), call.transfers.end());
}

void DeviceGroup::clear() {
  for (size_t i = 0; i < used_; ++i) {
    parts_[i].comm = nullptr;
    parts_[i].transfers.clear();
    parts_[i].streams.clear();
    parts_[i].calls.clear();
    parts_[i].pieces.clear();
    parts_[i].made.clear();
  }
  used_ = scaledUsed_ = 0;
  comms_.clear();
}

/// Streams that are not captured join the capture of the first launch's, but not the reverse.
std::string DeviceGroup::captureFault(const Part& part) {
  const rondoStream_t first = part.firstStream();
  const DeviceRunner& runner = *part.comm->impl->deviceRunner();
  rondoStream_t looked = first;
  const auto captured = [&](rondoStream_t stream) {
    if (stream == first || stream == looked) return false;
    looked = stream;
    return runner.captures(stream) && !runner.captures(first);
  };
  const auto ofOne = [&](const auto& each) { return captured(each.stream); };
  if (std::none_of(part.streams.begin(), part.streams.end(), captured) &&
      std::none_of(part.calls.begin(), part.calls.end(), ofOne) &&
      std::none_of(part.made.begin(), part.made.end(), ofOne)) {
    return "";
  }
  return format(
      "rank %d: stream %p is captured, and stream %p, on which the group's first operation on the "
      "communicator is, is not; allowed: both captured, or that one",
      part.comm->impl->place().rank, static_cast<void*>(looked), static_cast<void*>(first));
}

rondoResult_t DeviceGroup::check(const char* call) const {
  for (size_t i = 0; i < used_; ++i) {
    const Part& part = parts_[i];
    const Keep keep(part.comm, call);
    if (!keep) return keep.result();
    const int rank = part.comm->impl->place().rank;
    std::string fault = Exchange::selfFault(rank, part.transfers);
    for (size_t k = 0; fault.empty() && k < part.made.size(); ++k) {
      fault = Exchange::selfFault(rank, part.of(part.made[k]));
    }
    if (fault.empty()) fault = captureFault(part);
    if (fault.empty()) continue;
    return fail(part.comm, rondoInvalidUsage, std::string(call) + ": " + fault);
  }
  return rondoSuccess;
}

/// One communicator's part on its way. What a group has collected of one communicator shares its
/// memory, so each launch waits for the one before it.
class DeviceGroup::Launch {
 public:
  explicit Launch(const Part& part)
      : part_(part), comm_(*part.comm->impl), runner_(*part.comm->impl->deviceRunner()) {}
  void run() {
    const std::span<const DeviceCall> calls(part_.calls);
    if (!part_.transfers.empty()) {
      launchTransfers(comm_, part_.transferCall, part_.transfers, part_.streams);
      if (followTransfers()) last_ = part_.streams.front();
    }
    size_t next = 0;
    for (const Pieces& pieces : part_.made) {
      collectives(calls.subspan(next, pieces.after - next));
      next = pieces.after;
      if (pieces.begin == pieces.end) continue;
      follow(pieces.stream);
      launchTransfers(comm_, pieces.name, part_.of(pieces), {&pieces.stream, 1}, pieces.inPlace);
    }
    collectives(calls.subspan(next));
  }

 private:
  void collectives(std::span<const DeviceCall> calls) {
    for (size_t i = 0; i < calls.size();) {
      follow(calls[i].stream);
      const size_t joined = runner_.joins(calls.subspan(i));
      joined > 0 ? launchJoint(comm_, calls.subspan(i, joined)) : launchOne(comm_, calls[i]);
      i += std::max<size_t>(joined, 1);
    }
  }
  /// Whether what comes behind the sends and receives waits for them: it may be some itself, or
  /// joins their capture. Else it must not, as a partner may make them after it.
  bool followTransfers() const {
    const auto mayExchange = [](const DeviceCall& call) {
      return becomesTransfers(call.collective) || call.collective == Collective::AllToAll;
    };
    return !part_.made.empty() ||
           std::any_of(part_.calls.begin(), part_.calls.end(), mayExchange) ||
           runner_.captures(part_.streams.front());
  }
  void follow(rondoStream_t stream) {
    if (last_ && *last_ != stream) runner_.order(*last_, stream);
    last_ = stream;
  }

  const Part& part_;
  Communicator& comm_;
  DeviceRunner& runner_;
  std::optional<rondoStream_t> last_;
};

rondoResult_t DeviceGroup::launch(const char* call) {
  std::stable_sort(parts_.begin(), parts_.begin() + static_cast<ptrdiff_t>(used_),
                   [](const Part& a, const Part& b) {
                     return a.comm->impl->deviceRunner()->serial() <
                            b.comm->impl->deviceRunner()->serial();
                   });
  for (size_t i = 0; i < used_; ++i) {
    rondoComm* comm = parts_[i].comm;
    const rondoResult_t bad = guarded(comm, call, [&] { Launch(parts_[i]).run(); });
    if (bad != rondoSuccess) return bad;
  }
  return rondoSuccess;
}

namespace {

/// All-to-all through windows needs few ranks, and NVLink to be quick; sends and receives do not.
bool needsTransfers(DeviceRunner& runner, const DeviceCall& call) {
  if (becomesTransfers(call.collective)) return !runner.runsRooted();
  if (call.collective != Collective::AllToAll || call.send == call.recv) return false;
  const auto element = static_cast<uint32_t>(typeSize(call.type));
  return runner.byTransfers({call.collective, call.count, element, Reduces::kNothing});
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
    auto& transfers = ofThread<std::vector<Transfer>, struct OfDeviceCalls>();
    asTransfers(call, comm->impl->place().rank, comm->impl->place().size, &transfers);
    return runOnDevice(comm, {call.name, transfers, call.stream, true});
  }
  if (groupOpen()) {
    addToGroup(comm, call);
    return rondoSuccess;
  }
  return guarded(comm, call.name, [&] { launchOne(*comm->impl, call); });
}

rondoResult_t runOnDevice(rondoComm* comm, const TransferCall& call) {
  const ProfileRange range(
      call.name, [&] { return RangePayload::of(call.transfers, comm->impl->place().rank); });
  // Nothing on this rank keeps others' neighbours apart, too.
  if (groupOpen()) {
    addToGroup(comm, call);
    return rondoSuccess;
  }
  if (call.transfers.empty()) return rondoSuccess;
  const std::string fault = Exchange::selfFault(comm->impl->place().rank, call.transfers);
  if (!fault.empty()) {
    return fail(comm, rondoInvalidUsage, std::string(call.name) + ": " + fault);
  }
  return guarded(comm, call.name, [&] {
    launchTransfers(*comm->impl, call.name, call.transfers, {&call.stream, 1}, call.inPlace);
  });
}

}  // namespace rondo

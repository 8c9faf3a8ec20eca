#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_copies.h"

#include "api/types.h"
#include "base/error.h"
#include "coll/device_error.h"
#include "coll/device_request.h"

namespace rondo {

DeviceCopies::DeviceCopies(const MeetingView& meeting, const FaultView& fault, int rank,
                           const Known& known, bool alone)
    : known_(known),
      rank_(rank),
      size_(known.facts.ranks),
      engines_(meeting, fault, rank, size_, alone),
      reduce_(meeting, fault, rank, size_) {}

int DeviceCopies::prepare() {
  const int error = engines_.prepare();
  return error == 0 ? reduce_.prepare() : error;
}

void DeviceCopies::free() {
  engines_.free();
  reduce_.free();
}

void DeviceCopies::enqueued(const DeviceCall& call, int error) const {
  throwCuda(known_.device, call.name, "enqueueing copies", error);
}

/// Where a call goes that only moves bytes and that copy engines take: those that were asked for
/// do, but a broadcast, and into a window, only where that is quicker and no rule of the user's is
/// for it.
const UserMemory::Entry* DeviceCopies::movedInto(const DeviceCall& call) {
  const UserMemory::Entry* const into = engines_.serve(call, known_.memory);
  if (into == nullptr || alone()) return into;
  const bool asked = into->use != MemoryUse::kWindow && call.collective != Collective::Broadcast;
  if (asked) return into;
  const DeviceRequest wanted = requestOf(call, size_);
  if (findRule(wanted, known_.tune) != nullptr) return nullptr;
  const uint64_t byKernel = known_.kernels.timeByKernel(wanted);
  return engines_.time(call, known_.facts.costs) < byKernel ? into : nullptr;
}

/// Where an all-reduce goes that copy engines are quicker with than kernels; nullptr: they are not,
/// or a rule of the user's says what it is to be.
const UserMemory::Entry* DeviceCopies::reducedInto(const DeviceCall& call) {
  if (!reduce_.may(call)) return nullptr;
  const DeviceRequest wanted = requestOf(call, size_);
  if (findRule(wanted, known_.tune) != nullptr) return nullptr;
  const uint64_t byKernel = known_.kernels.timeByKernel(wanted);
  const bool quicker = reduce_.time(call, known_.facts.costs, byKernel) < byKernel;
  return quicker ? reduce_.into(call, known_.memory) : nullptr;
}

/// The part of an all-reduce in place that kernels do before copy engines: this rank's block.
DeviceCall DeviceCopies::ownBlock(const DeviceCall& call) const {
  DeviceCall own = call;
  own.collective = Collective::ReduceScatter;
  own.count = reduce_.blockOf(call);
  own.recv = static_cast<unsigned char*>(call.recv) +
             static_cast<uint64_t>(rank_) * own.count * typeSize(call.type);
  return own;
}

/// An all-reduce; kernels have what is no block of any rank, and in place, where copies have no
/// room, the sums.
void DeviceCopies::reduce(const DeviceCall& call, const UserMemory::Entry& into) {
  const uint64_t blocks = reduce_.blockOf(call) * static_cast<uint64_t>(size_);
  if (call.count > blocks) {
    const uint64_t bytes = blocks * typeSize(call.type);
    DeviceCall rest = call;
    rest.send = static_cast<const unsigned char*>(call.send) + bytes;
    rest.recv = static_cast<unsigned char*>(call.recv) + bytes;
    rest.count = call.count - blocks;
    known_.kernels.runByKernel(rest);
  }
  const bool inPlace = call.send == call.recv;
  if (inPlace) known_.kernels.runByKernel(ownBlock(call));
  enqueued(call, inPlace ? reduce_.give(call, into) : reduce_.run(call, into));
}

bool DeviceCopies::serve(const DeviceCall& call) {
  if (const UserMemory::Entry* const into = movedInto(call)) {
    enqueued(call, engines_.run(call, *into));
    return true;
  }
  if (const UserMemory::Entry* const into = reducedInto(call)) {
    reduce(call, *into);
    return true;
  }
  if (becomesTransfers(call.collective)) enqueued(call, engines_.leave(call));
  return false;
}

}  // namespace rondo

#endif  // HAVE_CUDA

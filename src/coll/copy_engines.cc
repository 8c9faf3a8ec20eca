#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/copy_engines.h"

#include <utility>

#include "api/types.h"
#include "coll/device_predict.h"
#include "coll/symmetric_call.h"

namespace rondo {
namespace {

/// In all, what a rank receives. Below, two meetings cost more than copy engines gain.
constexpr uint64_t kFrom = 32u << 20;

}  // namespace

CopyEngines::CopyEngines(const MeetingView& view, const FaultView& fault, int rank, int size,
                         bool alone)
    : view_(view),
      fault_(fault),
      rank_(rank),
      size_(size),
      alone_(alone),
      from_(alone ? 1 : kFrom) {}

void CopyEngines::free() {
  freeEvent(std::exchange(event_, nullptr));
  freeStream(std::exchange(side_, nullptr));
}

int CopyEngines::prepare() {
  int error = event_ == nullptr ? makeEvent(&event_) : 0;
  if (error != 0 || side_ != nullptr) return error;
  error = makeStream(&side_);
  // The first launch on a stream may wait for kernels that run: that is now.
  return error != 0 ? error : copyByKernel(nullptr, nullptr, 0, side_);
}

const UserMemory::Entry* CopyEngines::serve(const DeviceCall& call,
                                            const UserMemory& memory) const {
  const bool exchanges = call.collective == Collective::AllToAll;
  // With several peers a root's own link carries a broadcast more than once: only to spare kernels.
  const bool casts = (alone_ || size_ == 2) && call.collective == Collective::Broadcast;
  if (!exchanges && !casts && call.collective != Collective::AllGather) return nullptr;
  const uint64_t slots = casts ? 1 : static_cast<uint64_t>(size_);
  const uint64_t bytes = call.count * typeSize(call.type) * slots;
  if (side_ == nullptr || size_ < 2 || size_ > kMaxPairRanks || bytes < from_) return nullptr;
  if (exchanges && call.send == call.recv) return nullptr;
  return symmetricResult(call, bytes, memory, rank_);
}

uint64_t CopyEngines::time(const DeviceCall& call, const DeviceCosts& costs) const {
  if (always_) return 0;
  const uint64_t slot = call.count * typeSize(call.type);
  return copiesTime(size_, static_cast<uint64_t>(size_ - 1) * slot, costs);
}

int CopyEngines::meet(uint32_t tag, bool compare, CUstream_st* stream) const {
  return launchMeeting({view_, fault_, rank_, size_, tag, compare ? 1 : 0}, stream);
}

int CopyEngines::copyOwn(void* to, const void* from, uint64_t bytes) const {
  return alone_ ? copyOnStream(to, from, bytes, side_) : copyByKernel(to, from, bytes, side_);
}

// A rank puts its blocks into the others' memory, each at another peer at any time. Its own one
// goes meanwhile. Of a broadcast only the root has blocks.
int CopyEngines::run(const DeviceCall& call, const UserMemory::Entry& into) {
  ++calls_;
  const uint64_t slot = call.count * typeSize(call.type);
  auto* const recv = static_cast<unsigned char*>(call.recv);
  const auto* const send = static_cast<const unsigned char*>(call.send);
  const auto offset = static_cast<uint64_t>(recv - into.memory);
  const bool casts = call.collective == Collective::Broadcast;
  const bool gives = !casts || call.root == rank_;
  const uint64_t place = casts ? 0 : static_cast<uint64_t>(rank_) * slot;
  const auto blockFor = [&](int peer) {
    return call.collective == Collective::AllToAll ? send + static_cast<uint64_t>(peer) * slot
                                                   : send;
  };
  const uint32_t tag = symmetricTag(call, into);
  int error = orderStreams(call.stream, side_, event_);
  if (error != 0) return error;
  if (gives && blockFor(rank_) != recv + place) {
    error = copyOwn(recv + place, blockFor(rank_), slot);
  }
  if (error == 0) error = meet(tag, true, call.stream);
  for (int k = 1; gives && k < size_ && error == 0; ++k) {
    const int peer = (rank_ + k) % size_;
    auto* const to = reinterpret_cast<unsigned char*>(into.here[static_cast<size_t>(peer)]);
    error = copyOnStream(to + offset + place, blockFor(peer), slot, call.stream);
  }
  // Joined whatever failed: a capture must not end with a loose branch.
  const int join = orderStreams(side_, call.stream, event_);
  if (error == 0) error = join;
  return error == 0 ? meet(tag, false, call.stream) : error;
}

}  // namespace rondo

#endif  // HAVE_CUDA

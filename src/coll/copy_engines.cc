#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/copy_engines.h"

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

bool CopyEngines::moves(const DeviceCall& call) const {
  switch (call.collective) {
    case Collective::AllGather:
      return true;
    case Collective::AllToAll:
      return call.send != call.recv;
    case Collective::Broadcast:
      // Of several peers a root's link carries it more than once: only to spare kernels.
      return alone_ || size_ == 2;
    case Collective::Gather:
    case Collective::Scatter:
      return alone_;
    default:
      return false;
  }
}

const UserMemory::Entry* CopyEngines::serve(const DeviceCall& call,
                                            const UserMemory& memory) const {
  if (!sides_.ready() || size_ < 2 || size_ > kMaxPairRanks || !moves(call)) return nullptr;
  const bool one =
      call.collective == Collective::Broadcast || call.collective == Collective::Scatter;
  const uint64_t bytes =
      call.count * typeSize(call.type) * (one ? 1 : static_cast<uint64_t>(size_));
  if (bytes < from_) return nullptr;
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

int CopyEngines::copyOwn(void* to, const void* from, uint64_t bytes, CUstream_st* side) const {
  return alone_ ? copyOnStream(to, from, bytes, side) : copyByKernel(to, from, bytes, side);
}

int CopyEngines::leave(const DeviceCall& call) const {
  const bool may = sides_.ready() && size_ >= 2 && size_ <= kMaxPairRanks;
  return may ? meet(kNowhere, true, call.stream) : 0;
}

/// Where a rank's blocks come from, and where they go.
struct CopyEngines::Blocks {
  const unsigned char* send;
  uint64_t step;   ///< From one peer's block to the next one's, in `send`.
  uint64_t place;  ///< In the peer's result.
  int to;          ///< The one peer that has one; kAll; kNobody.
  static constexpr int kAll = -1, kNobody = -2;

  const unsigned char* of(int peer) const { return send + static_cast<uint64_t>(peer) * step; }
  bool has(int peer) const { return to == kAll || to == peer; }
};

CopyEngines::Blocks CopyEngines::blocksOf(const DeviceCall& call, uint64_t slot) const {
  const auto* const send = static_cast<const unsigned char*>(call.send);
  const uint64_t mine = static_cast<uint64_t>(rank_) * slot;
  const int ofRoot = rank_ == call.root ? Blocks::kAll : Blocks::kNobody;
  switch (call.collective) {
    case Collective::Broadcast:
      return {send, 0, 0, ofRoot};
    case Collective::Scatter:
      return {send, slot, 0, ofRoot};
    case Collective::Gather:
      return {send, 0, mine, call.root};
    case Collective::AllToAll:
      return {send, slot, mine, Blocks::kAll};
    default:
      return {send, 0, mine, Blocks::kAll};
  }
}

// A rank puts its blocks into the others' memory, each at another peer at any time. Its own one
// goes meanwhile.
int CopyEngines::run(const DeviceCall& call, const UserMemory::Entry& into) {
  ++calls_;
  const uint64_t slot = call.count * typeSize(call.type);
  const Blocks blocks = blocksOf(call, slot);
  auto* const recv = static_cast<unsigned char*>(call.recv);
  const auto offset = static_cast<uint64_t>(recv - into.memory) + blocks.place;
  const uint32_t tag = symmetricTag(call, into);
  CUstream_st* const side = sides_.beside(call.stream).front();
  int error = sides_.order(call.stream, side);
  if (error != 0) return error;
  if (blocks.has(rank_) && blocks.of(rank_) != recv + blocks.place) {
    error = copyOwn(recv + blocks.place, blocks.of(rank_), slot, side);
  }
  if (error == 0) error = meet(tag, true, call.stream);
  for (int k = 1; k < size_ && error == 0; ++k) {
    const int peer = (rank_ + k) % size_;
    if (!blocks.has(peer)) continue;
    auto* const to = reinterpret_cast<unsigned char*>(into.here[static_cast<size_t>(peer)]);
    error = copyOnStream(to + offset, blocks.of(peer), slot, call.stream);
  }
  // Joined whatever failed: a capture must not end with a loose branch.
  const int join = sides_.order(side, call.stream);
  if (error == 0) error = join;
  return error == 0 ? meet(tag, false, call.stream) : error;
}

}  // namespace rondo

#endif  // HAVE_CUDA

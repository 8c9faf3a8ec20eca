#pragma once
// Kernels that stay for a while after their call, so that the next one need not be launched: what
// they and the host tell each other. Needs no CUDA header.

#include <cstdint>

#include "kernels/launch.h"

namespace rondo {

/// Lanes of a call that a standing kernel serves, at most.
constexpr int kMostStandingLanes = 32;

/// Words of an order, in its places.
enum StandingWord : uint8_t {
  kOrderSrcLow,
  kOrderSrcHigh,
  kOrderDstLow,
  kOrderDstHigh,
  kOrderElement,  ///< Bytes of an element; 0: the kernel is to end.
  kOrderType,
  kOrderOp,
  kOrderDivisor,
  kOrderChunk,
  kOrderPeriod,
  kOrderFullPeriods,
  kOrderLeft,
  kOrderLastBlock,
  kOrderBlocks,
  kOrderWords
};

/// A lane's next call, in host memory: each word with the order's number above it in one 8-byte
/// store, so that nobody takes half of an order for one. A line of its own, because host memory
/// serves a GPU's loads of one line one after the other.
struct alignas(128) StandingOrder {
  uint64_t word[16];
};
static_assert(kOrderWords <= 16);

/// What a lane has done, in one word that only grows: the number of the order, above one of these.
/// The first lane decides for all: what it has taken they do, and they end when it has.
enum StandingState : uint64_t {
  kStandingTaken = 1,  ///< The first lane has seen the order.
  kStandingDone = 2,   ///< What the lane had to write for it is written.
  kStandingLeft = 3    ///< The first lane has done that one, and the kernel ends.
};
RONDO_ALGO uint64_t standingWord(uint32_t order, StandingState state) {
  return uint64_t{order} << 2 | state;
}

/// In host memory, as one side addresses it.
struct StandingDesk {
  StandingOrder* orders;  ///< Of each lane.
  uint64_t* answers;      ///< Of each lane.
};
constexpr uint64_t kStandingDeskBytes = kMostStandingLanes * (sizeof(StandingOrder) + 8);
inline StandingDesk standingDesk(void* memory) {
  auto* const orders = static_cast<StandingOrder*>(memory);
  return {orders, reinterpret_cast<uint64_t*>(orders + kMostStandingLanes)};
}

/// The argument of a standing kernel.
struct StandingCall : WindowCall {
  StandingDesk desk;
  uint64_t lingerNs;  ///< How long it waits for the next order.
  uint32_t order;     ///< Number of this call.
};

/// As launchKernel(), of a kernel that can stand.
int launchStanding(const Kernel& kernel, const StandingCall& call, int blocks, int threads,
                   CUstream_st* stream);

}  // namespace rondo

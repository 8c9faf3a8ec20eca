#pragma once
// What a kernel is told about memory that several ranks address: plain structs of pointers, as
// mapped in the kernel's own address space. Compiled by nvcc and by the host compiler alike.

#include <cstdint>

namespace rondo {

/// Ranks that a window kernel is instantiated for; more take a ring.
constexpr int kMaxWindowRanks = 8;
/// Lanes of a window, and the LL packets (8 bytes of data in 16) that a lane holds of one rank.
constexpr int kWindowLanes = 32;
constexpr uint32_t kWindowPackets = 512;
/// Channels of a ring. Stores over NVLink need about 64 to fill it (4 x H200, 2026-11).
constexpr int kRingLanes = 64;
/// Slots of a channel's FIFO. One is not enough: a rank frees its slot only after it has sent on.
constexpr uint32_t kFifoSlots = 2;
constexpr uint32_t kSlotBytes = 64u << 10;
/// Flags of different lanes keep to lines of their own.
constexpr uint32_t kFlagWords = 32;

/// Where every rank's window is. A window holds, for two alternating exchanges, each lane and each
/// source rank, kWindowPackets packets; see windowPlace().
struct WindowView {
  unsigned char* base[kMaxWindowRanks];  ///< Indexed by rank.
  uint32_t* epochs;                      ///< This rank's, one word a lane: the last exchange.
};

constexpr uint64_t kPlaceBytes = uint64_t{kWindowPackets} * 16;
constexpr uint64_t windowBytes(int ranks) {
  return uint64_t{2} * kWindowLanes * static_cast<uint64_t>(ranks) * kPlaceBytes;
}

/// A first-in first-out queue per lane from one rank to another. The slots and the head live with
/// the receiver, the credit with the sender, so that each polls its own memory only. Lane l's are
/// at l x kFifoSlots x kSlotBytes and at l x kFlagWords.
struct FifoView {
  unsigned char* slots;
  uint32_t* head;    ///< Blocks that have been put in.
  uint32_t* credit;  ///< Blocks that have been taken out.
};

/// A rank's two queues round a ring.
struct RingView {
  FifoView fromPrev;
  FifoView toNext;
  uint32_t* steps;  ///< This rank's, per lane (kFlagWords apart): blocks received, blocks sent.
};

/// Words in host memory that the kernel and the host both write.
struct FaultWords {
  uint32_t abort;  ///< The host's: not 0 ends every wait.
  uint32_t error;  ///< The kernel's: not 0 once a wait was given up.
};

struct FaultView {
  FaultWords* words;
  uint64_t boundNs;  ///< A wait longer than this is given up; 0: no bound.
};

}  // namespace rondo

#pragma once
// What a kernel is told about memory that several ranks address: plain structs of pointers, as
// mapped in the kernel's own address space. Compiled by nvcc and by the host compiler alike.

#include <cstdint>

namespace rondo {

/// Ranks that have windows; more take a ring.
constexpr int kMaxWindowRanks = 8;
/// Channels of a ring. The more multiprocessors store, the better links are filled: 128 instead of
/// 96 were worth 3 to 6 % of long reductions, and 14 instead of 10.5 KiB a slot 0 to 1 % (2 x H200,
/// 2026-11).
constexpr int kRingLanes = 128;
/// A block is sent in slices: a rank passes on the first while the last is still on its way. The
/// longer the block, the less a rank waits for the one before; a slice is one pass of a lane's
/// threads.
constexpr uint32_t kSliceBytes = 21u << 10;
constexpr uint32_t kBlockSlices = 5;  ///< Of a block at most.
/// A slice takes so many of a channel's slots. What passes all ranks one after the other goes in
/// slices of one slot, half as long: every rank then begins sooner.
constexpr uint32_t kSliceSlots = 2;
constexpr uint32_t kSlotBytes = kSliceBytes / kSliceSlots;
/// Slots of a channel's FIFO. A rank frees a slot only after it has sent on what was in it: with no
/// more slots than a block takes, all would wait for each other. A power of two, because counters
/// wrap.
constexpr uint32_t kFifoSlots = 16;
/// Flags of different lanes keep to lines of their own.
constexpr uint32_t kFlagWords = 32;

/// How a window's memory is cut, one for each protocol. A place is what one rank may put for one
/// lane of one exchange, on the wire; every rank's memory holds, for two alternating exchanges,
/// each lane, each room (algo::Room) and each other rank, one place. A room's places of one lane
/// take roomBytes / ranks each, rounded down to a warp's store, and without a pass of the lane's
/// threads in which few of them would have something to do: in kShapeLL128 4 ranks have 8 KiB and
/// not 9, with which an all-reduce of 4 MiB took 25.0 us instead of 27.2 and an all-to-all of 64
/// MiB 656 instead of 720; 3 ranks have 12 KiB, with which the all-to-all took 215 us at 16 MiB,
/// and 244 with 8 (4 x H200, 2026-11).
struct WindowShape {
  static constexpr uint32_t kPassBytes = 512 * 16;  ///< A 16-byte store of each thread.
  int lanes;
  uint32_t roomBytes;
  constexpr uint32_t placeBytes(int ranks) const {
    const uint32_t place = roomBytes / static_cast<uint32_t>(ranks) / 512 * 512;
    const uint32_t passes = place / kPassBytes;
    return passes > 0 && place % kPassBytes < kPassBytes / 2 ? passes * kPassBytes : place;
  }
  constexpr uint64_t bytes(int ranks) const {
    return uint64_t{2} * 2 * static_cast<uint64_t>(lanes * (ranks - 1)) * placeBytes(ranks);
  }
};
constexpr WindowShape kShapeLL{32, 32u << 10};
/// Beyond 128 lanes nothing is gained.
constexpr WindowShape kShapeLL128{128, 36u << 10};

/// Where every rank's window of one protocol is.
struct WindowView {
  uint64_t* epochs;  ///< This rank's, one a lane: the last exchange.
  uint32_t placeBytes;
  int32_t lanes;                         ///< Of the shape.
  unsigned char* base[kMaxWindowRanks];  ///< Indexed by rank.
};

/// Where every rank's flags are that it has begun an exchange.
struct HelloView {
  unsigned char* flags[kMaxWindowRanks];  ///< Indexed by rank.
};

/// A rank's hello flags: for two alternating exchanges, each lane and each source a flag.
constexpr uint64_t helloBytes(int lanes) {
  return uint64_t{2} * static_cast<uint64_t>(lanes) * kMaxWindowRanks * 8;
}

/// A first-in first-out queue per lane from one rank to another. The slots and the head live with
/// the receiver, the credit with the sender, so that each polls its own memory only. Lane l's are
/// at l x kFifoSlots x kSlotBytes and at l x kFlagWords.
struct FifoView {
  unsigned char* slots;
  uint32_t* head;    ///< Slots that have been filled.
  uint32_t* credit;  ///< Slots that have been emptied.
};

/// What all ranks of a ring tell a rank when a long call begins: see StraightRing. By the number of
/// such calls, which every word carries (packOffer()).
struct alignas(128) RingOffers {
  uint64_t offer[2][kMaxWindowRanks];  ///< Of every other call, by rank.
  uint64_t verdict[kMaxWindowRanks];   ///< By rank: whether it has found the next one's mark.
};

/// A rank's two queues round a ring.
struct RingView {
  FifoView fromPrev;
  FifoView toNext;
  uint32_t* steps;  ///< This rank's, per lane (kFlagWords apart): slots received, slots sent; of
                    ///< the first lane, calls that asked.
  RingOffers* offers[kMaxWindowRanks];  ///< Indexed by rank.
  /// By lane, what the first one has told it: 1 + where the next rank's dst is, or 1: through
  /// slots. 0 once it has heard that.
  uint64_t* decisions;
};

/// Ranks that can send to each other on a device.
constexpr int kMaxPairRanks = 16;
/// Slots of a FIFO of a pair's lane. A slot of lines is four 16-byte vectors for each of a
/// block's threads, in flight together.
constexpr uint32_t kPairSlots = 4;
constexpr uint32_t kPairSlotBytes = 16u << 10;
constexpr uint64_t kPairFifoBytes = uint64_t{kPairSlots} * kPairSlotBytes;

/// FIFOs of all pairs of a rank, in bytes: 64 lanes a pair for up to 4 ranks. With 42 of them one
/// pair moved 183 GB/s (4 x H200 over NVLink, 2026-11).
constexpr uint64_t kMostPairBytes = 12u << 20;
constexpr uint64_t kPairBytesPerLane = 128u << 10;
constexpr int kMostPairLanes = 64;

/// Lanes of each pair and direction, where a communicator has `lanes` blocks; 0: too many ranks.
constexpr int pairLanes(int ranks, int lanes) {
  const int peers = ranks - 1;
  if (ranks > kMaxPairRanks) return 0;
  const uint64_t wanted = static_cast<uint64_t>(lanes) * kPairBytesPerLane;
  const uint64_t all = wanted < kMostPairBytes ? wanted : kMostPairBytes;
  // One rank alone has copies, which take no memory.
  const uint64_t fit = peers > 0 ? all / static_cast<uint64_t>(peers) / kPairFifoBytes
                                 : static_cast<uint64_t>(lanes);
  if (fit > static_cast<uint64_t>(kMostPairLanes)) return kMostPairLanes;
  return fit < 1 ? 1 : static_cast<int>(fit);
}

/// The counters of one lane of a pair of ranks, in the memory of each of the two: what the peer
/// writes, and what the rank keeps for its own next kernel.
struct alignas(128) PairLane {
  uint64_t head;  ///< The peer's: slots that it has filled. Lines announce themselves.
  uint64_t pad0[3];
  uint64_t credit[kPairSlots];  ///< The peer's: by slot, 1 + the last block taken out of it.
  uint64_t sent;                ///< This rank's own, as its last kernel left them.
  uint64_t received;
  uint64_t pad2[6];
};

/// Where every rank keeps what the others send it, alike on all ranks: for each peer, in the order
/// of ranks without itself, `lanes` PairLanes in one place and `lanes` FIFOs in another.
struct PairView {
  int32_t lanes;
  int32_t lines;                           ///< Not 0: 128-byte lines arrive whole at every rank.
  unsigned char* fifos[kMaxPairRanks];     ///< Indexed by rank.
  unsigned char* counters[kMaxPairRanks];  ///< Indexed by rank.
};

/// Words in host memory that the kernel and the host both write.
struct FaultWords {
  uint32_t abort;  ///< The host's: not 0 ends every wait.
  uint32_t error;  ///< The kernel's: not 0 once a wait was given up.
  /// The kernel's: how long a wait takes already that is a long one, in 2^20 ns; written anew at
  /// each look, so that the host, which clears it, sees whether somebody waits still.
  uint32_t waited;
};

/// Words in the device's memory that all waits of a communicator share, so that one of them at a
/// time looks at the FaultWords. All zero at first.
struct alignas(16) FaultLook {
  uint64_t next;  ///< Not before this does anybody look, in ns of the device's clock.
  uint32_t stop;  ///< Not 0 once the FaultWords said that waits must end.
  /// What the first lane of a kernel that stands has decided (kernels/standing_call.h).
  uint64_t standing;
};

struct FaultView {
  FaultWords* words;
  uint64_t boundNs;  ///< A wait longer than this is given up; 0: no bound.
  FaultLook* look;
};

}  // namespace rondo

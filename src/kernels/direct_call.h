#pragma once
// What is written straight into a peer's own buffer: what its kernels are told. Needs no CUDA
// header.

#include <cstdint>

#include "kernels/exchange_call.h"

namespace rondo {

/// What two ranks tell each other about the large transfers of one lane, in the memory of each of
/// the two: what the peer writes, and what the rank keeps for its own next kernel.
struct alignas(64) DirectLane {
  uint64_t offer;  ///< The peer's, which receives: packOffer().
  uint64_t done;   ///< The peer's, which sends: packDone() of the last that was offered a place.
  uint64_t pad0[2];
  uint64_t sent;  ///< This rank's own: large transfers so far, as its last kernel left them.
  uint64_t received;
  uint64_t pad1[2];
};

/// Where every rank keeps them, in the order of PairView::counters.
struct DirectView {
  unsigned char* lanes[kMaxPairRanks];  ///< Indexed by rank.
};

constexpr uint64_t kOfferNumbers = 0x7fff;  ///< A number's bits in an offer.
constexpr uint64_t kOfferMarked = 0x8000;   ///< In an offer: see markOf().

/// "Transfer `number` of the lane goes to `there`", an address of the sender's; 0: through slots.
RONDO_ALGO uint64_t packOffer(uint64_t there, uint64_t number) {
  return there << 16 | (number & kOfferNumbers);
}
/// "Transfer `number` of the lane has been written there", or is refused and comes through slots.
RONDO_ALGO uint64_t packDone(uint64_t number, bool refused) {
  return number << 1 | (refused ? 1 : 0);
}
/// Addresses that an offer has room for.
constexpr bool fitsOffer(uint64_t there, uint64_t bytes) { return (there + bytes) >> 48 == 0; }

/// A transfer, and for a receive where the sender has this memory mapped; 0: nowhere. kUnasked, on
/// both ranks: it goes through slots without an offer. With kGraphPlace: as the place of that
/// index says when the kernel runs.
struct DirectPiece : TransferPiece {
  uint64_t there;
};
constexpr uint64_t kUnasked = ~uint64_t{0};
constexpr uint64_t kGraphPlace = uint64_t{1} << 63;

/// Where a peer has memory that graphs receive into. A replay asks nobody whether that is still the
/// memory behind the receive's address, so it is tried: the receiver writes a mark where the lane's
/// part begins, and a sender that does not find it refuses the offer.
struct GraphPlace {
  uint64_t way;   ///< packWay(); kNoWay: nowhere, for good; 0: nowhere yet.
  uint64_t used;  ///< Not 0 once something went there.
};
constexpr uint64_t kNoWay = 2;
RONDO_ALGO uint64_t packWay(uint64_t there, uint64_t here) { return (there - here) << 1 | 1; }
RONDO_ALGO uint64_t followWay(uint64_t way, uint64_t here) {
  return here + static_cast<uint64_t>(static_cast<int64_t>(way) >> 1);
}

/// All places, by index: what the host says and is told, in its memory, and what kernels know of
/// it, in the device's. The first lane looks at the host's words, until they say something; if all
/// did, they would wait for each other (64 lanes 55 us, H100, 2026-11).
struct GraphPlacesView {
  GraphPlace* host;
  GraphPlace* device;
};

/// What no memory holds by chance: for each transfer of each lane of each pair another one.
RONDO_ALGO uint64_t markOf(uint64_t number, int receiver, int sender, int lane) {
  uint64_t x = number << 24 ^ static_cast<uint64_t>(receiver << 16 ^ sender << 8 ^ lane);
  x += 0x9e3779b97f4a7c15;  // splitmix64's steps
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// What a launch is told on a communicator that knows memory of its ranks; the pieces follow.
struct DirectHead : ExchangeHead {
  DirectView direct;
  GraphPlacesView places;
};
template <int kPieces>
struct DirectCall : DirectHead {
  DirectPiece piece[kPieces];
};

/// Enqueues it, as launchExchange() does.
int launchDirect(const DirectHead& call, int pieces, int blocks, int threads, CUstream_st* stream,
                 const Launching& how);

/// Where all ranks tell all others that they have come: two words for each rank, kMeetingStride
/// apart, and then this rank's own count.
struct MeetingView {
  uint64_t* words[kMaxPairRanks];  ///< Indexed by rank.
};
constexpr int kMeetingStride = 16;  // a line each
constexpr uint64_t kMeetingBytes = uint64_t{kMaxPairRanks + 1} * kMeetingStride * 8;

/// Every rank's kernel ends when those of all have begun.
struct MeetingCall {
  MeetingView view;
  FaultView fault;
  int32_t rank;
  int32_t size;
  uint32_t tag;     ///< What all ranks must agree on; 24 bits count.
  int32_t compare;  ///< Not 0: where the tags differ, the fault word becomes kTagsDiffer.
};
constexpr uint32_t kTagsDiffer = 2;

/// All return a cudaError_t. The first three are allowed while `stream` captures.
int launchMeeting(const MeetingCall& call, CUstream_st* stream);
int copyOnStream(void* to, const void* from, uint64_t bytes, CUstream_st* stream);
/// Within the device, by few blocks: one copy engine does all of a stream's copies and those beside
/// them, one after the other.
int copyByKernel(void* to, const void* from, uint64_t bytes, CUstream_st* stream);
int makeStream(CUstream_st** stream);
void freeStream(CUstream_st* stream);

/// Loads the kernels into the current context, and lowers `blocksAtOnce` to what the device holds
/// of the largest at once. Returns a cudaError_t.
int loadDirect(int* blocksAtOnce, int processors);

}  // namespace rondo

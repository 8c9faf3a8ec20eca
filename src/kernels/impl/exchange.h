#pragma once
// Sends and receives inside a kernel. A pair's lane is a first-in first-out queue in the receiver's
// memory, of lines (LL128) where they arrive whole, else under the Simple protocol; its counters
// outlive the kernel.

#include "kernels/exchange_call.h"
#include "kernels/impl/direct.h"
#include "kernels/impl/exchange_lane.h"
#include "kernels/impl/wait.h"
#include "kernels/impl/window.h"
#include "kernels/prims.h"

namespace rondo {

/// Send and receive of blocks of bytes on one lane of one pair of ranks; offsets count from a
/// transfer's begin. `kAlone`: the block of threads has no other lane; each warp then goes from
/// block to block at its own pace, and there is no barrier.
template <bool kAlone, class Piece>
class PrimsPair : public algo::Primitives<PrimsPair<kAlone, Piece>> {
 public:
  using Line = ProtocolLL128<15>;

  /// `taken`: of a receiver that is alone, by slot: warps that have read it. Shared memory.
  __device__ PrimsPair(const ExchangeHead& call, const Piece* pieces, const device::Held& held,
                       uint32_t* taken);

  /// The next block of the transfer, which is not at its end.
  __device__ algo::Block block() const {
    return {done_,
            least(end_ - done_, queue_.side == algo::Side::Copies ? kCopyBlock : cut_.block)};
  }
  /// Whether move() would not wait long. The same for all threads.
  __device__ bool ready() const;
  /// Goes on to the next block; false at the transfer's end.
  __device__ bool advance();
  /// Where the lane is now, to be kept by one thread.
  __device__ void keep(device::Held* held) const;

  template <int bits>
  __device__ void move(algo::Block b, int from, int to);

  /// Whether a wait was given up. The same for all threads, or for all of a warp that is alone.
  __device__ bool gaveUp() const { return gaveUp_; }

 private:
  __device__ static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
  /// The lane's slot for the queue's next block, in the memory of `owner`.
  __device__ unsigned char* slot(int owner, int source) const;
  __device__ void settle(bool given) { gaveUp_ = kAlone ? given : __syncthreads_or(given); }

  static constexpr uint32_t kTogether = 4;  ///< Vectors of a thread in flight.
  /// Between two looks at lines of a long transfer, which others are just being stored among: one
  /// way 64 MiB took 240 us without, 230 with this (2 x H200, 2026-11), both ways the same.
  static constexpr uint32_t kPauseNs = 200;

  __device__ bool mayFill() const;
  __device__ bool waitToFill();
  using Vectors = device::Pair64[kTogether];
  __device__ void loadLines(const unsigned char* from, uint32_t bytes, uint32_t base,
                            Vectors& word) const;
  __device__ void sendLines(const unsigned char* from, uint32_t bytes);
  __device__ void recvLines(unsigned char* to, uint32_t bytes);
  __device__ static void loadSlot(const device::Pair64* from, uint32_t base, uint32_t total,
                                  Vectors& in);
  __device__ bool lookAhead();
  __device__ bool onePass() const { return cut_.block <= kTogether * blockDim.x * 15; }
  __device__ void giveBack(uint32_t vectors);
  __device__ void sendSimple(const unsigned char* from, uint32_t bytes);
  __device__ void recvSimple(unsigned char* to, uint32_t bytes);

  const ExchangeHead& call_;
  const TransferQueue& queue_;
  const Piece& piece_;
  const TransferCut cut_;
  uint32_t* const taken_;
  const int lane_;
  uint64_t slots_;
  uint64_t done_;              // where the next block of the transfer begins
  uint64_t end_;               // where the lane's part of the transfer ends
  uint64_t free_ = 0;          // slots before this one may be filled, as far as the warp knows
  PairLane* mine_ = nullptr;   // this rank's counters of the lane; nullptr: a copy
  PairLane* their_ = nullptr;  // the peer's
  // Of a block of threads that is alone, one pass of which is a whole block of bytes: what the next
  // one needs is loaded before this one is stored, so that nobody waits for memory twice.
  bool ahead_ = false;
  Vectors next_;  // of a receiver they may have come too early
  bool gaveUp_ = false;
};

#define RONDO_PAIR                    \
  template <bool kAlone, class Piece> \
  __device__ __forceinline__

RONDO_PAIR PrimsPair<kAlone, Piece>::PrimsPair(const ExchangeHead& call, const Piece* pieces,
                                               const device::Held& held, uint32_t* taken)
    : call_(call),
      queue_(call.queue[held.queue]),
      piece_(pieces[held.piece]),
      cut_(cutTransfer(call, piece_.bytes)),
      taken_(taken),
      lane_(held.lane),
      slots_(held.slots) {
  const uint64_t begin = static_cast<uint64_t>(lane_) * cut_.perLane;
  end_ = least(begin + cut_.perLane, piece_.bytes);
  done_ = begin + held.done;
  if (queue_.side == algo::Side::Copies) return;
  mine_ = device::counters(call, call.rank, queue_.peer, lane_);
  their_ = device::counters(call, queue_.peer, call.rank, lane_);
}

RONDO_PAIR unsigned char* PrimsPair<kAlone, Piece>::slot(int owner, int source) const {
  const int place = source < owner ? source : source - 1;
  const auto lane = static_cast<uint64_t>(place * call_.pairs.lanes + lane_);
  return call_.pairs.fifos[owner] + (lane * kPairSlots + slots_ % kPairSlots) * kPairSlotBytes;
}

/// The peer has emptied the slot. By the time that a warp asks, the block may have been taken out
/// already, if the warp has nothing of it.
RONDO_PAIR bool PrimsPair<kAlone, Piece>::mayFill() const {
  return device::loadAcquire(&mine_->credit[slots_ % kPairSlots]) + kPairSlots > slots_;
}

/// All threads of a warp wait until they may fill the slot, and look how many more they may fill.
/// No need to acquire: nothing of what the peer wrote is read.
RONDO_PAIR bool PrimsPair<kAlone, Piece>::waitToFill() {
  if (slots_ < free_) return true;
  const uint64_t next = slots_ + threadIdx.x % 32;
  const auto* credit =
      reinterpret_cast<const unsigned long long*>(&mine_->credit[next % kPairSlots]);
  return device::waitUntil(
      call_.fault,
      [&] {
        const bool may =
            next - slots_ < kPairSlots && device::loadRelaxed(credit) + kPairSlots > next;
        free_ = slots_ + __ffs(static_cast<int>(~__ballot_sync(~0u, may))) - 1;
        return slots_ < free_;
      },
      [](bool mine) { return Line::any(mine); });
}

RONDO_PAIR bool PrimsPair<kAlone, Piece>::ready() const {
  bool now = true;
  if (threadIdx.x == 0 && queue_.side == algo::Side::Sends) now = mayFill();
  if (threadIdx.x == 0 && queue_.side == algo::Side::Receives) {
    // the first line's flag: the sender is about to store the others
    const auto* first = reinterpret_cast<const device::Pair64*>(slot(call_.rank, queue_.peer)) + 7;
    now = call_.pairs.lines != 0 ? device::loadRelaxed(first).b == slots_ + 1
                                 : device::loadAcquire(&mine_->head) > slots_;
  }
  return __syncthreads_and(now);
}

RONDO_PAIR void PrimsPair<kAlone, Piece>::sendSimple(const unsigned char* from, uint32_t bytes) {
  bool given = false;
  if (threadIdx.x == 0) given = !device::waitUntil(call_.fault, [&] { return mayFill(); });
  gaveUp_ = __syncthreads_or(given);
  if (gaveUp_) return;
  device::copyAny(slot(queue_.peer, call_.rank), from, bytes);
  __syncthreads();
  if (threadIdx.x == 0) device::storeRelease(&their_->head, slots_ + 1);
}

RONDO_PAIR void PrimsPair<kAlone, Piece>::recvSimple(unsigned char* to, uint32_t bytes) {
  bool given = false;
  if (threadIdx.x == 0) {
    given =
        !device::waitUntil(call_.fault, [&] { return device::loadAcquire(&mine_->head) > slots_; });
  }
  gaveUp_ = __syncthreads_or(given);
  if (gaveUp_) return;
  device::copyAny(to, slot(call_.rank, queue_.peer), bytes);
  __syncthreads();
  if (threadIdx.x == 0) device::storeRelease(&their_->credit[slots_ % kPairSlots], slots_ + 1);
}

RONDO_PAIR void PrimsPair<kAlone, Piece>::loadLines(const unsigned char* from, uint32_t bytes,
                                                    uint32_t base, Vectors& word) const {
  const uint32_t total = Line::vectors((bytes + 7) / 8);
  const bool straight = device::aligned(from, 8);
#pragma unroll
  for (uint32_t u = 0; u < kTogether; ++u) {
    const uint32_t v = base + u * blockDim.x, at = 8 * Line::firstWord(v);
    if (v >= total) break;
    if (straight && at + 16 <= bytes) {
      word[u].a = __ldcg(reinterpret_cast<const unsigned long long*>(from + at));
      word[u].b = __ldcg(reinterpret_cast<const unsigned long long*>(from + at) + 1);
    } else {
      const Unit slow = device::loadSlowly(from, at, bytes);
      word[u] = {slow.a, slow.b};
    }
  }
}

// Every warp for itself: whoever sees the credit may write, and nobody has to be told. The loads of
// what is sent do not wait for it.
RONDO_PAIR void PrimsPair<kAlone, Piece>::sendLines(const unsigned char* from, uint32_t bytes) {
  auto* to = reinterpret_cast<device::Pair64*>(slot(queue_.peer, call_.rank));
  const uint32_t total = Line::vectors((bytes + 7) / 8);
  bool given = false;
  for (uint32_t base = threadIdx.x; base < total && !given; base += kTogether * blockDim.x) {
    if (!kAlone || !ahead_) loadLines(from, bytes, base, next_);
    given = !waitToFill();
#pragma unroll
    for (uint32_t u = 0; u < kTogether; ++u) {
      const uint32_t v = base + u * blockDim.x;
      if (v >= total || given) break;
      Line::together();
      const unsigned long long word[2] = {next_[u].a, next_[u].b};
      device::storeRelaxed(to + v, Line::pack(v, word, slots_ + 1));
    }
  }
  if constexpr (kAlone) {
    const uint64_t left = end_ - done_ - bytes;
    ahead_ = onePass() && left > 0;
    if (ahead_) loadLines(from + bytes, least(left, cut_.block), threadIdx.x, next_);
  }
  settle(given);
}

RONDO_PAIR void PrimsPair<kAlone, Piece>::loadSlot(const device::Pair64* from, uint32_t base,
                                                   uint32_t total, Vectors& in) {
#pragma unroll
  for (uint32_t u = 0; u < kTogether; ++u) {
    const uint32_t v = base + u * blockDim.x;
    if (v < total) in[u] = device::loadRelaxed(from + v);
  }
}

RONDO_PAIR void PrimsPair<kAlone, Piece>::recvLines(unsigned char* to, uint32_t bytes) {
  const auto* from = reinterpret_cast<const device::Pair64*>(slot(call_.rank, queue_.peer));
  const uint32_t total = Line::vectors((bytes + 7) / 8);
  const bool straight = device::aligned(to, 8);
  bool given = false;
  for (uint32_t base = threadIdx.x; base < total && !given; base += kTogether * blockDim.x) {
    Line::together();
    given = !device::waitUntil(
        call_.fault,
        [&] {
          if (!kAlone || !ahead_) loadSlot(from, base, total, next_);
          ahead_ = false;
          bool all = true;
#pragma unroll
          for (uint32_t u = 0; u < kTogether; ++u) {
            const uint32_t v = base + u * blockDim.x;
            if (v < total) all = all && Line::carries(v, next_[u], slots_ + 1);
          }
          const bool come = Line::all(all);
          if (kAlone && !come && onePass()) __nanosleep(kPauseNs);
          return come;
        },
        [](bool mine) { return Line::any(mine); });
    if (given) break;
    Vectors out;
#pragma unroll
    for (uint32_t u = 0; u < kTogether; ++u) out[u] = next_[u];
    if constexpr (kAlone) ahead_ = lookAhead();
#pragma unroll
    for (uint32_t u = 0; u < kTogether; ++u) {
      const uint32_t v = base + u * blockDim.x, at = 8 * Line::firstWord(v);
      if (v >= total) break;
      unsigned long long word[2];
      Line::unpack(out[u], word);
      if (straight && at + 16 <= bytes) {
        reinterpret_cast<unsigned long long*>(to + at)[0] = word[0];
        if (Line::has(v, 1)) reinterpret_cast<unsigned long long*>(to + at)[1] = word[1];
      } else if (at < bytes) {
        device::storeSlowly(to, at, bytes, Unit{word[0], word[1]}, Line::has(v, 1) ? 2 : 1);
      }
    }
  }
  settle(given);
  if (!gaveUp_) giveBack(total);
}

/// Loads the next slot's lines, whether they have come or not. False: there is no next one.
RONDO_PAIR bool PrimsPair<kAlone, Piece>::lookAhead() {
  const uint64_t bytes = block().count, left = end_ - done_ - bytes;
  if (!onePass() || left == 0) return false;
  ++slots_;
  const auto* next = reinterpret_cast<const device::Pair64*>(slot(call_.rank, queue_.peer));
  --slots_;
  const auto words = static_cast<uint32_t>((least(left, cut_.block) + 7) / 8);
  Line::together();
  loadSlot(next, threadIdx.x, Line::vectors(words), next_);
  return true;
}

// The slot is empty once the last of the warps that had some of its vectors has read them; the
// others may be far ahead. Nothing has to be released: a line was looked at, flag and all, before
// its reader came here. Slots have words of their own, so that it does not matter which warp writes
// which of them first.
RONDO_PAIR void PrimsPair<kAlone, Piece>::giveBack(uint32_t vectors) {
  const uint32_t at = slots_ % kPairSlots;
  bool last = threadIdx.x == 0;
  if (kAlone) {
    const uint32_t most = (vectors < blockDim.x ? vectors : blockDim.x) / 32 - 1;
    last = threadIdx.x % 32 == 0 && threadIdx.x < vectors && atomicInc(&taken_[at], most) == most;
  }
  if (last) {
    device::storeRelaxed(reinterpret_cast<unsigned long long*>(&their_->credit[at]), slots_ + 1);
  }
}

template <bool kAlone, class Piece>
template <int bits>
__device__ __forceinline__ void PrimsPair<kAlone, Piece>::move(algo::Block b, int, int) {
  const uint32_t bytes = static_cast<uint32_t>(b.count);
  unsigned char* const data = piece_.data + b.offset;
  if constexpr ((bits & algo::kSend) != 0) {
    call_.pairs.lines != 0 ? sendLines(data, bytes) : sendSimple(data, bytes);
  } else if constexpr ((bits & algo::kRecv) != 0) {
    call_.pairs.lines != 0 ? recvLines(data, bytes) : recvSimple(data, bytes);
  } else {
    device::copyAny((&piece_)[1].data + b.offset, data, bytes);
  }
}

RONDO_PAIR bool PrimsPair<kAlone, Piece>::advance() {
  done_ += block().count;
  ++slots_;
  return done_ < end_;
}

RONDO_PAIR void PrimsPair<kAlone, Piece>::keep(device::Held* held) const {
  held->done = done_ - static_cast<uint64_t>(lane_) * cut_.perLane;
  held->slots = slots_;
}

#undef RONDO_PAIR

/// All blocks of all transfers of one lane.
template <class Head, class Piece>
__device__ __forceinline__ void runAlone(const Head& call, const Piece* pieces, device::Held held,
                                         uint32_t* taken, uint64_t* told) {
  const TransferQueue& queue = call.queue[held.queue];
  const auto next = [&] {
    device::nextPiece(call, pieces, &held);
    if (held.piece >= queue.end && threadIdx.x == 0) device::finish(call, pieces, held);
  };
#pragma unroll 1
  while (held.piece < queue.end) {
    if constexpr (std::is_same_v<Piece, DirectPiece>) {
      if (device::asks(pieces, held)) {
        if (!device::waitDirect(call, pieces, &held, told)) return;
        if (held.way == device::Way::kDirect) {
          next();
          continue;
        }
      }
    }
    PrimsPair<true, Piece> prims(call, pieces, held, taken);
    do {
      algo::transferBlock(prims, queue.side, prims.block(), queue.peer);
      if (prims.gaveUp()) return;
    } while (prims.advance());
    prims.keep(&held);
    next();
  }
}

/// How long a block waits for the offer that it would rather have than others.
constexpr uint64_t kPreferNs = 20000;

/// With which of its items a block begins. Blocks begin with different peers, and those of large
/// sends stay with that for a while: if all took the offer that comes first they would all store to
/// the rank that was launched first.
template <class Head>
__device__ __forceinline__ int beginWith(const Head& call, const DirectPiece* pieces,
                                         device::Held* held, int mine) {
  int sends = 0, at = 0;
  for (int i = 0; i < mine; ++i) sends += call.queue[held[i].queue].side == algo::Side::Sends;
  if (sends == 0) return 0;
  for (int nth = static_cast<int>(blockIdx.x) % sends;; ++at) {
    if (call.queue[held[at].queue].side == algo::Side::Sends && nth-- == 0) break;
  }
  device::Held* const now = &held[at];
  const bool asks = now->piece < call.queue[now->queue].end && device::asks(pieces, *now);
  __syncthreads();  // everybody has read what changes now
  if (asks && threadIdx.x == 0) {
    const uint64_t begin = device::nanoseconds();
    while (!device::agree(call, pieces, now, false) && device::nanoseconds() - begin < kPreferNs) {
    }
  }
  __syncthreads();
  return at;
}

/// A block of threads takes its lanes of queues in turn and does for each what can be done now;
/// with one left it waits for it. So no transfer stands behind another one of a different pair or
/// direction, however few blocks there are.
template <class Head, class Piece>
__device__ __forceinline__ void runExchange(const Head& call, const Piece* pieces) {
  device::followClosely(call.close);
  __shared__ device::Held held[kMostHeld];
  __shared__ uint32_t taken[kPairSlots];
  __shared__ uint64_t told;
  const int grid = static_cast<int>(gridDim.x), first = static_cast<int>(blockIdx.x);
  const int mine = (call.items - first + grid - 1) / grid;
  if (static_cast<int>(threadIdx.x) < mine) {
    bool stopped = false;
    if constexpr (std::is_same_v<Piece, DirectPiece>) stopped = device::hasStopped(call);
    held[threadIdx.x] =
        device::openItem(call, pieces, first + static_cast<int>(threadIdx.x) * grid);
    // Offers go out before anything that takes long.
    if constexpr (std::is_same_v<Piece, DirectPiece>) {
      device::Held* const now = &held[threadIdx.x];
      const TransferQueue& queue = call.queue[now->queue];
      if (queue.side == algo::Side::Receives && now->piece < queue.end &&
          device::asks(pieces, *now)) {
        device::agree(call, pieces, now, stopped);
      }
    }
  }
  if (threadIdx.x < kPairSlots) taken[threadIdx.x] = 0;
  __syncthreads();
  uint64_t since = 0;
  uint32_t idle = 0;
  const auto mustEnd = [&] {
    if (++idle % device::kPollsPerLook != 0) return false;
    const bool given = threadIdx.x == 0 && device::mustGiveUp(call.fault, &since);
    if (given) device::noteGivenUp(call.fault);
    return __syncthreads_or(given) != 0;
  };
  const auto giveUp = [&] {
    if constexpr (std::is_same_v<Piece, DirectPiece>) {
      if (static_cast<int>(threadIdx.x) < mine) device::withdraw(call, held[threadIdx.x]);
    }
  };
  int at = 0;
  if constexpr (std::is_same_v<Piece, DirectPiece>) at = beginWith(call, pieces, held, mine);
  for (int left = mine; left > 0; at = at + 1 < mine ? at + 1 : 0) {
    device::Held* now = &held[at];
    const TransferQueue& queue = call.queue[now->queue];
    if (now->piece >= queue.end) continue;
    if (left == 1 && call.pairs.lines != 0) return runAlone(call, pieces, *now, taken, &told);
    device::Did did = device::Did::kMustStage;
    if constexpr (std::is_same_v<Piece, DirectPiece>) did = device::tryDirect(call, pieces, now);
    bool more = false;
    if (did == device::Did::kMustStage) {
      PrimsPair<false, Piece> prims(call, pieces, *now, nullptr);
      if (left > 1 && !prims.ready()) {
        if (mustEnd()) return giveUp();
        continue;
      }
      algo::transferBlock(prims, queue.side, prims.block(), queue.peer);
      if (prims.gaveUp()) return giveUp();
      more = prims.advance();
      __syncthreads();  // everybody has read what changes now
      if (threadIdx.x == 0) prims.keep(now);
    } else if (did == device::Did::kNothing) {
      if (mustEnd()) return giveUp();
      continue;
    } else {
      __syncthreads();
    }
    since = 0;
    if (threadIdx.x == 0) {
      if (!more) device::nextPiece(call, pieces, now);
      if (now->piece >= queue.end) device::finish(call, pieces, *now);
    }
    __syncthreads();
    if (now->piece >= queue.end) --left;
  }
}

}  // namespace rondo

#pragma once
// Window's bodies.

#include "kernels/impl/copy.h"
#include "kernels/impl/wait.h"
#include "kernels/prims.h"

namespace rondo {
namespace device {

/// Where a block ends before a word of 4 bytes does.
__device__ __forceinline__ uint32_t lastBytes(const unsigned char* from, ptrdiff_t left) {
  return from[0] | (left > 1 ? from[1] << 8 : 0) | (left > 2 ? from[2] << 16 : 0);
}

/// The words at byte `at` of a block of `bytes`, from any address; bytes past the block's end are
/// 0. Not inlined, as is what follows: few calls need them.
__device__ __noinline__ inline Unit loadSlowly(const unsigned char* from, uint32_t at,
                                               uint32_t bytes) {
  const unsigned char* const end = from + bytes;
  const uint32_t past = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from + at) % 4);
  const unsigned char* const base = from + at - past;
  uint32_t word[5];  // around the 16 bytes
#pragma unroll
  for (int k = 0; k < 5; ++k) {
    const ptrdiff_t left = end - (base + 4 * k);
    word[k] = 0;
    if (k == 4 && past == 0) continue;
    if (left >= 4) word[k] = *reinterpret_cast<const uint32_t*>(base + 4 * k);
    if (left > 0 && left < 4) word[k] = lastBytes(base + 4 * k, left);
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) word[k] = __funnelshift_r(word[k], word[k + 1], 8 * past);
  return Unit{word[0] | static_cast<unsigned long long>(word[1]) << 32,
              word[2] | static_cast<unsigned long long>(word[3]) << 32};
}

/// The first `count` words of u, as far as the block reaches.
__device__ __noinline__ inline void storeSlowly(unsigned char* to, uint32_t at, uint32_t bytes,
                                                Unit u, uint32_t count) {
  if (at + 8 * count <= bytes) {
    if (count != 0) storeParts(to + at, u, 8 * count);
    return;
  }
  for (uint32_t i = at; i < bytes; ++i) {
    to[i] = static_cast<unsigned char>((i - at < 8 ? u.a : u.b) >> 8 * ((i - at) % 8));
  }
}

/// Which of an owner's places another rank has.
__device__ __forceinline__ uint32_t placeOf(int owner, int source) {
  return static_cast<uint32_t>(source < owner ? source : source - 1);
}

/// Empties memory that peers have written. Nobody writes there before this rank's next exchange has
/// begun.
__device__ __noinline__ inline void scrub(Pair64* from, uint32_t vectors) {
  for (uint32_t i = threadIdx.x; i < vectors; i += blockDim.x) {
    storeRelaxed(from + i, Pair64{0, 0});
  }
  __threadfence_system();
  __syncthreads();
}

/// With few registers: what a caller has in its own it would have to put aside.
__device__ __noinline__ inline void copyBlock(unsigned char* to, const unsigned char* from,
                                              uint32_t bytes) {
  copyBetween<2>(to, from, bytes);
}

}  // namespace device

#define RONDO_WINDOW                                             \
  template <class Wire, class Reducer, int kRanks, Meets kMeets> \
  __device__ __forceinline__
#define RONDO_WINDOW_OF Window<Wire, Reducer, kRanks, kMeets>

RONDO_WINDOW RONDO_WINDOW_OF::Window(const Call& call, int lane)
    : call_(call),
      source_(call.args),
      lane_(lane),
      epoch_(static_cast<Flag>(call.window.epochs[lane])) {}

RONDO_WINDOW const unsigned char* RONDO_WINDOW_OF::src(algo::Block b) const {
  return call_.args.src + static_cast<uint64_t>(b.slot) * call_.args.srcSlot +
         b.offset * call_.args.elementBytes;
}
RONDO_WINDOW unsigned char* RONDO_WINDOW_OF::dst(algo::Block b) const {
  return call_.args.dst + static_cast<uint64_t>(b.slot) * call_.args.dstSlot +
         b.offset * call_.args.elementBytes;
}
RONDO_WINDOW uint32_t RONDO_WINDOW_OF::bytes(algo::Block b) const {
  return static_cast<uint32_t>(b.count) * call_.args.elementBytes;
}

RONDO_WINDOW device::Pair64* RONDO_WINDOW_OF::places(int owner, algo::Room room) const {
  const uint32_t lane = static_cast<uint32_t>(epoch_ & 1) * call_.window.lanes + lane_;
  const uint32_t at = (lane * 2 + static_cast<uint32_t>(room)) * (size() - 1);
  return reinterpret_cast<device::Pair64*>(call_.window.base[owner] +
                                           static_cast<uint64_t>(at) * call_.window.placeBytes);
}
RONDO_WINDOW device::Pair64* RONDO_WINDOW_OF::place(int owner, int source, algo::Room room) const {
  return places(owner, room) + device::placeOf(owner, source) * (call_.window.placeBytes / 16);
}
RONDO_WINDOW unsigned long long* RONDO_WINDOW_OF::hello(int owner, int source) const {
  const uint32_t lane = static_cast<uint32_t>(epoch_ & 1) * call_.window.lanes + lane_;
  return reinterpret_cast<unsigned long long*>(call_.hello.flags[owner]) + lane * kMaxWindowRanks +
         source;
}

// What the rank gives to a reduction. Words past the block's end, and those that a vector has no
// room for, may hold anything.
RONDO_WINDOW void RONDO_WINDOW_OF::load(const unsigned char* from, uint32_t bytes, uint32_t vector,
                                        unsigned long long (&word)[kWords]) const {
  const uint32_t at = 8 * Wire::firstWord(vector);
  if (device::aligned(from, 8) && (at + 8 * kWords <= bytes || bytes % 8 == 0)) {
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      const bool inside = at + 8 * k < bytes;
      word[k] = inside ? source_(reinterpret_cast<const unsigned long long*>(from + at)[k]) : 0;
    }
    return;
  }
  const Unit u = device::loadSlowly(from, at, bytes);
  word[0] = source_(u.a);
  if (kWords > 1) word[kWords - 1] = source_(u.b);
}

RONDO_WINDOW void RONDO_WINDOW_OF::store(unsigned char* to, uint32_t bytes, uint32_t vector,
                                         const unsigned long long (&word)[kWords]) const {
  const uint32_t at = 8 * Wire::firstWord(vector);
  if (device::aligned(to, 8) && (at + 8 * kWords <= bytes || bytes % 8 == 0)) {
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      if (Wire::has(vector, k) && at + 8 * k < bytes) {
        reinterpret_cast<unsigned long long*>(to + at)[k] = word[k];
      }
    }
    return;
  }
  uint32_t count = 0;
#pragma unroll
  for (int k = 0; k < kWords; ++k) count += Wire::has(vector, k) ? 1 : 0;
  device::storeSlowly(to, at, bytes, Unit{word[0], word[kWords - 1]}, count);
}

template <class Wire, class Reducer, int kRanks, Meets kMeets>
template <class Ready>
__device__ __forceinline__ bool RONDO_WINDOW_OF::poll(Ready ready) {
  Wire::together();
  gaveUp_ = !device::waitUntil(
      call_.args.fault, [&] { return Wire::all(ready()); },
      [](bool mine) { return Wire::any(mine); });
  return !gaveUp_;
}

RONDO_WINDOW void RONDO_WINDOW_OF::sayHello() const {
  if (threadIdx.x < size() && threadIdx.x != call_.args.rank) {
    device::storeRelaxed(hello(threadIdx.x, call_.args.rank), epoch_);
  }
}
RONDO_WINDOW void RONDO_WINDOW_OF::waitForHellos() {
  if (threadIdx.x < size() && threadIdx.x != call_.args.rank) {
    const unsigned long long* flag = hello(call_.args.rank, threadIdx.x);
    device::waitUntil(call_.args.fault, [&] { return device::loadRelaxed(flag) == epoch_; });
  }
}

RONDO_WINDOW void RONDO_WINDOW_OF::begin() {
  epoch_ = Wire::next(epoch_);
  puts_ = fetches_ = 0;  // said here, so that the compiler can count them
  if constexpr (kMeets == Meets::kByHello) sayHello();
}

RONDO_WINDOW void RONDO_WINDOW_OF::end() {
  flushPuts();
  flushFetches();
  if constexpr (kMeets == Meets::kByHello) waitForHellos();
  __syncthreads();
  if (Wire::wraps(epoch_)) {
    device::scrub(places(call_.args.rank, algo::Room::Pair),
                  2 * (size() - 1) * (call_.window.placeBytes / 16));
  }
}

RONDO_WINDOW void RONDO_WINDOW_OF::finish() {
  if (threadIdx.x == 0) call_.window.epochs[lane_] = epoch_;
}

RONDO_WINDOW void RONDO_WINDOW_OF::copy(algo::Block b) {
  if (dst(b) != src(b)) device::copyBlock(dst(b), src(b), bytes(b));
}

RONDO_WINDOW void RONDO_WINDOW_OF::putEveryone(uint32_t vector, device::Pair64 packet) const {
#pragma unroll
  for (int k = 1; k < kMost; ++k) {
    if (k >= size()) break;
    device::storeRelaxed(place(after(k), call_.args.rank, algo::Room::All) + vector, packet);
  }
}

RONDO_WINDOW void RONDO_WINDOW_OF::put(algo::Block b, int to) {
  put_[puts_++] = Piece{const_cast<unsigned char*>(src(b)),
                        place(to, call_.args.rank, algo::Room::Pair), bytes(b)};
}

RONDO_WINDOW void RONDO_WINDOW_OF::put(algo::Block b, algo::Everyone) {
  const unsigned char* from = src(b);
  const uint32_t count = bytes(b), total = vectors(count);
#pragma unroll 1
  for (uint32_t v = threadIdx.x; v < total; v += blockDim.x) {
    unsigned long long word[kWords];
    load(from, count, v, word);
    Wire::together();
    putEveryone(v, Wire::pack(v, word, epoch_));
  }
}

RONDO_WINDOW void RONDO_WINDOW_OF::flushPuts() {
  uint32_t most = 0;
#pragma unroll
  for (int k = 0; k < kMost - 1; ++k) {
    if (k < puts_ && put_[k].bytes > most) most = put_[k].bytes;
  }
  const uint32_t total = vectors(most);
#pragma unroll 1
  for (uint32_t v = threadIdx.x; v < total; v += blockDim.x) {
    unsigned long long word[kMost][kWords];
#pragma unroll
    for (int k = 0; k < kMost - 1; ++k) {
      if (k < puts_) load(put_[k].mine, put_[k].bytes, v, word[k]);
    }
    Wire::together();
#pragma unroll
    for (int k = 0; k < kMost - 1; ++k) {
      if (k < puts_ && v < vectors(put_[k].bytes)) {
        device::storeRelaxed(put_[k].place + v, Wire::pack(v, word[k], epoch_));
      }
    }
  }
  puts_ = 0;
}

RONDO_WINDOW void RONDO_WINDOW_OF::fetch(algo::Block b, int from, algo::Room room) {
  fetch_[fetches_++] = Piece{dst(b), place(call_.args.rank, from, room), bytes(b)};
}

RONDO_WINDOW void RONDO_WINDOW_OF::flushFetches() {
  uint32_t most = 0;
#pragma unroll
  for (int k = 0; k < kMost - 1; ++k) {
    if (k < fetches_ && fetch_[k].bytes > most) most = fetch_[k].bytes;
  }
  const uint32_t total = vectors(most);
#pragma unroll 1
  for (uint32_t v = threadIdx.x; v < total && !gaveUp_; v += blockDim.x) {
    device::Pair64 in[kMost];
    const bool good = poll([&] {
      bool all = true;
#pragma unroll
      for (int k = 0; k < kMost - 1; ++k) {
        if (k < fetches_ && v < vectors(fetch_[k].bytes)) {
          in[k] = device::loadRelaxed(fetch_[k].place + v);
        }
      }
#pragma unroll
      for (int k = 0; k < kMost - 1; ++k) {
        if (k < fetches_ && v < vectors(fetch_[k].bytes)) {
          all = all && Wire::carries(v, in[k], epoch_);
        }
      }
      return all;
    });
    if (!good) return;
#pragma unroll
    for (int k = 0; k < kMost - 1; ++k) {
      if (k >= fetches_) continue;
      unsigned long long word[kWords];
      Wire::unpack(in[k], word);
      store(fetch_[k].mine, fetch_[k].bytes, v, word);
    }
  }
}

// A prefix drops what the ranks from `prefix` on have put, but waits for it: they have begun, too.
template <class Wire, class Reducer, int kRanks, Meets kMeets>
template <typename RONDO_WINDOW_OF::Then kThen>
__device__ __forceinline__ void RONDO_WINDOW_OF::reduceBlock(algo::Block b, algo::Room room,
                                                             int prefix) {
  flushPuts();
  const int rank = call_.args.rank;
  const unsigned char* own = src(b);
  unsigned char* to = dst(b);
  const uint32_t count = bytes(b), total = vectors(count);
  const device::Pair64* const from = places(rank, room);
  const uint32_t stride = call_.window.placeBytes / 16;
#pragma unroll 1
  for (uint32_t v = threadIdx.x; v < total && !gaveUp_; v += blockDim.x) {
    unsigned long long mine[kWords];
    load(own, count, v, mine);
    device::Pair64 in[kMost];
    const bool good = poll([&] {
      bool all = true;
#pragma unroll
      for (int r = 0; r < kMost; ++r) {
        if (r >= size() || r == rank) continue;
        in[r] = device::loadRelaxed(from + device::placeOf(rank, r) * stride + v);
      }
#pragma unroll
      for (int r = 0; r < kMost; ++r) {
        if (r < size() && r != rank) all = all && Wire::carries(v, in[r], epoch_);
      }
      return all;
    });
    if (!good) return;
    unsigned long long word[kWords][kMost];
#pragma unroll
    for (int r = 0; r < kMost; ++r) {
      unsigned long long theirs[kWords] = {};
      if (r < size()) Wire::unpack(in[r], theirs);
#pragma unroll
      for (int k = 0; k < kWords; ++k) word[k][r] = r == rank ? mine[k] : theirs[k];
    }
    unsigned long long result[kWords];
    Reducer::reduce(call_.args.reduction, word, kThen == Then::kStorePrefix ? prefix : size(),
                    result);
    if (kThen == Then::kStorePrefix && prefix == 1) {  // bits as they are
#pragma unroll
      for (int k = 0; k < kWords; ++k) result[k] = word[k][0];
    }
    Wire::together();
    if (kThen == Then::kPublish) putEveryone(v, Wire::pack(v, result, epoch_));
    if (kThen != Then::kStorePrefix || prefix > 0) store(to, count, v, result);
  }
}

RONDO_WINDOW void RONDO_WINDOW_OF::reduce(algo::Block b, algo::Room room) {
  reduceBlock<Then::kStore>(b, room, 0);
}
RONDO_WINDOW void RONDO_WINDOW_OF::reduceRange(algo::Block b, algo::Room room, int, int hi) {
  reduceBlock<Then::kStorePrefix>(b, room, hi);
}
RONDO_WINDOW void RONDO_WINDOW_OF::reducePut(algo::Block b, algo::Room room) {
  reduceBlock<Then::kPublish>(b, room, 0);
}

#undef RONDO_WINDOW
#undef RONDO_WINDOW_OF

}  // namespace rondo

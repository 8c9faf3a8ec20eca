#pragma once
// Windows without rooms: what is put for a rank is stored where the rank has it in its dst.

#include "coll/algo/verbs.h"
#include "kernels/direct_call.h"
#include "kernels/impl/copy.h"
#include "kernels/impl/wait.h"
#include "kernels/stores_call.h"

namespace rondo {

/// All ranks meet before and after all exchanges of a call. What is put for single ranks is
/// collected until flush(), so that loads of several blocks are under way at once. kMost: ranks.
template <int kMost>
class Stores : public algo::Windows {
 public:
  __device__ Stores(const StoresCall& call, int lane)
      : call_(call), lane_(lane), epoch_(call.window.epochs[lane]) {}

  /// False, for all threads, if others called something else or the wait was given up: nothing may
  /// be written then.
  __device__ bool begin() { return meet(); }
  __device__ void end() {
    meet();
    if (threadIdx.x == 0) call_.window.epochs[lane_] = epoch_;
  }
  __device__ void flush();

  __device__ void copy(algo::Block b) {
    if (mine(b) != src(b)) add(mine(b), b);
  }
  __device__ void put(algo::Block b, int to) { add(there(to, b), b); }
  __device__ void put(algo::Block b, algo::Everyone);
  __device__ void signal(int) {}
  __device__ void wait(int, algo::Room) {}
  __device__ void fetch(algo::Block, int, algo::Room) {}

 private:
  /// Of each thread under way.
  static constexpr int kVectors = 8, kOfEach = kVectors / kMost;
  struct Piece {
    unsigned char* to;
    const unsigned char* from;
    uint32_t bytes;
  };

  __device__ const unsigned char* src(algo::Block b) const {
    return call_.args.src + static_cast<uint64_t>(b.slot) * call_.args.srcSlot + offset(b);
  }
  __device__ unsigned char* mine(algo::Block b) const {
    return call_.args.dst + static_cast<uint64_t>(b.slot) * call_.args.dstSlot + offset(b);
  }
  /// This rank's slot in `rank`'s dst.
  __device__ unsigned char* there(int rank, algo::Block b) const {
    return call_.to[rank] + static_cast<uint64_t>(call_.args.rank) * call_.args.dstSlot + offset(b);
  }
  __device__ uint64_t offset(algo::Block b) const { return b.offset * call_.args.elementBytes; }
  __device__ uint32_t bytes(algo::Block b) const {
    return static_cast<uint32_t>(b.count) * call_.args.elementBytes;
  }
  __device__ int after(int k) const {
    return call_.args.rank + k < call_.args.size ? call_.args.rank + k
                                                 : call_.args.rank + k - call_.args.size;
  }
  __device__ static bool whole(const void* a, const void* b, uint32_t bytes) {
    return (reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | bytes) % 16 == 0;
  }
  __device__ void add(unsigned char* to, algo::Block b) {
    piece_[pieces_++] = {to, src(b), bytes(b)};
  }
  __device__ bool meet();

  const StoresCall& call_;
  const int lane_;
  uint64_t epoch_;
  int pieces_ = 0;
  Piece piece_[kMost];
};

/// A word is of an exchange, whose number has 40 bits here, and of what is called.
template <int kMost>
__device__ __forceinline__ bool Stores<kMost>::meet() {
  constexpr uint64_t kNumbers = (uint64_t{1} << 40) - 1;
  ++epoch_;
  const auto peer = static_cast<int>(threadIdx.x);
  const auto flag = [&](int owner, int source) {
    const auto place = static_cast<uint32_t>(epoch_ & 1) * call_.window.lanes + lane_;
    return reinterpret_cast<uint64_t*>(call_.hello.flags[owner]) + place * kMaxWindowRanks + source;
  };
  bool given = false;
  __syncthreads();  // all of this block's stores are before those of the flags
  if (peer < call_.args.size && peer != call_.args.rank) {
    const FaultView& fault = call_.args.fault;
    const uint64_t own = (epoch_ & kNumbers) | uint64_t{call_.tag} << 40;
    device::storeRelease(flag(peer, call_.args.rank), own);
    uint64_t seen = 0;
    given = !device::waitUntil(fault, [&] {
      seen = device::loadAcquire(device::word(flag(call_.args.rank, peer)));
      return ((seen ^ own) & kNumbers) == 0;
    });
    if (!given && seen != own) {
      device::storeRelaxed(&fault.words->error, kTagsDiffer);
      given = true;
    }
  }
  return __syncthreads_or(given) == 0;
}

/// One rank after the other, which is quicker than all at once, from what is loaded once.
template <int kMost>
__device__ __forceinline__ void Stores<kMost>::put(algo::Block b, algo::Everyone) {
  const unsigned char* const from = src(b);
  const uint32_t count = bytes(b), step = 16 * blockDim.x;
  bool fast = true;
  for (int k = 1; k < call_.args.size; ++k) fast = fast && whole(from, there(after(k), b), count);
  if (!fast) {
    for (int k = 1; k < call_.args.size; ++k) device::copyLong(there(after(k), b), from, count);
    return;
  }
#pragma unroll 1
  for (uint32_t base = 16 * threadIdx.x; base < count; base += kVectors * step) {
    Unit v[kVectors];
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      if (base + u * step < count) v[u] = device::loadUnit(from + base + u * step);
    }
#pragma unroll 1
    for (int k = 1; k < call_.args.size; ++k) {
      unsigned char* const to = there(after(k), b) + base;
#pragma unroll
      for (int u = 0; u < kVectors; ++u) {
        if (base + u * step < count) device::storeUnit(to + u * step, v[u]);
      }
    }
  }
}

/// Short blocks are loaded all at once, long ones go one after the other.
template <int kMost>
__device__ __forceinline__ void Stores<kMost>::flush() {
  const uint32_t step = 16 * blockDim.x;
  bool fast = true;
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
    if (k >= pieces_) break;
    const Piece& piece = piece_[k];
    fast = fast && piece.bytes <= kOfEach * step && whole(piece.to, piece.from, piece.bytes);
  }
  if (!fast) {
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      if (k < pieces_) device::copyLong(piece_[k].to, piece_[k].from, piece_[k].bytes);
    }
    pieces_ = 0;
    return;
  }
  Unit v[kMost][kOfEach];
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
#pragma unroll
    for (int u = 0; u < kOfEach; ++u) {
      const uint32_t i = 16 * threadIdx.x + u * step;
      if (k < pieces_ && i < piece_[k].bytes) v[k][u] = device::loadUnit(piece_[k].from + i);
    }
  }
#pragma unroll
  for (int k = 0; k < kMost; ++k) {
#pragma unroll
    for (int u = 0; u < kOfEach; ++u) {
      const uint32_t i = 16 * threadIdx.x + u * step;
      if (k < pieces_ && i < piece_[k].bytes) device::storeUnit(piece_[k].to + i, v[k][u]);
    }
  }
  pieces_ = 0;
}

}  // namespace rondo

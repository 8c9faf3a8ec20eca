#include "kernels/fold.h"

#include <cuda_runtime.h>

#include "kernels/impl/enqueue.h"
#include "kernels/impl/load.h"
#include "kernels/impl/pieces.h"
#include "kernels/impl/reducers.h"

namespace rondo {
namespace {

/// What the links bring is a small part of the device's bandwidth: a quarter of an H200's
/// multiprocessors keeps up (16 blocks have 371 GB/s of an all-reduce of 1 GiB, 32 and more 375).
/// What is not isHot() takes twice as long, and what is not aligned has fewer loads under way.
/// One fits beside a waiting kernel's block, which has half of a multiprocessor's registers: others
/// wait for the sums.
constexpr int kFoldBlocks = 32;
constexpr int kFoldThreads = 512;

/// Vectors of buffers that may begin anywhere, each of them elsewhere.
struct UnitsAnywhere {
  __device__ uint32_t bytes() const { return 16; }
  __device__ Unit load(const unsigned char* from) const {
    const uint32_t shift = device::shiftOf(from);
    const device::Vectors v = device::loadAround(from, shift);
    return unitWithin(v.low, v.high, shift);
  }
  __device__ void store(unsigned char* to, Unit u) const {
    device::aligned(to, 16) ? device::storeUnit(to, u) : device::storeUnitAnywhere(to, u);
  }
};

/// Bytes [begin, end), kUnroll pieces of every buffer under way for each thread.
template <class Reducer, int kMost, int kUnroll, class Piece>
__device__ __forceinline__ void foldRange(const FoldCall& call, Piece piece, uint64_t begin,
                                          uint64_t end) {
  const uint64_t step = uint64_t{piece.bytes()} * gridDim.x * blockDim.x;
  const uint64_t mine = uint64_t{piece.bytes()} * (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x);
  for (uint64_t base = begin + mine; base < end; base += kUnroll * step) {
    unsigned long long words[kUnroll][2][kMost];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint64_t at = base + u * step;
#pragma unroll
      for (int k = 0; k < kMost; ++k) {
        const Unit unit = k < call.n && at < end ? piece.load(call.from[k] + at) : Unit{0, 0};
        words[u][0][k] = unit.a;
        words[u][1][k] = unit.b;
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint64_t at = base + u * step;
      unsigned long long out[2];
      Reducer::reduce(call.reduction, words[u], call.n, out);
      if (at < end) piece.store(call.to + at, Unit{out[0], out[1]});
    }
  }
}

template <class Reducer, int kMost>
__global__ void __launch_bounds__(kFoldThreads, 2)
    foldKernel(const __grid_constant__ FoldCall call) {
  bool aligned = device::aligned(call.to, 16);
  uint64_t whole = call.bytes / 16 * 16;  // of which no load reaches past the buffer
  for (int k = 0; k < call.n; ++k) {
    const uint32_t shift = device::shiftOf(call.from[k]);
    aligned = aligned && shift == 0;
    const uint64_t within = unitsWithin(call.bytes, shift);
    if (within < whole) whole = within;
  }
  constexpr int kAligned = 8 / kMost, kElsewhere = kMost > 4 ? 1 : 4 / kMost;
  if (aligned) {
    foldRange<Reducer, kMost, kAligned>(call, device::WholeUnits{}, 0, whole);
  } else {
    foldRange<Reducer, kMost, kElsewhere>(call, UnitsAnywhere{}, 0, whole);
  }
  foldRange<Reducer, kMost, 1>(call, device::Elements{call.elementBytes}, whole, call.bytes);
}

template <int kMost>
const void* hotOf() {
  return reinterpret_cast<const void*>(&foldKernel<HotReducer, kMost>);
}
template <int kMost>
const void* anyOf() {
  return reinterpret_cast<const void*>(&foldKernel<AnyReducer, kMost>);
}

}  // namespace

int loadFold() {
  for (const void* function : {hotOf<2>(), hotOf<4>(), hotOf<8>(), anyOf<2>(), anyOf<8>()}) {
    if (const cudaError_t error = loadKernel(function); error != cudaSuccess) {
      cudaGetLastError();
      return error;
    }
  }
  return cudaSuccess;
}

int launchFold(const FoldCall& call, CUstream_st* stream) {
  const int n = call.n;
  const bool hot = isHot(call.reduction.type, call.reduction.op);
  const void* const sums = n <= 2 ? hotOf<2>() : n <= 4 ? hotOf<4>() : hotOf<8>();
  const void* const function = hot ? sums : n <= 2 ? anyOf<2>() : anyOf<8>();
  uintptr_t addresses = reinterpret_cast<uintptr_t>(call.to);
  for (int k = 0; k < n; ++k) addresses |= reinterpret_cast<uintptr_t>(call.from[k]);
  const int blocks = (hot ? 1 : 2) * (addresses % 16 == 0 ? 1 : 4) * kFoldBlocks;
  return enqueueKernel(function, &call, blocks, kFoldThreads, stream, {});
}

}  // namespace rondo

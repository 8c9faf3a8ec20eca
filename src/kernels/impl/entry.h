#pragma once
// From an algorithm's header to a kernel.

#include "kernels/prims.h"

namespace rondo {

/// An algorithm as a type.
#define RONDO_ALGORITHM(Name, function)                                      \
  struct Name {                                                              \
    template <class Executor>                                                \
    __device__ static void run(Executor& executor, const algo::Group& group, \
                               const algo::Part& part) {                     \
      algo::function(executor, group, part);                                 \
    }                                                                        \
  }

// Two blocks a multiprocessor: several ranks or communicators may share a device.
template <class Algorithm, class Wire, class Reducer, int kRanks, Meets kMeets>
__global__ void __launch_bounds__(kBlockThreads, 2)
    windowKernel(const __grid_constant__
                 typename Window<Wire, Reducer, kRanks, kMeets>::Call call) {
  device::followClosely(call.args.close);
  Window<Wire, Reducer, kRanks, kMeets> window(call, static_cast<int>(blockIdx.x));
  const algo::Group group{call.args.rank, kRanks == 0 ? call.args.size : kRanks, call.args.root};
  forEachPart(call.args.cut, static_cast<int>(blockIdx.x), [&](const algo::Part& part) {
    window.begin();
    Algorithm::run(window, group, part);
    window.end();
  });
  window.finish();
}

/// Not inlined: it needs all registers for itself, and so do slots.
template <class Algorithm, class Reducer, uint32_t kSlots>
__device__ __noinline__ void goStraight(const RingCall& call, RingLane<kSlots, true> lane) {
  const algo::Group group{call.args.rank, call.args.size, call.args.root};
  PrimsStraight<Reducer, kSlots> prims(call, lane);
  prims.forEachPart(static_cast<int>(blockIdx.x),
                    [&](const algo::Part& part) { Algorithm::run(prims, group, part); });
  lane.finish();
}

template <class Algorithm, class Reducer, uint32_t kSlots, bool kAnywhere, bool kStraight>
__global__ void __launch_bounds__(kRingThreads, 2)
    ringKernel(const __grid_constant__ RingCall call) {
  device::followClosely(call.args.close);
  __shared__ RingDesk desk;
  RingLane<kSlots, kStraight> lane(call, static_cast<int>(blockIdx.x), &desk);
  if (!lane.works()) return lane.serve();
  if constexpr (kStraight && !kAnywhere) {
    if (lane.next() != nullptr) return goStraight<Algorithm, Reducer, kSlots>(call, lane);
  }
  const algo::Group group{call.args.rank, call.args.size, call.args.root};
  PrimsSimple<Reducer, kSlots, kAnywhere, kStraight> prims(call, lane);
  forEachPart(call.args.cut, static_cast<int>(blockIdx.x),
              [&](const algo::Part& part) { Algorithm::run(prims, group, part); });
  lane.finish();
}

template <class Reducer>
constexpr Reduces kReducesOf = Reduces::kNothing;
template <>
constexpr Reduces kReducesOf<HotReducer> = Reduces::kHot;
template <>
constexpr Reduces kReducesOf<AnyReducer> = Reduces::kAll;
template <>
constexpr Reduces kReducesOf<ScaledReducer> = Reduces::kScaled;

template <class Wire>
constexpr Protocol kProtocolOf = Protocol::kLL128;
template <>
constexpr Protocol kProtocolOf<ProtocolLL> = Protocol::kLL;

template <class Algorithm, class Wire, class Reducer, int kRanks = 0, Meets kMeets = Meets::kByData>
Kernel windowRow(const char* collective, const char* algorithm) {
  return {collective,
          algorithm,
          kProtocolOf<Wire>,
          kReducesOf<Reducer>,
          kRanks,
          kBlockThreads,
          reinterpret_cast<const void*>(&windowKernel<Algorithm, Wire, Reducer, kRanks, kMeets>)};
}

/// `kSlots`: of a slice. kStraight: long calls may go straight.
template <class Algorithm, class Reducer, uint32_t kSlots = kSliceSlots, bool kStraight = false>
Kernel ringRow(const char* collective, const char* algorithm = "ring") {
  return {collective,
          algorithm,
          Protocol::kSimple,
          kReducesOf<Reducer>,
          0,
          kRingThreads,
          reinterpret_cast<const void*>(&ringKernel<Algorithm, Reducer, kSlots, false, kStraight>),
          nullptr,
          reinterpret_cast<const void*>(&ringKernel<Algorithm, Reducer, kSlots, true, kStraight>),
          kStraight};
}

template <class Algorithm, class Reducer>
Kernel straightRow(const char* collective) {
  return ringRow<Algorithm, Reducer, kSliceSlots, true>(collective);
}

/// A pipeline along all ranks.
template <class Algorithm, class Reducer, bool kStraight = false>
Kernel chainRow(const char* collective, const char* algorithm = "ring") {
  return ringRow<Algorithm, Reducer, 1, kStraight>(collective, algorithm);
}
/// The same of two ranks, where nobody waits for what a rank between passes on: longer slices.
template <class Algorithm, class Reducer, bool kStraight = false>
Kernel pairRow(const char* collective) {
  Kernel row = ringRow<Algorithm, Reducer, kSliceSlots, kStraight>(collective);
  row.ranks = 2;
  return row;
}

// The parts of the list; one file each, so that they compile side by side.
std::vector<Kernel> allReduceKernels();
std::vector<Kernel> windowKernels();
std::vector<Kernel> rankedKernels();
std::vector<Kernel> ringKernels();
std::vector<Kernel> scanKernels();
std::vector<Kernel> scaledKernels();
std::vector<Kernel> jointKernels();

}  // namespace rondo

// The one list of kernels. A row here makes a kernel of an algorithm's header; nothing else does.

#include "api/rondo.h"
#include "coll/algo/ring.h"
#include "coll/algo/window.h"
#include "kernels/prims.h"

namespace rondo {
namespace {

// Two blocks a multiprocessor: several ranks or communicators may share a device.
template <int kRanks>
__global__ void __launch_bounds__(kBlockThreads, 2)
    allReduceOneShotKernel(const __grid_constant__ WindowCall call) {
  WindowLL<kRanks> window(call, static_cast<int>(blockIdx.x));
  const algo::Group group{call.rank, kRanks, 0};
  forEachPart(call.cut, static_cast<int>(blockIdx.x), [&](const algo::Part& part) {
    window.begin();
    algo::allReduceOneShot(window, group, part);
    window.end();
  });
  window.finish();
}

__global__ void __launch_bounds__(kBlockThreads, 2)
    allReduceRingKernel(const __grid_constant__ RingCall call) {
  PrimsSimple prims(call, static_cast<int>(blockIdx.x));
  const algo::Group group{call.rank, call.size, 0};
  forEachPart(call.cut, static_cast<int>(blockIdx.x),
              [&](const algo::Part& part) { algo::allReduceRing(prims, group, part); });
  prims.finish();
}

template <int kRanks>
Kernel oneShot() {
  return {"allreduce",
          "oneshot",
          "LL",
          kRanks,
          rondoFloat32,
          rondoSum,
          reinterpret_cast<const void*>(&allReduceOneShotKernel<kRanks>)};
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> rows = {
      oneShot<2>(),
      oneShot<3>(),
      oneShot<4>(),
      oneShot<5>(),
      oneShot<6>(),
      oneShot<7>(),
      oneShot<8>(),
      {"allreduce", "ring", "Simple", 0, rondoFloat32, rondoSum,
       reinterpret_cast<const void*>(&allReduceRingKernel)},
  };
  return rows;
}

}  // namespace rondo

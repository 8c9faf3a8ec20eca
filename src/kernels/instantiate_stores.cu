// All-gathers and all-to-alls into memory that every rank reaches.

#include <cuda_runtime.h>

#include "coll/algo/window_slots.h"
#include "kernels/cut.h"
#include "kernels/impl/enqueue.h"
#include "kernels/impl/entry.h"
#include "kernels/impl/load.h"
#include "kernels/impl/stores.h"

namespace rondo {
namespace {

RONDO_ALGORITHM(AllGather, allGatherDirect);
RONDO_ALGORITHM(AllToAll, allToAllDirect);

template <class Algorithm, int kMost>
__global__ void __launch_bounds__(kStoreThreads, 2)
    storesKernel(const __grid_constant__ StoresCall call) {
  device::followClosely(call.args.close);
  const auto lane = static_cast<int>(blockIdx.x);
  Stores<kMost> stores(call, lane);
  if (!stores.begin()) return;
  const algo::Group group{call.args.rank, call.args.size, call.args.root};
  forEachPart(call.args.cut, lane, [&](const algo::Part& part) {
    Algorithm::run(stores, group, part);
    stores.flush();
  });
  stores.end();
}

template <class Algorithm>
const void* kernelOf(int ranks) {
  if (ranks <= 2) return reinterpret_cast<const void*>(&storesKernel<Algorithm, 2>);
  if (ranks <= 4) return reinterpret_cast<const void*>(&storesKernel<Algorithm, 4>);
  return reinterpret_cast<const void*>(&storesKernel<Algorithm, kMaxWindowRanks>);
}

}  // namespace

int launchStores(bool allToAll, const StoresCall& call, int lanes, CUstream_st* stream,
                 const Launching& how) {
  const void* const kernel =
      allToAll ? kernelOf<AllToAll>(call.args.size) : kernelOf<AllGather>(call.args.size);
  return enqueueKernel(kernel, &call, lanes, kStoreThreads, stream, how);
}

int loadStores(int ranks) {
  for (const void* function : {kernelOf<AllGather>(ranks), kernelOf<AllToAll>(ranks)}) {
    if (const cudaError_t error = loadKernel(function); error != cudaSuccess) {
      cudaGetLastError();
      return error;
    }
  }
  return cudaSuccess;
}

}  // namespace rondo

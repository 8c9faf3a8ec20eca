// What NCCL's interface adds to a call of Rondo's: the same all-reduce of one element on a
// communicator of one rank, through both. `make benchmarks/nccl_cost`; needs no GPU.

#include <benchmark/benchmark.h>

#include "api/rondo.h"
#include "drop_in/nccl/abi.h"

extern "C" {
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclCommDestroy(ncclComm_t comm);
}

namespace {

void through(benchmark::State& state, bool grouped) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  if (ncclGetUniqueId(&id) != ncclSuccess || ncclCommInitRank(&comm, 1, id, 0) != ncclSuccess) {
    return state.SkipWithError("no communicator");
  }
  float in = 1, out = 0;
  for (auto _ : state) {
    if (grouped) ncclGroupStart();
    if (ncclAllReduce(&in, &out, 1, rondoFloat32, rondoSum, comm, nullptr) != ncclSuccess) {
      state.SkipWithError("the call failed");
      break;
    }
    if (grouped) ncclGroupEnd();
  }
  ncclCommDestroy(comm);
}

void direct(benchmark::State& state, bool grouped) {
  rondoComm_t comm = nullptr;
  const int device = RONDO_DEVICE_NONE;
  if (rondoCommInitAll(&comm, 1, &device, nullptr) != rondoSuccess) {
    return state.SkipWithError(rondoGetLastError(nullptr));
  }
  float in = 1, out = 0;
  for (auto _ : state) {
    if (grouped) rondoGroupStart();
    if (rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, comm, nullptr) != rondoSuccess) {
      state.SkipWithError(rondoGetLastError(nullptr));
      break;
    }
    if (grouped) rondoGroupEnd();
  }
  rondoCommDestroy(comm);
}

BENCHMARK_CAPTURE(direct, call, false);
BENCHMARK_CAPTURE(through, call, false);
BENCHMARK_CAPTURE(direct, group, true);
BENCHMARK_CAPTURE(through, group, true);

}  // namespace

BENCHMARK_MAIN();

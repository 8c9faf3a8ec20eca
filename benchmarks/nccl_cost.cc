// What NCCL's interface adds to a call of Rondo's: the same calls of one element on a communicator
// of one rank, through both: an all-reduce, a group of one, a group of a send to itself and its
// receive, an all-gather. `make benchmarks/nccl_cost`; needs no GPU, and where there is one has the
// same all-reduce on a stream of it, in place, so that no copy hides what the interface does.

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <benchmark/benchmark.h>
#ifdef HAVE_CUDA
#include <cuda_runtime.h>
#endif

#include <chrono>

#include "api/rondo.h"
#include "drop_in/nccl/abi.h"

extern "C" {
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclCommDestroy(ncclComm_t comm);
}

namespace {

float in = 1, out = 0;

void through(benchmark::State& state, ncclResult_t (*call)(ncclComm_t)) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  if (ncclGetUniqueId(&id) != ncclSuccess || ncclCommInitRank(&comm, 1, id, 0) != ncclSuccess) {
    return state.SkipWithError("no communicator");
  }
  for (auto _ : state) {
    if (call(comm) == ncclSuccess) continue;
    state.SkipWithError("the call failed");
    break;
  }
  ncclCommDestroy(comm);
}

void direct(benchmark::State& state, rondoResult_t (*call)(rondoComm_t)) {
  rondoComm_t comm = nullptr;
  const int device = RONDO_DEVICE_NONE;
  if (rondoCommInitAll(&comm, 1, &device, nullptr) != rondoSuccess) {
    return state.SkipWithError(rondoGetLastError(nullptr));
  }
  for (auto _ : state) {
    if (call(comm) == rondoSuccess) continue;
    state.SkipWithError(rondoGetLastError(nullptr));
    break;
  }
  rondoCommDestroy(comm);
}

ncclResult_t sum(ncclComm_t comm) {
  return ncclAllReduce(&in, &out, 1, rondoFloat32, rondoSum, comm, nullptr);
}
rondoResult_t sum(rondoComm_t comm) {
  return rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, comm, nullptr);
}
ncclResult_t gather(ncclComm_t comm) {
  return ncclAllGather(&in, &out, 1, rondoFloat32, comm, nullptr);
}
rondoResult_t gather(rondoComm_t comm) {
  return rondoAllGather(&in, &out, 1, rondoFloat32, comm, nullptr);
}
ncclResult_t group(ncclComm_t comm) {
  ncclGroupStart();
  sum(comm);
  return ncclGroupEnd();
}
rondoResult_t group(rondoComm_t comm) {
  rondoGroupStart();
  sum(comm);
  return rondoGroupEnd();
}
ncclResult_t messages(ncclComm_t comm) {
  ncclGroupStart();
  ncclSend(&in, 1, rondoFloat32, 0, comm, nullptr);
  ncclRecv(&out, 1, rondoFloat32, 0, comm, nullptr);
  return ncclGroupEnd();
}
rondoResult_t messages(rondoComm_t comm) {
  rondoGroupStart();
  rondoSend(&in, 1, rondoFloat32, 0, comm, nullptr);
  rondoRecv(&out, 1, rondoFloat32, 0, comm, nullptr);
  return rondoGroupEnd();
}

BENCHMARK_CAPTURE(direct, call, sum);
BENCHMARK_CAPTURE(through, call, sum);
BENCHMARK_CAPTURE(direct, gather, gather);
BENCHMARK_CAPTURE(through, gather, gather);
BENCHMARK_CAPTURE(direct, group, group);
BENCHMARK_CAPTURE(through, group, group);
BENCHMARK_CAPTURE(direct, messages, messages);
BENCHMARK_CAPTURE(through, messages, messages);

#ifdef HAVE_CUDA
/// A GPU's stream, and a number of its memory.
struct Gpu {
  Gpu() {
    there = cudaMalloc(&data, sizeof(float)) == cudaSuccess &&
            cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  }
  ~Gpu() {
    if (stream != nullptr) cudaStreamDestroy(stream);
    cudaFree(data);
  }
  float* data = nullptr;
  cudaStream_t stream = nullptr;
  bool there = false;
};

/// `launch` enqueues one call and says whether it could. What is timed are 16 of them; an iteration
/// is one.
template <class Launch>
void launches(benchmark::State& state, const Gpu& gpu, Launch launch) {
  constexpr int kRow = 16;
  for (auto _ : state) {
    bool good = true;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRow; ++i) good = launch() && good;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count() / kRow);
    if (good && cudaStreamSynchronize(gpu.stream) == cudaSuccess) continue;
    state.SkipWithError("a launch failed");
    break;
  }
}

void directLaunch(benchmark::State& state) {
  const Gpu gpu;
  rondoComm_t comm = nullptr;
  const int device = 0;
  if (!gpu.there) return state.SkipWithError("no GPU");
  if (rondoCommInitAll(&comm, 1, &device, nullptr) != rondoSuccess) {
    return state.SkipWithError(rondoGetLastError(nullptr));
  }
  launches(state, gpu, [&] {
    return rondoAllReduce(gpu.data, gpu.data, 1, rondoFloat32, rondoSum, comm, gpu.stream) ==
           rondoSuccess;
  });
  rondoCommDestroy(comm);
}

void throughLaunch(benchmark::State& state) {
  const Gpu gpu;
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  if (!gpu.there) return state.SkipWithError("no GPU");
  if (ncclGetUniqueId(&id) != ncclSuccess || ncclCommInitRank(&comm, 1, id, 0) != ncclSuccess) {
    return state.SkipWithError("no communicator");
  }
  launches(state, gpu, [&] {
    return ncclAllReduce(gpu.data, gpu.data, 1, rondoFloat32, rondoSum, comm, gpu.stream) ==
           ncclSuccess;
  });
  ncclCommDestroy(comm);
}

BENCHMARK(directLaunch)->UseManualTime()->MinTime(0.1);
BENCHMARK(throughLaunch)->UseManualTime()->MinTime(0.1);
#endif

}  // namespace

BENCHMARK_MAIN();

// Sends and receives: one kernel, for few arguments, many, and the most that a launch takes.

#include <cuda_runtime.h>

#include "kernels/impl/enqueue.h"
#include "kernels/impl/exchange.h"

namespace rondo {
namespace {

template <int kPieces>
__global__ void __launch_bounds__(kExchangeThreads, 2)
    exchangeKernel(const __grid_constant__ ExchangeCall<kPieces> call) {
  runExchange(call, call.piece);
}

}  // namespace

ExchangeKernels exchangeKernels() {
  return {{reinterpret_cast<const void*>(&exchangeKernel<kFewPieces>),
           reinterpret_cast<const void*>(&exchangeKernel<kManyPieces>),
           reinterpret_cast<const void*>(&exchangeKernel<kMostPieces>)}};
}

int launchExchange(const ExchangeHead& call, int pieces, int blocks, int threads,
                   CUstream_st* stream, const Launching& how) {
  const int which = pieces <= kFewPieces ? 0 : pieces <= kManyPieces ? 1 : 2;
  return enqueueKernel(exchangeKernels().function[which], &call, blocks, threads, stream, how);
}

int orderStreams(CUstream_st* first, CUstream_st* later, CUevent_st* event) {
  cudaError_t error = cudaEventRecord(event, first);
  if (error == cudaSuccess) error = cudaStreamWaitEvent(later, event, 0);
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

int makeEvent(CUevent_st** event) {
  const cudaError_t error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

void freeEvent(CUevent_st* event) {
  if (event != nullptr && cudaEventDestroy(event) != cudaSuccess) cudaGetLastError();
}

}  // namespace rondo

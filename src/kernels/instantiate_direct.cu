// Transfers on communicators that know memory of their ranks, and meetings of all ranks around what
// copy engines do.

#include <cuda_runtime.h>

#include "kernels/impl/exchange.h"

namespace rondo {
namespace {

template <int kPieces>
__global__ void __launch_bounds__(kExchangeThreads, 2)
    directKernel(const __grid_constant__ DirectCall<kPieces> call) {
  runExchange(static_cast<const DirectHead&>(call), call.piece);
}

/// Thread t is about rank t. A word counts meetings above its tag.
__global__ void meetingKernel(const __grid_constant__ MeetingCall call) {
  const auto peer = static_cast<int>(threadIdx.x);
  uint64_t* const own = call.view.words[call.rank];
  uint64_t* const count = own + kMaxPairRanks * kMeetingStride;
  const uint64_t number = (*count >> 24) + 1;
  bool given = false;
  if (peer < call.size && peer != call.rank) {
    device::storeRelease(call.view.words[peer] + call.rank * kMeetingStride,
                         number << 24 | call.tag);
    uint64_t word = 0;
    given = !device::waitUntil(call.fault, [&] {
      word = device::loadAcquire(own + peer * kMeetingStride);
      return static_cast<int64_t>((word >> 24) - number << 24) >= 0;  // a peer may be one ahead
    });
    if (!given && call.compare != 0 && (word & 0xffffff) != call.tag) {
      device::storeRelaxed(&call.fault.words->error, kTagsDiffer);
    }
  }
  if (!__syncthreads_or(given) && peer == 0) *count = number << 24;
}

/// Errors are reported by their code, so they must not turn up at the caller's next check.
int reported(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

const void* directFunction(int pieces) {
  return pieces <= kFewPieces ? reinterpret_cast<const void*>(&directKernel<kFewPieces>)
                              : reinterpret_cast<const void*>(&directKernel<kMostPieces>);
}

}  // namespace

int launchDirect(const DirectHead& call, int pieces, int blocks, int threads, CUstream_st* stream) {
  void* arguments[] = {const_cast<DirectHead*>(&call)};
  return reported(cudaLaunchKernel(directFunction(pieces), dim3(static_cast<unsigned>(blocks)),
                                   dim3(static_cast<unsigned>(threads)), arguments, 0, stream));
}

int launchMeeting(const MeetingCall& call, CUstream_st* stream) {
  void* arguments[] = {const_cast<MeetingCall*>(&call)};
  return reported(cudaLaunchKernel(reinterpret_cast<const void*>(&meetingKernel), dim3(1), dim3(32),
                                   arguments, 0, stream));
}

int copyOnStream(void* to, const void* from, uint64_t bytes, CUstream_st* stream) {
  return reported(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

int makeStream(CUstream_st** stream) {
  return reported(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
}

void freeStream(CUstream_st* stream) {
  if (stream != nullptr) reported(cudaStreamDestroy(stream));
}

int loadDirect(int* blocksAtOnce, int processors) {
  for (const void* function : {directFunction(kFewPieces), directFunction(kMostPieces),
                               reinterpret_cast<const void*>(&meetingKernel)}) {
    cudaFuncAttributes attributes;
    int perProcessor = 0;
    cudaError_t error = cudaFuncGetAttributes(&attributes, function);
    if (error == cudaSuccess) {
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perProcessor, function,
                                                            kExchangeThreads, 0);
    }
    if (error != cudaSuccess) return reported(error);
    if (perProcessor * processors < *blocksAtOnce) *blocksAtOnce = perProcessor * processors;
  }
  return cudaSuccess;
}

}  // namespace rondo

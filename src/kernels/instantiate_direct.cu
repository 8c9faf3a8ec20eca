// Transfers on communicators that know memory of their ranks, and meetings of all ranks around what
// copy engines do.

#include <cuda_runtime.h>

#include "kernels/impl/enqueue.h"
#include "kernels/impl/exchange.h"
#include "kernels/impl/load.h"

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
    // Words of two meetings alternate: who has ended this one may be at the next, and no further.
    const uint64_t turn = number % 2;
    device::storeRelease(call.view.words[peer] + call.rank * kMeetingStride + turn,
                         number << 24 | call.tag);
    uint64_t word = 0;
    const auto come = [&] {
      word = device::loadAcquire(own + peer * kMeetingStride + turn);
      return word >> 24 == (number & 0xffffffffff);
    };
    // A wait that is given up would hide what the first meeting found.
    given = call.compare == 0 && device::loadRelaxed(&call.fault.words->error) == kTagsDiffer;
    if (!given) given = !device::waitUntil(call.fault, come);
    if (!given && call.compare != 0 && (word & 0xffffff) != call.tag) {
      device::storeRelaxed(&call.fault.words->error, kTagsDiffer);
    }
  }
  if (!__syncthreads_or(given) && peer == 0) *count = number << 24;
}

// So that one fits beside a waiting kernel's block, which has half of a multiprocessor's registers:
// others wait for what it copies.
constexpr unsigned kCopyBlocks = 64;
constexpr unsigned kCopyThreads = 256;

__global__ void __launch_bounds__(kCopyThreads, 2)
    copyKernel(unsigned char* to, const unsigned char* from, uint64_t bytes) {
  const uint64_t part = divideUp(divideUp(bytes, gridDim.x), 512) * 512;
  const uint64_t begin = part * blockIdx.x;
  if (begin >= bytes) return;
  device::copyLong(to + begin, from + begin, bytes - begin < part ? bytes - begin : part);
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

int launchDirect(const DirectHead& call, int pieces, int blocks, int threads, CUstream_st* stream,
                 const Launching& how) {
  return enqueueKernel(directFunction(pieces), &call, blocks, threads, stream, how);
}

int launchMeeting(const MeetingCall& call, CUstream_st* stream) {
  return enqueueKernel(reinterpret_cast<const void*>(&meetingKernel), &call, 1, 32, stream, {});
}

int copyOnStream(void* to, const void* from, uint64_t bytes, CUstream_st* stream) {
  return reported(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
}

int copyByKernel(void* to, const void* from, uint64_t bytes, CUstream_st* stream) {
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  void* arguments[] = {&target, &source, &bytes};
  return reported(cudaLaunchKernel(reinterpret_cast<const void*>(&copyKernel), dim3(kCopyBlocks),
                                   dim3(kCopyThreads), arguments, 0, stream));
}

int makeStream(CUstream_st** stream) {
  return reported(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
}

void freeStream(CUstream_st* stream) {
  if (stream != nullptr) reported(cudaStreamDestroy(stream));
}

int loadDirect(int* blocksAtOnce, int processors) {
  for (const void* function : {directFunction(kFewPieces), directFunction(kMostPieces),
                               reinterpret_cast<const void*>(&meetingKernel),
                               reinterpret_cast<const void*>(&copyKernel)}) {
    int perProcessor = 1 << 16;
    cudaError_t error = loadKernel(function);
    // what waits for nobody may share the device with anything
    if (error == cudaSuccess && function != reinterpret_cast<const void*>(&copyKernel)) {
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perProcessor, function,
                                                            kExchangeThreads, 0);
    }
    if (error != cudaSuccess) return reported(error);
    if (perProcessor * processors < *blocksAtOnce) *blocksAtOnce = perProcessor * processors;
  }
  return cudaSuccess;
}

}  // namespace rondo

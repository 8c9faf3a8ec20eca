#pragma once
// The kernels as the host sees them: a table, and how to load and launch its rows. Needs no CUDA
// header.

#include <cstdint>
#include <vector>

#include "kernels/cut.h"
#include "p2p/channel_view.h"

struct CUstream_st;

namespace rondo {

/// A CUDA block is a lane, and has at most this many threads.
constexpr int kBlockThreads = 512;

/// The argument of a window kernel.
struct WindowCall {
  const float* src;
  float* dst;
  int rank;
  Cut cut;
  WindowView window;
  FaultView fault;
};

/// The argument of a ring kernel.
struct RingCall {
  const float* src;
  float* dst;
  int rank;
  int size;
  Cut cut;
  RingView ring;
  FaultView fault;
};

/// One instantiated kernel. `algorithm` names the registry's row whose header it is made of.
struct Kernel {
  const char* collective;
  const char* algorithm;
  const char* protocol;
  int ranks;     ///< The number of ranks it is for; 0: any.
  int32_t type;  ///< rondoDataType_t
  int32_t op;    ///< rondoRedOp_t
  const void* function;
};

/// All kernels there are (instantiate.cu).
const std::vector<Kernel>& kernels();

/// nullptr if there is none.
const Kernel* findKernel(const char* collective, const char* algorithm, int ranks, int32_t type,
                         int32_t op);

/// Loads every kernel into the current context, so that no launch has to, and says how many blocks
/// of kBlockThreads threads of any of them the device holds at once. Returns a cudaError_t.
int loadKernels(int* blocksAtOnce);

/// Enqueues `kernel` with its one argument. Allowed while `stream` captures. Returns a cudaError_t.
int launchKernel(const Kernel& kernel, const void* call, int blocks, int threads,
                 CUstream_st* stream);

const char* cudaErrorName(int error);
const char* cudaErrorText(int error);

}  // namespace rondo

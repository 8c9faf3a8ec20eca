#pragma once
// Streams for ranks that share a GPU.

#include <cuda_runtime.h>

namespace rondo::test {

/// A stream that has been used once. The first launch on a stream may wait until kernels that run
/// have ended (seen with CUDA 13.0 on an H200: four threads whose kernels wait for each other stood
/// still in 30 of 297 rounds on streams that had not been used, in none of 18,000 on others), and
/// those may wait for this one. No rank's kernel may wait meanwhile.
inline cudaError_t makeFreshStream(cudaStream_t* stream) {
  void* word = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) error = cudaMalloc(&word, 4);
  if (error == cudaSuccess) error = cudaMemsetAsync(word, 0, 4, *stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(*stream);
  if (error == cudaSuccess) error = cudaFree(word);
  return error;
}

}  // namespace rondo::test

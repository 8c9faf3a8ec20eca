#pragma once
// Functions of the driver's, looked up at run time: no library of it is linked.

#include <cuda_runtime.h>

namespace rondo {

/// The driver's function `name` as these headers declare it, there since CUDA `since` (12000 is
/// 12.0); nullptr: it has none.
template <class Function>
Function driversOwn(const char* name, [[maybe_unused]] unsigned since) {
  void* found = nullptr;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return reinterpret_cast<Function>(error == cudaSuccess ? found : nullptr);
}

}  // namespace rondo

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "api/rondo_types.h"
#include "base/error.h"
#include "coll/device_error.h"
#include "kernels/launch.h"

namespace rondo {

void throwCuda(const CudaDevice& device, const std::string& what, int error) {
  if (error == 0) return;
  throw Error(rondoUnhandledCudaError,
              format("%s on device %d: %s (%s)", what.c_str(), device.ordinal(),
                     cudaErrorName(error), cudaErrorText(error)));
}

void checkStream(const CudaDevice& device, const char* name, CUstream_st* stream) {
  const std::string fault = streamFault(device, stream);
  if (fault.empty()) [[likely]]
    return;
  throw Error(rondoInvalidArgument, format("%s: launching a kernel: %s", name, fault.c_str()));
}

}  // namespace rondo

#endif  // HAVE_CUDA

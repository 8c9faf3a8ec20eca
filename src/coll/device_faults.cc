#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_faults.h"

#include "base/error.h"
#include "kernels/direct_call.h"

namespace rondo {

void DeviceFaults::check() const {
  if (word(&FaultWords::abort).load(std::memory_order_relaxed) != 0) {
    throw Error(rondoRemoteError, "the communicator was aborted; its device kernels have ended");
  }
  const uint32_t error = word(&FaultWords::error).load(std::memory_order_relaxed);
  if (error == kTagsDiffer) {
    throw Error(rondoMismatch,
                "ranks gave recvbuff at different places of memory registered with "
                "RONDO_REGISTER_COPY_ENGINES or as a window, or made different calls; what such a "
                "call wrote is not "
                "to be used");
  }
  if (error != 0) {
    throw Error(rondoRemoteError,
                format("a device collective of rank %d of %d waited more than %llu ms "
                       "(RONDO_SPIN_BOUND_MS) for a peer and was given up",
                       shown_.rank, shown_.size, static_cast<unsigned long long>(spinBoundMs_)));
  }
}

}  // namespace rondo

#endif  // HAVE_CUDA

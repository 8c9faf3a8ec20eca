// Builds without libxml2's headers have no machines to rehearse on.

#include "api/comm_create.h"
#include "api/rondo_virtual.h"
#include "api/virtual_comm.h"

namespace rondo {

// Nobody has a virtual communicator here, and so nobody calls these.
rondoResult_t splitVirtual(rondoComm*, int, int, rondoComm_t*, const rondoConfig_t*) {
  return rondoInternalError;
}
rondoResult_t dupVirtual(rondoComm*, rondoComm_t*, const rondoConfig_t*) {
  return rondoInternalError;
}
rondoComm_t shrinkVirtual(rondoComm*, const std::vector<int>&, const rondoConfig_t*) {
  return nullptr;
}
rondoComm_t growVirtual(rondoComm*, int, const rondoConfig_t*) { return nullptr; }

}  // namespace rondo

rondoResult_t rondoCommInitVirtual(rondoComm_t*, const char*, int, int,
                                   const rondoVirtualConfig_t*) {
  return rondo::fail(nullptr, rondoUnsupported,
                     "rondoCommInitVirtual: this build has no topologies; allowed: one that was "
                     "configured where libxml2's headers are");
}

rondoResult_t rondoCommSplitVirtual(rondoComm_t comm, const char*, rondoComm_t*,
                                    const rondoConfig_t*) {
  return rondo::fail(comm, rondoInvalidUsage,
                     "rondoCommSplitVirtual: the communicator is not virtual; allowed: one of "
                     "rondoCommInitVirtual");
}

rondoResult_t rondoCommGetPrediction(rondoComm_t comm, rondoPrediction_t*) {
  return rondo::fail(comm, rondoInvalidUsage,
                     "rondoCommGetPrediction: the communicator is not virtual; allowed: one of "
                     "rondoCommInitVirtual");
}

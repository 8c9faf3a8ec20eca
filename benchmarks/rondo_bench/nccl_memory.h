#pragma once
// Device memory that NCCL has made, and registered as a symmetric window.

#include "device.h"
#include "peer_nccl.h"

namespace rondo::bench {

/// All ranks allocate and release blocks of the same lengths in the same order.
class NcclMemory : public DeviceMemory {
 public:
  NcclMemory(const Device& device, rondoComm_t comm, int flags, Nccl& nccl)
      : DeviceMemory(device, comm, flags), nccl_(nccl) {}

 protected:
  CuPointer take(size_t bytes) override {
    return reinterpret_cast<CuPointer>(nccl_.allocateSymmetric(bytes));
  }
  void give(CuPointer block) override { nccl_.releaseSymmetric(reinterpret_cast<void*>(block)); }

 private:
  Nccl& nccl_;
};

}  // namespace rondo::bench

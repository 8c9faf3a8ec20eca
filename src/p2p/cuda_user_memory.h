#pragma once
// Allocations of the caller's, and how other ranks get at them. Needs no CUDA header.

#include <cstddef>
#include <cstdint>

#include "p2p/cuda_memory.h"

namespace rondo {

/// The allocation that a pointer lies in.
struct UserAllocation {
  unsigned char* base = nullptr;
  size_t bytes = 0;
  uint64_t id = 0;  ///< No other allocation of this process ever has it.
};

/// False if the pointer lies in none.
bool findAllocation(const void* pointer, UserAllocation* out) noexcept;

/// The id alone; 0: in no allocation. One driver call, allowed while a stream captures.
uint64_t allocationId(const void* pointer) noexcept;

/// Whether the allocation that `base` was the beginning of, and had this id, is gone for certain.
bool allocationIsGone(const void* base, uint64_t id) noexcept;

/// How a peer process can map an allocation; kNone: not at all (memory of a pool, or one made
/// without a handle type).
struct ExportedAllocation {
  enum How : int32_t { kNone, kIpc, kDescriptor };
  How how = kNone;
  CudaIpcHandle ipc{};
  UniqueFd fd;
};
ExportedAllocation exportAllocation(const CudaDevice& owner, const UserAllocation& allocation);

/// Lets `device` address what cudaMalloc has given or gives in `owner`, the context of another
/// device of this process; false if it cannot.
bool reachContext(const CudaDevice& device, CUctx_st* owner) noexcept;

/// Whether cudaMalloc, or the like, gave the memory in `owner`: no pool, and no virtual memory
/// management, which have rules of their own of who reaches it. One driver call, allowed while a
/// stream captures.
bool plainMemoryOf(CUctx_st* owner, const void* pointer) noexcept;

/// Makes an allocation of another device of this process reachable from `device`; false if it
/// cannot be.
bool reachInProcess(const CudaDevice& device, const UserAllocation& allocation) noexcept;

}  // namespace rondo

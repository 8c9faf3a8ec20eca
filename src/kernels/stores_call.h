#pragma once
// Collectives that only move bytes, into memory that every rank reaches: by stores of a kernel.

#include "kernels/launch.h"

namespace rondo {

/// The argument of such a kernel. `window` and `hello` are those of LL128, of which each call takes
/// two exchanges of every lane.
struct StoresCall : HelloCall {
  unsigned char* to[kMaxWindowRanks];  ///< By rank, where it has its dst.
  uint32_t tag;                        ///< What all ranks must agree on; 24 bits count.
};

constexpr int kStoreThreads = 512;

/// For an all-gather or an all-to-all that is not in place. Where the ranks' tags differ the fault
/// word becomes kTagsDiffer, and nobody writes. Returns a cudaError_t. Allowed while `stream`
/// captures.
int launchStores(bool allToAll, const StoresCall& call, int lanes, CUstream_st* stream,
                 const Launching& how);

/// Loads those for so many ranks into the current context, two blocks of which a multiprocessor
/// holds. Returns a cudaError_t.
int loadStores(int ranks);

}  // namespace rondo

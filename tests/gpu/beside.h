#pragma once
// Kernels that wait for each other, without Rondo.

#include <cuda_runtime.h>

namespace rondo::test {

/// Kernels that do the same and are several to the driver: blocks of one are not those of another.
constexpr int kMeetingKinds = 2;

/// Launches blocks that each add one to *word and wait until it is `arrivals`, for at most 3 s;
/// each that has waited longer adds one to *late. Both on the device; `kind` is below
/// kMeetingKinds.
cudaError_t launchMeeting(int kind, unsigned blocks, unsigned threads, cudaStream_t stream,
                          unsigned* word, unsigned arrivals, unsigned* late);

/// Of blocks of so many threads, how many have room on a multiprocessor, by the runtime.
int meetingsOnMultiprocessor(int threads);

}  // namespace rondo::test

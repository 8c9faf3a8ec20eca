#pragma once
// Whether a timed algorithm computes what its collective is for.

#include "tune_trials.h"

namespace rondo::tune {

/// One call with values that tell ranks and places apart, beside what MPI's standard says of the
/// collective, computed without Rondo. Throws Error(rondoInternalError) on all ranks if any of them
/// got something else, with the algorithm's rule, the rank, the element and both values. Collective
/// over MPI_COMM_WORLD. A trial on rondoMemAlloc memory is looked at there.
void checkResults(const Trial& trial, int rank, int ranks);

}  // namespace rondo::tune

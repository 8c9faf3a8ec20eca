#pragma once
// The MPI that the job runs on, as a library that performs the suite's calls.

#include <mpi.h>

#include "benchmark.h"
#include "contender.h"
#include "mpi_names.h"
#include "options.h"

namespace rondo::bench {

/// Throws UsageError if MPI has no such in-place rule, or cannot count that many elements.
void requireMpiCan(const Benchmark& benchmark, const Options& options, int ranks);

/// Whether MPI has another in-place rule than Rondo, so that the two cannot share buffers.
bool mpiInPlaceDiffers(const Benchmark& benchmark);

Contender mpiContender(const Benchmark& benchmark, MPI_Comm comm);

/// As rondoOverlapped, with MPI's non-blocking collectives.
Contender mpiOverlapped(const Benchmark& benchmark, MPI_Comm comm, const Between& between);

}  // namespace rondo::bench

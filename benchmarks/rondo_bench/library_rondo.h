#pragma once
// Rondo as a library that performs the suite's calls.

#include <string>

#include "benchmark.h"
#include "contender.h"

namespace rondo::bench {

/// "" if the loaded librondo has the calls that the benchmark needs, else the name of one that it
/// lacks.
std::string missingRondoCall(const Benchmark& benchmark);

/// The same for what overlapping a collective takes besides.
std::string missingOverlapCall();

/// Throws UsageError if a call is missing.
Contender rondoContender(const Benchmark& benchmark, rondoComm_t comm);

/// A contender whose call starts the collective, does `between`, and waits for its end. Throws
/// UsageError if a call is missing.
Contender rondoOverlapped(const Benchmark& benchmark, rondoComm_t comm, const Between& between);

}  // namespace rondo::bench

#pragma once
// Rondo as a library that performs the suite's calls.

#include <string>

#include "benchmark.h"
#include "contender.h"

namespace rondo::bench {

Contender rondoContender(const Benchmark& benchmark, rondoComm_t comm);

/// A contender whose call starts the collective, does `between`, and waits for its end.
Contender rondoOverlapped(const Benchmark& benchmark, rondoComm_t comm, const Between& between);

}  // namespace rondo::bench

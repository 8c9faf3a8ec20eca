#pragma once
// How much of a non-blocking collective hides behind computation.

#include "sweep.h"

namespace rondo::bench {

/// Measures the collective's overlap at all sizes. Throws UsageError if librondo lacks a call.
void measureOverlap(const Environment& environment, const Benchmark& benchmark, Output& output);

}  // namespace rondo::bench

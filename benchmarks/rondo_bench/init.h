#pragma once
// How long it takes to make communicators.

#include "output.h"

namespace rondo::bench {

/// Rows for communicators over 2, 4, 8, ... and all ranks. Collective.
void measureInit(const Environment& environment, Output& output);

}  // namespace rondo::bench

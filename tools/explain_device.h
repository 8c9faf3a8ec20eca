#pragma once
// What the planner would take on device memory, where no device need be.

#include <string>

#include "api/rondo_types.h"
#include "coll/device_planner.h"

namespace rondo {

/// GPUs of one host: all that there are places for, joined by NVLink, unless `topology` (a file or
/// a description; empty: none) has others. Throws Error(rondoInvalidArgument) for what
/// loadTopology() refuses and for more ranks than GPUs, Error(rondoUnsupported) for GPUs of
/// several hosts.
DeviceFacts deviceFactsOf(int ranks, const std::string& topology);

/// What a kernel must be able to do in this collective, a sum where it reduces.
Reduces reducesOf(Collective collective, rondoDataType_t type);

}  // namespace rondo

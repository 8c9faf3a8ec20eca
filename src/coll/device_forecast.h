#pragma once
// What calls on device memory are predicted to take, none of which is launched: as their runner
// would choose, by the numbers that it chooses by.

#include <optional>
#include <span>

#include "coll/device_predict.h"
#include "coll/device_runner.h"

namespace rondo {

/// Sends and receives of `rank` in one launch, without those to itself; none where 128-byte lines
/// do not arrive whole, which was not measured, and where there are no FIFOs between the ranks.
std::optional<ExchangeWork> exchangeWork(const DeviceFacts& facts, int rank,
                                         std::span<const Transfer> transfers);

/// Picoseconds of an exchange of rank `rank` of `ranks`, its peers being there. Throws
/// Error(rondoUnsupported): nothing predicts it.
uint64_t forecastTransfers(const DeviceRunner& runner, int rank, int ranks,
                           std::span<const Transfer> transfers);

/// Picoseconds of collectives that follow each other in a group of `ranks` ranks. What one rank
/// copies alone takes none. Throws Error(rondoUnsupported): nothing predicts one of them.
uint64_t forecastCalls(const DeviceRunner& runner, int ranks, std::span<const DeviceCall> calls);

}  // namespace rondo

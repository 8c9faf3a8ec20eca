#pragma once
// What RONDO_MPI_STATS=1 counts and prints.

#include <chrono>
#include <cstdint>
#include <string>

#include "drop_in/mpi/calls.h"

namespace rondo::drop_in {

inline bool statsOn = false;  ///< Written once, in MPI_Init.

inline uint64_t statsClock() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Any thread.
void count(Call call, Why why, uint64_t nanoseconds);

/// Adds the time of a call whose way is counted elsewhere.
void addTime(Call call, uint64_t nanoseconds);

/// Adds the ranks' numbers up and prints them on rank 0's standard error. Collective over
/// MPI_COMM_WORLD. `mode`: RONDO_MPI's value.
void printStats(const std::string& mode);

}  // namespace rondo::drop_in

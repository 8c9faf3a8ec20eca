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

/// While it lives, `call` (a message, of a window, a file, packing) copies device memory of this
/// rank's to or from the host; calls inside of it are part of it. `call` must stay. Any thread.
class StagedCall {
 public:
  explicit StagedCall(const char* call) {
    if (statsOn) [[unlikely]]
      begin(call);
  }
  ~StagedCall() {
    if (call_ != nullptr) [[unlikely]]
      end();
  }
  StagedCall(const StagedCall&) = delete;
  StagedCall& operator=(const StagedCall&) = delete;

  /// It copied nothing, and is not counted.
  void forget() {
    if (call_ != nullptr) [[unlikely]]
      leave();
  }

 private:
  void begin(const char* call);
  void end();
  void leave();

  const char* call_ = nullptr;
  uint64_t since_ = 0;
};

/// Adds the ranks' numbers up and prints them on rank 0's standard error. Collective over
/// MPI_COMM_WORLD. `mode`: RONDO_MPI's value.
void printStats(const std::string& mode);

}  // namespace rondo::drop_in

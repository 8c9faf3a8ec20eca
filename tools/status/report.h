#pragma once
// What rondo-status says of a communicator: who is where, and whom it waits for.

#include <cstdint>
#include <string>
#include <vector>

#include "status/processes.h"

namespace rondo::status {

struct Report {
  std::string text;
  bool trouble = false;  ///< Somebody is missing, stopped, dead, or the communicator is broken.
};

/// On every communicator that process `pid` (of `all`) is in and has not destroyed. `now`: of
/// CLOCK_MONOTONIC, when `all` was read.
Report reportOn(int pid, const std::vector<LocalProcess>& all, int64_t now);

}  // namespace rondo::status

#pragma once
// Rondo processes of this host as /proc shows them. Nothing is written to them, and they are not
// stopped.

#include <memory>
#include <string>
#include <vector>

#include "coll/flight_view.h"
#include "p2p/process_state.h"

namespace rondo::status {

/// A read-only mapping of another process's status area; it stays when the process ends.
class AreaMapping {
 public:
  AreaMapping(char* base, uint64_t bytes) : base_(base), bytes_(bytes) {}
  ~AreaMapping();
  AreaMapping(const AreaMapping&) = delete;
  AreaMapping& operator=(const AreaMapping&) = delete;
  char* base() const { return base_; }

 private:
  char* base_;
  uint64_t bytes_;
};

/// Of process `pid`. nullptr: there is none, and `why` says in a sentence that follows "process 77"
/// what stands in the way.
std::unique_ptr<AreaMapping> mapArea(int pid, std::string* why);

/// Its kernel stack, a frame a line, where that may be read (root); else empty.
std::string readKernelStack(int pid);

/// A process that has a status area.
struct LocalProcess {
  int pid = 0;  ///< In this name space.
  ProcessState state;
  FlightProcess flights;
};

/// All of them that may be read; their states are those of this moment.
std::vector<LocalProcess> findProcesses();

}  // namespace rondo::status

#pragma once
// Rondo processes of this host as /proc shows them. They are not stopped, and nothing is written to
// them but that somebody asks.

#include <memory>
#include <string>
#include <vector>

#include "coll/status_report.h"

namespace rondo::status {

/// A mapping of another process's status area; it stays when the process ends.
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
enum class Access { Read, Write };
std::unique_ptr<AreaMapping> mapArea(int pid, std::string* why, Access access = Access::Read);

/// All of them that may be read; their states are those of this moment.
std::vector<LocalProcess> findProcesses();

}  // namespace rondo::status

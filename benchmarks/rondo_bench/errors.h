#pragma once
// The two ways a run can end badly.

#include <stdexcept>

namespace rondo::bench {

/// The command line asks for something that is wrong or not available here: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something failed while running: exit status 1.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace rondo::bench

#pragma once
// One line on stderr that says how far the run is, while it is a terminal.

#include <chrono>
#include <string>

#include "options.h"

namespace rondo::bench {

/// Whether what is written to `fd` (1 or 2) ends up on a terminal. Under mpirun a rank's own
/// descriptors say nothing of that, so mpirun's are looked at.
bool reachesTerminal(int fd);

class Progress {
 public:
  Progress(When when, bool isRoot);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool active() const { return active_; }

  /// Shows `what` and the share that is done, ten times a second at most.
  void show(const std::string& what, int done, int total);
  void clear();

 private:
  bool active_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace rondo::bench

#pragma once
// This process's resident memory and its peak, from /proc.

#include <fstream>
#include <string>

namespace rondo::testing {

/// A line of /proc/self/status in KiB; 0 if it is not there.
inline long statusKiB(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    long value = 0;
    if (word == name + ":" && status >> value) return value;
  }
  return 0;
}

/// From now on, how far the peak is above what is resident now.
class PeakGrowth {
 public:
  PeakGrowth() {
    std::ofstream clear("/proc/self/clear_refs");
    clear << "5" << std::flush;  // the peak starts again
    measured_ = clear.good();
    before_ = statusKiB("VmRSS");
  }
  /// False: this kernel does not let the peak start again.
  bool measured() const { return measured_ && before_ > 0; }
  long kib() const { return statusKiB("VmHWM") - before_; }

 private:
  bool measured_;
  long before_;
};

}  // namespace rondo::testing

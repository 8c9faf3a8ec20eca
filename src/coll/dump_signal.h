#pragma once
// RONDO_DUMP_SIGNAL: a process that gets the signal writes what it and its peers are at.

#include <string>

namespace rondo {

/// As long as one that names a signal lives, the process listens to it. The handler only wakes a
/// thread of the library's own, which writes. Objects are independent of each other: the last one
/// of a signal takes the handler away, and puts back what was there before, unless the program has
/// set one of its own since (which may call this one, and may go on doing so).
class DumpSignal {
 public:
  DumpSignal() = default;
  /// 0: none. `record`: RONDO_RECORD, where the whole record goes; "" is nowhere; of several
  /// objects the last one's counts. Throws Error(rondoInvalidUsage) if the program handles that
  /// signal, and of rondoSystemError if there can be no thread.
  DumpSignal(int signal, const std::string& record);
  ~DumpSignal();
  DumpSignal(DumpSignal&& other) noexcept : signal_(other.signal_) { other.signal_ = 0; }
  DumpSignal& operator=(DumpSignal&& other) noexcept;
  DumpSignal(const DumpSignal&) = delete;
  DumpSignal& operator=(const DumpSignal&) = delete;

 private:
  int signal_ = 0;
};

}  // namespace rondo

#pragma once
// What the kernel says of a process of this host.

#include <cstdint>
#include <string>

namespace rondo {

struct ProcessState {
  bool there = false;
  char letter = '?';  ///< Of its main thread: R, S, D, T (stopped), Z ...
  std::string text;   ///< "sleeping in futex_wait_queue", "stopped", "running".
  bool stopped() const { return letter == 'T' || letter == 't'; }
};

/// At this moment.
ProcessState readProcessState(int pid);

/// Whether the process that this one knows as `pid` is the one whose segment has `token`: in
/// another pid name space its number means another process here. False also where that cannot be
/// read.
bool isProcess(int pid, uint64_t token);

/// The value of a line of /proc/PID/status; empty: there is none.
std::string statusValue(int pid, const std::string& key);

/// Its kernel stack, a frame a line, where that may be read (root); else empty.
std::string readKernelStack(int pid);

/// Its innermost functions in one line, "futex_wait_queue < do_futex < ..."; empty as there.
std::string kernelStackText(int pid);

}  // namespace rondo

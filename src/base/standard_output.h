#pragma once
// The end of a program that prints: whether what it printed has arrived.

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rondo {

/// Why standard output has not taken all of what was printed, as an errno; 0: it has. A second
/// question is about what was printed since.
inline int standardOutputFault() {
  const bool failedBefore = std::ferror(stdout) != 0;
  const int fault = std::fflush(stdout) == 0 ? 0 : errno;
  std::clearerr(stdout);
  if (fault != 0 || !failedBefore) return fault;
  // stdio remembers that a write failed and not why; one more byte is refused for the same reason.
  return write(STDOUT_FILENO, "\n", 1) == 1 ? EIO : errno;
}

/// A program's exit status: `status`, or `unwritten` after a sentence if standard output has not
/// taken all of what was printed. A reader that has gone away, as head does, has what it wanted:
/// then there is no sentence.
inline int statusOfOutput(const char* program, int status, int unwritten) {
  const int fault = standardOutputFault();
  if (fault == 0) return status;
  if (fault != EPIPE) {
    std::fprintf(stderr, "%s: cannot write standard output: %s\n", program, std::strerror(fault));
  }
  return unwritten;
}

}  // namespace rondo

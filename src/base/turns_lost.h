#pragma once
// What other processes take of a measuring thread's time.

#include <sys/resource.h>

namespace rondo {

/// How often another process took this thread's core away so far.
inline long turnsLost() {
  struct rusage use {};
  getrusage(RUSAGE_THREAD, &use);
  return use.ru_nivcsw;
}

}  // namespace rondo

#pragma once
// Runs what may fall over in a process of its own.

#include <functional>
#include <string>

namespace rondo::topo {

struct ApartResult {
  bool died = false;   ///< By a signal or a sanitizer, after ten seconds at the latest.
  bool threw = false;  ///< `text` is the exception's.
  std::string text;    ///< What the action returned.
};

/// Forks: for programs, and for callers without threads that hold locks. The child prints nothing.
/// Throws Error if there can be no child.
ApartResult runApart(const std::function<std::string()>& action);

}  // namespace rondo::topo

#pragma once
// The librondo.so that a program started here would run with. The tools have the library's code in
// themselves, and so say nothing of that one otherwise.

#include <string>

#include "base/error.h"

namespace rondo {

struct FoundLibrary {
  int version = 0;  ///< As rondoGetVersion has it; 0: there is none.
  std::string path;
  std::string missing;  ///< Without one: the loader's words.
};

/// Asks the dynamic loader, which looks in LD_PRELOAD, LD_LIBRARY_PATH and the system's folders; a
/// program that was linked with a path of its own may find another. The library stays loaded.
FoundLibrary findLibrary();

/// "0.34.0" of what rondoGetVersion says.
inline std::string versionText(int code) {
  return format("%d.%d.%d", code / 10000, code / 100 % 100, code % 100);
}

}  // namespace rondo

#pragma once
// A library that is loaded only when it is needed.

#include <string>

#include "base/shared_library.h"

namespace rondo::bench {

class SharedObject {
 public:
  /// Throws UsageError that says what the library was wanted for.
  SharedObject(const char* file, const char* purpose);

  /// Sets `function` to the symbol's address; throws UsageError if there is none.
  template <class Function>
  void resolve(const char* name, Function*& function) const {
    if (!library_.find(name, &function)) lacks(name);
  }
  /// nullptr: there is none.
  template <class Function>
  void resolveIfThere(const char* name, Function*& function) const {
    library_.find(name, &function);
  }

 private:
  [[noreturn]] void lacks(const char* name) const;

  std::string file_;
  SharedLibrary library_;
};

}  // namespace rondo::bench

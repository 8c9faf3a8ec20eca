#pragma once
// A library that is looked for at run time, so that machines do without it.

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace rondo {

/// The first of some names that the loader finds. Closed with its owner, and its functions are gone
/// then; owners that must last as long as the process are never destroyed.
class SharedLibrary {
 public:
  explicit SharedLibrary(std::initializer_list<const char*> names) {
    for (const char* const name : names) {
      name_ = name;
      handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) break;
      if (missing_.empty()) missing_ = std::string("there is no ") + name + " (" + dlerror() + ")";
    }
    if (handle_ != nullptr) missing_.clear();
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  /// Sets *function, or nullptr if it is not there; says whether it is.
  template <class Function>
  bool find(const char* symbol, Function** function) const {
    void* const found = handle_ != nullptr ? dlsym(handle_, symbol) : nullptr;
    *function = reinterpret_cast<Function*>(found);
    return found != nullptr;
  }
  /// As find(); complete() remembers.
  template <class Function>
  void need(const char* symbol, Function** function) {
    if (!find(symbol, function) && missing_.empty())
      missing_ = name_ + " has no function " + symbol;
  }

  /// It is there, and all that was needed in it.
  bool complete() const { return missing_.empty(); }
  /// Else: what is not, a sentence without an end.
  const std::string& missing() const { return missing_; }

 private:
  void* handle_ = nullptr;
  std::string name_, missing_;
};

}  // namespace rondo

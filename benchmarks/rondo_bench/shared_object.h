#pragma once
// A library that is loaded only when it is needed.

#include <string>

namespace rondo::bench {

class SharedObject {
 public:
  /// Throws UsageError that says what the library was wanted for.
  SharedObject(const char* file, const char* purpose);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  /// Sets `function` to the symbol's address; throws UsageError if there is none.
  template <class Function>
  void resolve(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(find(name));
  }

  /// The symbol's address, or nullptr.
  void* findIfThere(const char* name) const;

 private:
  void* find(const char* name) const;

  std::string file_;
  void* handle_;
};

}  // namespace rondo::bench

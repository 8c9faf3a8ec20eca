#pragma once
// Objects that a thread has one of, for as long as it runs any code.

#include <utility>

namespace rondo {

/// The calling thread's own T for `Tag`, made when it is first asked for. It ends with the thread's
/// other objects, and there is another one for whoever asks after that: destructors of static
/// objects and exit handlers run behind those of the main thread.
template <class T, class Tag>
T& ofThread() {
  static constinit thread_local T* object = nullptr;
  if (object == nullptr) [[unlikely]] {
    struct End {
      ~End() { delete std::exchange(object, nullptr); }
    };
    object = new T();
    static thread_local const End end;
  }
  return *object;
}

}  // namespace rondo

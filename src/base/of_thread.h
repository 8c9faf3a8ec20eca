#pragma once
// Objects that a thread has one of, for as long as it runs any code.

#include <memory>
#include <new>

namespace rondo {

/// The calling thread's own T for `Tag`, made when it is first asked for, without memory of the
/// heap's. It ends with the thread's other objects, and there is another one for whoever asks after
/// that: destructors of static objects and exit handlers run behind those of the main thread.
template <class T, class Tag>
T& ofThread() {
  alignas(T) static constinit thread_local unsigned char place[sizeof(T)] = {};
  static constinit thread_local T* object = nullptr;
  if (object == nullptr) [[unlikely]] {
    struct End {
      ~End() {
        std::destroy_at(object);
        object = nullptr;
      }
    };
    object = new (place) T();
    static thread_local const End end;
  }
  return *object;
}

}  // namespace rondo

#pragma once
// What is made when it is first needed: of many that there may be, few are.

#include <atomic>
#include <memory>

namespace rondo {

/// Any number of threads look, one at a time makes.
template <class T>
class Late {
 public:
  Late() = default;
  ~Late() { delete made_.load(std::memory_order_relaxed); }
  Late(const Late&) = delete;
  Late& operator=(const Late&) = delete;

  /// nullptr: it was not needed yet.
  T* get() const { return made_.load(std::memory_order_acquire); }
  /// `prepare(T&)`: before others see it.
  template <class Prepare>
  T& make(const Prepare& prepare) {
    T* made = made_.load(std::memory_order_relaxed);
    if (made != nullptr) return *made;
    auto fresh = std::make_unique<T>();
    prepare(*fresh);
    made = fresh.release();
    made_.store(made, std::memory_order_release);
    return *made;
  }
  T& make() {
    return make([](T&) {});
  }

 private:
  std::atomic<T*> made_{nullptr};
};

}  // namespace rondo

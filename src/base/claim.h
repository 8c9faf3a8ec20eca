#pragma once
// Work that one thread does at a time, and that nobody waits for.

#include <atomic>

namespace rondo {

/// Claims `flag` for a scope if nobody has it, the same thread included; given back however the
/// scope is left.
class Claim {
 public:
  explicit Claim(std::atomic<bool>& flag)
      : mine_(flag.exchange(true, std::memory_order_acquire) ? nullptr : &flag) {}
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (mine_ != nullptr) mine_->store(false, std::memory_order_release);
  }
  /// Whether it is this one's.
  explicit operator bool() const { return mine_ != nullptr; }

 private:
  std::atomic<bool>* mine_;
};

}  // namespace rondo

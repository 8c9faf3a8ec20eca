#pragma once
// Work that one thread does at a time, and that nobody waits for.

#include <atomic>

namespace rondo {

/// Claims `flag` for a scope if nobody has it, the same thread included; given back however the
/// scope is left.
class Claim {
 public:
  /// `alone`: no other thread ever claims it. Then nothing is locked, which would wait for all that
  /// was written before.
  explicit Claim(std::atomic<bool>& flag, bool alone = false)
      : mine_(take(flag, alone) ? &flag : nullptr) {}
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (mine_ != nullptr) mine_->store(false, std::memory_order_release);
  }
  /// Whether it is this one's.
  explicit operator bool() const { return mine_ != nullptr; }

 private:
  static bool take(std::atomic<bool>& flag, bool alone) {
    if (!alone) return !flag.exchange(true, std::memory_order_acquire);
    if (flag.load(std::memory_order_relaxed)) return false;
    flag.store(true, std::memory_order_relaxed);
    return true;
  }

  std::atomic<bool>* mine_;
};

}  // namespace rondo

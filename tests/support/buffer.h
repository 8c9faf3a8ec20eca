#pragma once
// Memory for a collective, ordinary or of rondoMemAlloc, at any alignment, between guard bytes.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "api/rondo.h"

namespace rondo::testing {

class Buffer {
 public:
  /// `skew`: bytes past a page's start (shared) or malloc's alignment.
  Buffer(size_t bytes, bool shared, size_t skew) : bytes_(bytes), shared_(shared) {
    const size_t all = bytes + skew + 2 * kGuard;
    if (shared) {
      void* memory = nullptr;
      EXPECT_EQ(rondoMemAlloc(&memory, all), rondoSuccess) << rondoGetLastError(nullptr);
      base_ = static_cast<char*>(memory);
    } else {
      own_.resize(all);
      base_ = own_.data();
    }
    std::memset(base_, kMark, all);
    data_ = base_ + kGuard + skew;
    skew_ = skew;
  }
  ~Buffer() {
    if (shared_) {
      EXPECT_EQ(rondoMemFree(base_), rondoSuccess) << rondoGetLastError(nullptr);
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* data() { return data_; }
  size_t bytes() const { return bytes_; }

  /// Nothing was written beside the data.
  bool intact() const {
    for (size_t i = 0; i < kGuard + skew_; ++i) {
      if (base_[i] != kMark) return false;
    }
    for (size_t i = 0; i < kGuard; ++i) {
      if (data_[bytes_ + i] != kMark) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr char kMark = 0x5a;
  size_t bytes_;
  bool shared_;
  size_t skew_ = 0;
  std::vector<char> own_;
  char* base_ = nullptr;
  char* data_ = nullptr;
};

}  // namespace rondo::testing

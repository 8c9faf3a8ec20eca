#pragma once
// First-fit allocation of ranges out of [begin, end). Not thread safe.

#include <cstdint>
#include <map>

namespace rondo {

class RangeAllocator {
 public:
  RangeAllocator(uint64_t begin, uint64_t end);

  /// The start of a free range of `bytes` (a multiple of kPage), or kNone. Nothing changes where it
  /// throws std::bad_alloc.
  uint64_t allocate(uint64_t bytes);
  /// Gives back a range of allocate(); returns its size, or 0 if `begin` is not one. Throws
  /// nothing.
  uint64_t release(uint64_t begin);
  uint64_t used() const { return used_; }

  static constexpr uint64_t kNone = ~uint64_t{0};
  static constexpr uint64_t kPage = 4096;
  static uint64_t roundUp(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

 private:
  std::map<uint64_t, uint64_t> free_;   // begin -> bytes, neighbours merged
  std::map<uint64_t, uint64_t> taken_;  // begin -> bytes
  uint64_t used_ = 0;
};

}  // namespace rondo

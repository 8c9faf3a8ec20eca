#include "p2p/range_allocator.h"

namespace rondo {

RangeAllocator::RangeAllocator(uint64_t begin, uint64_t end) {
  if (end > begin) free_[begin] = end - begin;
}

uint64_t RangeAllocator::allocate(uint64_t bytes) {
  if (bytes == 0) return kNone;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const uint64_t begin = it->first, left = it->second - bytes;
    free_.erase(it);
    if (left > 0) free_[begin + bytes] = left;
    taken_[begin] = bytes;
    used_ += bytes;
    return begin;
  }
  return kNone;
}

uint64_t RangeAllocator::release(uint64_t begin) {
  const auto taken = taken_.find(begin);
  if (taken == taken_.end()) return 0;
  const uint64_t bytes = taken->second;
  taken_.erase(taken);
  used_ -= bytes;
  auto it = free_.emplace(begin, bytes).first;
  const auto after = std::next(it);
  if (after != free_.end() && it->first + it->second == after->first) {
    it->second += after->second;
    free_.erase(after);
  }
  if (it != free_.begin()) {
    const auto before = std::prev(it);
    if (before->first + before->second == it->first) {
      before->second += it->second;
      free_.erase(it);
    }
  }
  return bytes;
}

}  // namespace rondo

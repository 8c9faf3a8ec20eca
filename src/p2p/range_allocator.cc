#include "p2p/range_allocator.h"

#include <iterator>
#include <utility>

namespace rondo {

RangeAllocator::RangeAllocator(uint64_t begin, uint64_t end) {
  if (end > begin) free_[begin] = end - begin;
}

// Where there is no memory for a node a range must not get lost: what may throw comes first, and
// the rest moves nodes.

uint64_t RangeAllocator::allocate(uint64_t bytes) {
  if (bytes == 0) return kNone;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const uint64_t begin = it->first;
    taken_.emplace(begin, bytes);
    auto left = free_.extract(it);
    if (left.mapped() > bytes) {
      left.key() += bytes;
      left.mapped() -= bytes;
      free_.insert(std::move(left));
    }
    used_ += bytes;
    return begin;
  }
  return kNone;
}

uint64_t RangeAllocator::release(uint64_t begin) {
  auto taken = taken_.extract(begin);
  if (taken.empty()) return 0;
  const uint64_t bytes = taken.mapped();
  used_ -= bytes;
  auto it = free_.insert(std::move(taken)).position;
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

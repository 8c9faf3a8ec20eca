#pragma once
// What a group is predicted to take, from its parts.

#include <algorithm>
#include <cstdint>
#include <map>

namespace rondo {

/// Communicators one after the other, and of one communicator its ranks at once, as far as the
/// calling thread has several.
class GroupTime {
 public:
  /// Instead of a communicator's number: virtual ones, whose ranks have a clock each.
  static constexpr uint64_t kVirtual = 0;

  /// Picoseconds of `rank`, an address that stands for it, on communicator `comm`; may come again.
  void add(uint64_t comm, const void* rank, uint64_t time) { times_[comm][rank] += time; }

  uint64_t total() const {
    uint64_t sum = 0;
    for (const auto& [comm, ranks] : times_) {
      uint64_t longest = 0;
      for (const auto& [rank, time] : ranks) longest = std::max(longest, time);
      sum += longest;
    }
    return sum;
  }

 private:
  std::map<uint64_t, std::map<const void*, uint64_t>> times_;
};

}  // namespace rondo

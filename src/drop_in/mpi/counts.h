#pragma once
// Arrays of one number a rank.

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

namespace rondo::drop_in {

inline bool countsAreGood(const int* counts, int ranks) {
  return counts != nullptr && std::all_of(counts, counts + ranks, [](int n) { return n >= 0; });
}

/// Without an allocation up to 64 ranks.
class Counts {
 public:
  explicit Counts(int ranks) {
    const auto number = static_cast<size_t>(ranks);
    if (number > few_.size()) many_ = std::make_unique_for_overwrite<size_t[]>(number);
  }
  /// counts[r] * scale
  Counts(const int* counts, int ranks, size_t scale) : Counts(ranks) {
    for (int r = 0; r < ranks; ++r) (*this)[r] = static_cast<size_t>(counts[r]) * scale;
  }
  size_t* data() { return many_ ? many_.get() : few_.data(); }
  const size_t* data() const { return many_ ? many_.get() : few_.data(); }
  size_t& operator[](int rank) { return data()[rank]; }
  size_t operator[](int rank) const { return data()[rank]; }

 private:
  std::array<size_t, 64> few_;
  std::unique_ptr<size_t[]> many_;
};

}  // namespace rondo::drop_in

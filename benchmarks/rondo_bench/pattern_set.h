#pragma once
// The values of all ranks for one benchmark, type and operator; fills and checks buffers by layout.

#include <cstdint>
#include <map>
#include <utility>

#include "layout.h"
#include "pattern.h"
#include "values.h"

namespace rondo::bench {

class PatternSet {
 public:
  explicit PatternSet(const Reduction& reduction) : reduction_(reduction) {}

  size_t elementSize() const { return reduction_.type->size; }

  /// Writes what the pieces describe; `phase` makes the values of different buffers differ.
  void fill(const std::vector<Piece>& pieces, void* buffer, size_t phase) const;
  /// Writes elements all of which are wrong, but for those that the call is not to touch.
  void poison(const std::vector<Piece>& pieces, void* buffer, size_t phase) const;
  /// Number of elements that are not what the pieces say, in any bit.
  uint64_t countWrong(const std::vector<Piece>& pieces, const void* buffer, size_t phase) const;

 private:
  const Pattern& of(const Piece& piece) const;

  Reduction reduction_;
  mutable std::map<std::pair<Values, int>, Pattern> patterns_;  // made when first needed
};

}  // namespace rondo::bench

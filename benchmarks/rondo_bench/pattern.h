#pragma once
// A repeating run of elements: fills buffers and counts elements that differ from it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "element_type.h"

namespace rondo::bench {

class Pattern {
 public:
  /// `value(index)` for index below kValuePeriod.
  Pattern(const ElementType& type, const std::function<Value(size_t)>& value);

  /// Element i of the buffer becomes value((i + phase) mod kValuePeriod).
  void fill(void* buffer, size_t bytes, size_t phase) const;
  /// The same with every bit of every element turned over.
  void fillInverted(void* buffer, size_t bytes, size_t phase) const;

  /// Number of elements of the buffer that differ in any bit but padding from what fill() writes.
  uint64_t countDifferent(const void* buffer, size_t bytes, size_t phase) const;

 private:
  const ElementType& type_;
  size_t elementSize_;
  std::vector<unsigned char> tile_;  // two periods, so that one starts at any phase
};

}  // namespace rondo::bench

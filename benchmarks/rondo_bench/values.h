#pragma once
// Test values for reductions, chosen so that any order of combining them gives the same exact bits.

#include <cstddef>
#include <string>

#include "element_type.h"

namespace rondo::bench {

/// Values repeat after this many elements. A prime, so that a block of 2^k elements that lands in
/// the wrong place never lines up with the right values.
constexpr size_t kValuePeriod = 1021;

struct Reduction {
  const ElementType* type;
  const Operator* op;
  int ranks;
};

/// Whether exact values exist for so many ranks; otherwise `why` gets a sentence.
bool exactValuesExist(const Reduction& reduction, std::string* why);

/// Element `index` (below kValuePeriod) of `rank`'s input. Zero only for logical operators and
/// bool.
Value inputValue(const Reduction& reduction, int rank, size_t index);

/// What the reduction of all ranks' inputs gives for element `index`.
Value reducedValue(const Reduction& reduction, size_t index);

/// What the reduction of the inputs of ranks 0 to `last` gives; not for averages.
Value prefixValue(const Reduction& reduction, int last, size_t index);

}  // namespace rondo::bench

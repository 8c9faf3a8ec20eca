#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rondo::bench {
namespace {

constexpr double kLargest = 1e6;  // enough variety; keeps failing values readable

uint64_t scramble(uint64_t rank, uint64_t index) {
  uint64_t x = (rank + 1) * 0x9e3779b97f4a7c15u ^ (index + 1) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double upTo(uint64_t bits, double largest) {
  return 1 + static_cast<double>(bits % static_cast<uint64_t>(largest));
}

double withSign(const Reduction& reduction, uint64_t bits, double magnitude) {
  return reduction.type->kind != NumberKind::kUnsigned && (bits >> 40 & 1) ? -magnitude : magnitude;
}

/// The largest value whose sum over all ranks is still exact, in whatever order it is made.
double sumLimit(const Reduction& reduction) {
  return std::min(kLargest, std::floor(reduction.type->exactLimit / reduction.ranks));
}

/// A value common to all ranks and a deviation (+1, -1, 0) that adds up to zero over the ranks, so
/// that the division by the number of ranks leaves no remainder.
double averagedValue(const Reduction& reduction, int rank, size_t index) {
  const double common = 1 + upTo(scramble(0, index), sumLimit(reduction) - 2);
  const int n = reduction.ranks;
  const int turn = static_cast<int>((rank + index) % n);
  if (turn == n - 1 && n % 2 == 1) return common;
  return turn % 2 == 0 ? common + 1 : common - 1;
}

/// Floats: powers of two. Integers: 1 to 3. Only some ranks differ from one at each index, so that
/// no product leaves the range of the narrowest type (2^8 in float16, 3^4 in int8).
double factorValue(const Reduction& reduction, int rank, size_t index) {
  const uint64_t bits = scramble(rank, index);
  const int turn = static_cast<int>((rank + index) % reduction.ranks);
  double magnitude = 1;
  if (reduction.type->kind == NumberKind::kFloat) {
    if (turn < 8) magnitude = std::ldexp(1.0, static_cast<int>(bits % 3) - 1);
  } else if (turn < 4) {
    magnitude = upTo(bits, 3);
  }
  return withSign(reduction, bits, magnitude);
}

/// Whether the element counts as true: for "and" nearly always, for "or" hardly ever, so that
/// results differ.
bool truthOf(const Reduction& reduction, uint64_t bits) {
  const uint64_t rare = 2 * static_cast<uint64_t>(reduction.ranks);
  switch (reduction.op->id) {
    case rondoLogicalAnd:
    case rondoBitAnd:
      return (bits >> 20) % rare != 0;
    case rondoLogicalOr:
    case rondoBitOr:
      return (bits >> 20) % rare == 0;
    default:
      return (bits >> 20) % 2 == 0;
  }
}

bool isLogical(const Operator& op) {
  return op.id == rondoLogicalAnd || op.id == rondoLogicalOr || op.id == rondoLogicalXor;
}

/// Few values, so that ranks tie and the index decides.
Value pairValue(const Reduction& reduction, uint64_t bits) {
  const double magnitude = upTo(bits, 4);
  return {bits >> 40 & 1 ? -magnitude : magnitude,
          upTo(bits >> 16, 1000 * static_cast<double>(reduction.ranks))};
}

/// A few ranks have a multiple of 1 + 2i, of whose powers no part is ever zero: the sign of a zero
/// would depend on the order.
Value complexFactor(const Reduction& reduction, int rank, size_t index) {
  const uint64_t bits = scramble(static_cast<uint64_t>(rank), index);
  const int turn =
      static_cast<int>((static_cast<size_t>(rank) + index) % static_cast<size_t>(reduction.ranks));
  if (turn >= 4) return {1, 0};
  const double by = withSign(reduction, bits, upTo(bits, 3));
  return {by, 2 * by};
}

Value complexValue(const Reduction& reduction, int rank, size_t index) {
  const uint64_t bits = scramble(static_cast<uint64_t>(rank), index);
  const double limit = std::max(1.0, sumLimit(reduction));
  switch (reduction.op->id) {
    case rondoProd:
      return complexFactor(reduction, rank, index);
    case rondoAvg:
      return {averagedValue(reduction, rank, index),
              averagedValue(reduction, rank, index + kValuePeriod)};
    default:
      return {upTo(bits, limit), upTo(bits >> 20, limit)};
  }
}

Value product(const Reduction& reduction, const Value& a, const Value& b) {
  if (reduction.type->kind != NumberKind::kComplex) return {a.first * b.first};
  return {a.first * b.first - a.second * b.second, a.first * b.second + a.second * b.first};
}

Value located(const Value& a, const Value& b, bool aWins) {
  if (a.first != b.first) return aWins ? a : b;
  return a.second <= b.second ? a : b;
}

/// Logical operators as such, bitwise ones on whole numbers.
template <class Apply>
Value bitwise(const Value& a, const Value& b, bool logical, const Apply& apply) {
  if (logical) return {static_cast<double>(apply(int64_t{a.first != 0}, int64_t{b.first != 0}))};
  return {static_cast<double>(apply(static_cast<int64_t>(a.first), static_cast<int64_t>(b.first)))};
}

Value combine(const Reduction& reduction, const Value& a, const Value& b) {
  const bool logical = isLogical(*reduction.op);
  switch (reduction.op->id) {
    case rondoProd:
      return product(reduction, a, b);
    case rondoMin:
      return {std::min(a.first, b.first)};
    case rondoMax:
      return {std::max(a.first, b.first)};
    case rondoLogicalAnd:
    case rondoBitAnd:
      return bitwise(a, b, logical, [](int64_t x, int64_t y) { return x & y; });
    case rondoLogicalOr:
    case rondoBitOr:
      return bitwise(a, b, logical, [](int64_t x, int64_t y) { return x | y; });
    case rondoLogicalXor:
    case rondoBitXor:
      return bitwise(a, b, logical, [](int64_t x, int64_t y) { return x ^ y; });
    case rondoMinLoc:
      return located(a, b, a.first < b.first);
    case rondoMaxLoc:
      return located(a, b, a.first > b.first);
    default:
      return {a.first + b.first, a.second + b.second};
  }
}

Value operand(const Reduction& reduction, int rank, size_t index) {
  const Value value = inputValue(reduction, rank, index);
  if (reduction.op->id != kPreMulSum) return value;
  return {kPreMulScalar * value.first, kPreMulScalar * value.second};
}

double needed(const Operator& op) {
  return op.id == rondoAvg ? 3 : op.id == kPreMulSum ? kPreMulScalar : op.id == rondoSum ? 1 : 0;
}

}  // namespace

bool exactValuesExist(const Reduction& reduction, std::string* why) {
  if (sumLimit(reduction) >= needed(*reduction.op)) return true;
  *why = std::string("the ") + reduction.op->name + " of " + std::to_string(reduction.ranks) +
         " ranks has no exact values in " + reduction.type->name +
         " to check results with; use a wider type, fewer ranks, or --no-check";
  return false;
}

Value inputValue(const Reduction& reduction, int rank, size_t index) {
  const uint64_t bits = scramble(static_cast<uint64_t>(rank), index);
  const ElementType& type = *reduction.type;
  if (type.kind == NumberKind::kPair) return pairValue(reduction, bits);
  if (type.kind == NumberKind::kBool) return {truthOf(reduction, bits) ? 1.0 : 0.0};
  if (type.kind == NumberKind::kComplex) return complexValue(reduction, rank, index);
  switch (reduction.op->id) {
    case rondoSum:
      return {upTo(bits, std::max(1.0, sumLimit(reduction)))};
    case kPreMulSum:
      return {upTo(bits, std::max(1.0, std::floor(sumLimit(reduction) / kPreMulScalar)))};
    case rondoAvg:
      return {sumLimit(reduction) >= 3 ? averagedValue(reduction, rank, index) : 1};
    case rondoProd:
      return {factorValue(reduction, rank, index)};
    case rondoBitAnd:
    case rondoBitOr:
    case rondoBitXor:
      return {withSign(reduction, bits, upTo(bits >> 3, type.exactLimit))};
    default:
      if (isLogical(*reduction.op) && !truthOf(reduction, bits)) return {};
      return {withSign(reduction, bits, upTo(bits, std::min(kLargest, type.exactLimit)))};
  }
}

Value prefixValue(const Reduction& reduction, int last, size_t index) {
  Value value = operand(reduction, 0, index);
  // With one operand nothing is combined, and it stays as it is.
  for (int rank = 1; rank <= last; ++rank) {
    value = combine(reduction, value, operand(reduction, rank, index));
  }
  return value;
}

Value reducedValue(const Reduction& reduction, size_t index) {
  const Value value = prefixValue(reduction, reduction.ranks - 1, index);
  if (reduction.op->id != rondoAvg) return value;
  return {value.first / reduction.ranks, value.second / reduction.ranks};
}

}  // namespace rondo::bench

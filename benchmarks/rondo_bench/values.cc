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

double combine(const Operator& op, double a, double b) {
  switch (op.id) {
    case rondoProd:
      return a * b;
    case rondoMin:
      return std::min(a, b);
    case rondoMax:
      return std::max(a, b);
    default:
      return a + b;
  }
}

}  // namespace

bool exactValuesExist(const Reduction& reduction, std::string* why) {
  const double needed = reduction.op->id == rondoAvg ? 3 : reduction.op->id == rondoSum ? 1 : 0;
  if (sumLimit(reduction) >= needed) return true;
  *why = std::string("the ") + reduction.op->name + " of " + std::to_string(reduction.ranks) +
         " ranks has no exact values in " + reduction.type->name +
         " to check results with; use a wider type, fewer ranks, or --no-check";
  return false;
}

double inputValue(const Reduction& reduction, int rank, size_t index) {
  const uint64_t bits = scramble(rank, index);
  switch (reduction.op->id) {
    case rondoSum:
      return upTo(bits, std::max(1.0, sumLimit(reduction)));
    case rondoAvg:
      return sumLimit(reduction) >= 3 ? averagedValue(reduction, rank, index) : 1;
    case rondoProd:
      return factorValue(reduction, rank, index);
    default:
      return withSign(reduction, bits, upTo(bits, std::min(kLargest, reduction.type->exactLimit)));
  }
}

double prefixValue(const Reduction& reduction, int last, size_t index) {
  double value = inputValue(reduction, 0, index);
  for (int rank = 1; rank <= last; ++rank) {
    value = combine(*reduction.op, value, inputValue(reduction, rank, index));
  }
  return value;
}

double reducedValue(const Reduction& reduction, size_t index) {
  const double value = prefixValue(reduction, reduction.ranks - 1, index);
  return reduction.op->id == rondoAvg ? value / reduction.ranks : value;
}

}  // namespace rondo::bench

// The error bound of docs/algorithms.md, held against what every all-reduce really gives: a sum is
// as far off as its roundings allow, which the verifier counts in the plan, and no farther.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "coll/verifier.h"
#include "support/values.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr size_t kCount = 2048;

/// How a type rounds: its unit roundoff, and whether a step adds in float32.
struct Precision {
  rondoDataType_t type;
  double unit;
  bool narrow;
};
const Precision kPrecisions[] = {{rondoFloat32, std::ldexp(1, -24), false},
                                 {rondoFloat16, std::ldexp(1, -11), true},
                                 {rondoBfloat16, std::ldexp(1, -8), true},
                                 {rondoFloat8e4m3, std::ldexp(1, -4), true},
                                 {rondoFloat8e5m2, std::ldexp(1, -3), true}};

template <class T>
T encodeNumber(double x) {
  if constexpr (reference::kIsNarrow<T>) {
    return T{T::Format::round(static_cast<float>(x))};
  } else {
    return static_cast<T>(x);
  }
}

template <class T>
double decode(T value) {
  if constexpr (reference::kIsNarrow<T>) {
    return static_cast<double>(T::Format::widen(value.bits));
  } else {
    return static_cast<double>(value);
  }
}

/// Numbers from 0.5 to 1, so that no sum is tiny and roundings add up instead of cancelling.
template <class T>
std::vector<T> numbers(int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) + 11);
  std::uniform_real_distribution<double> any(0.5, 1);
  std::vector<T> out(kCount);
  for (T& x : out) x = encodeNumber<T>(any(random));
  return out;
}

/// The farthest that an element of the sum is off, as a share of the sum.
template <class T>
double worstError(const std::string& rule, const std::string& groups, int ranks,
                  rondoDataType_t type) {
  std::vector<T> sums(kCount);
  World(ranks).tune(rule.c_str()).groups(groups).run([&](const Rank& me) {
    const std::vector<T> in = numbers<T>(me.rank);
    std::vector<T> out(kCount);
    EXPECT_EQ(rondoAllReduce(in.data(), out.data(), kCount, type, rondoSum, me.comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    if (me.rank == 0) sums = out;
  });
  std::vector<double> exact(kCount);
  for (int r = 0; r < ranks; ++r) {
    const std::vector<T> in = numbers<T>(r);
    for (size_t i = 0; i < kCount; ++i) exact[i] += decode(in[i]);
  }
  double worst = 0;
  for (size_t i = 0; i < kCount; ++i) {
    worst = std::max(worst, std::abs(decode(sums[i]) - exact[i]) / exact[i]);
  }
  return worst;
}

double bound(const Roundings& most, const Precision& precision) {
  const double inside = std::pow(1 + std::ldexp(1, -24), most.wide);
  if (!precision.narrow) return inside - 1;
  return std::pow(1 + precision.unit, most.narrow) * inside - 1;
}

TEST(WorldRoundings, SumsAreAsFarOffAsTheirRoundingsAllow) {
  constexpr int kRanks = 8;
  const RankGroups groups({0, 0, 0, 0, 1, 1, 1, 1});
  for (const Algorithm& row : registry()) {
    if (row.collective != Collective::AllReduce) continue;
    const Count chunk = 256 * static_cast<Count>(blocksOf(row, kRanks, groups));
    const Roundings most =
        countRoundings(recordAllRanks(row, kRanks, 0, {chunk, 1, 0, 256, 1}, groups));
    const std::string rule = std::string("allreduce:host:0-:") + row.name;
    for (const Precision& precision : kPrecisions) {
      reference::withType(precision.type, [&](auto kind) {
        using T = decltype(kind);
        if constexpr (std::is_same_v<T, float> || reference::kIsNarrow<T>) {
          const double worst = worstError<T>(rule, groups.text(), kRanks, precision.type);
          EXPECT_LE(worst, bound(most, precision)) << row.name << ", " << typeName(precision.type);
          EXPECT_GT(worst, precision.unit / 8) << row.name << ", " << typeName(precision.type)
                                               << ": the numbers are too kind to show anything";
        }
      });
    }
  }
}

/// One rounding for a whole sum, and a bound that more roundings would break.
TEST(WorldRoundings, OneStepIsRoundedOnce) {
  const Precision& bfloat16 = kPrecisions[2];
  reference::withType(bfloat16.type, [&](auto kind) {
    using T = decltype(kind);
    if constexpr (reference::kIsNarrow<T>) {
      const double once = bound({7, 1}, bfloat16);
      EXPECT_LE(worstError<T>("allreduce:host:0-:oneshot", "", 8, bfloat16.type), once);
      EXPECT_GT(worstError<T>("allreduce:host:0-:ring", "", 8, bfloat16.type), once);
    }
  });
}

}  // namespace
}  // namespace rondo::testing

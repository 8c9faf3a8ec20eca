#include "../../benchmarks/rondo_bench/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <set>
#include <vector>

namespace rondo::bench {
namespace {

/// `value` as the type holds it.
Value rounded(const ElementType& type, const Value& value) {
  unsigned char bytes[16] = {};
  storeValue(type, value, bytes);
  return loadValue(type, bytes);
}

/// One step of operators on whole numbers, logical ones by truth.
double wholes(rondoRedOp_t op, double x, double y) {
  const auto a = static_cast<int64_t>(x), b = static_cast<int64_t>(y);
  switch (op) {
    case rondoLogicalAnd:
      return a != 0 && b != 0;
    case rondoLogicalOr:
      return a != 0 || b != 0;
    case rondoLogicalXor:
      return (a != 0) != (b != 0);
    case rondoBitAnd:
      return static_cast<double>(a & b);
    case rondoBitOr:
      return static_cast<double>(a | b);
    default:
      return static_cast<double>(a ^ b);
  }
}

/// The one of two pairs that comes first in the operator's order.
Value located(rondoRedOp_t op, const Value& a, const Value& b) {
  const double sign = op == rondoMinLoc ? 1 : -1;
  const auto key = [sign](const Value& v) { return std::pair(sign * v.first, v.second); };
  return key(a) <= key(b) ? a : b;
}

/// One step, rounded to the type as a library that keeps partial results in it would.
Value step(const Reduction& reduction, const Value& a, const Value& b) {
  using Complex = std::complex<double>;
  const Complex x(a.first, a.second), y(b.first, b.second);
  const auto parts = [](const Complex& z) { return Value{z.real(), z.imag()}; };
  switch (reduction.op->id) {
    case rondoSum:
    case rondoAvg:
    case kPreMulSum:
      return rounded(*reduction.type, parts(x + y));
    case rondoProd:
      return rounded(*reduction.type, parts(x * y));
    case rondoMin:
      return a.first < b.first ? a : b;
    case rondoMax:
      return a.first > b.first ? a : b;
    case rondoMinLoc:
    case rondoMaxLoc:
      return located(reduction.op->id, a, b);
    default:
      return rounded(*reduction.type, {wholes(reduction.op->id, a.first, b.first)});
  }
}

Value chain(const Reduction& reduction, const std::vector<Value>& values) {
  Value result = values.front();
  for (size_t i = 1; i < values.size(); ++i) result = step(reduction, result, values[i]);
  return result;
}

Value tree(const Reduction& reduction, std::vector<Value> values) {
  while (values.size() > 1) {
    const size_t half = (values.size() + 1) / 2;
    for (size_t i = 0; i + half < values.size(); ++i) {
      values[i] = step(reduction, values[i], values[i + half]);
    }
    values.resize(half);
  }
  return values.front();
}

Value divided(const Reduction& reduction, const Value& value) {
  const double by = reduction.op->id == rondoAvg ? reduction.ranks : 1;
  return {value.first / by, value.second / by};
}

void expectExact(const Reduction& reduction, size_t index) {
  const bool mayBeZero = reduction.op->id >= rondoLogicalAnd;
  const double scalar = reduction.op->id == kPreMulSum ? kPreMulScalar : 1;
  std::vector<Value> inputs;
  for (int rank = 0; rank < reduction.ranks; ++rank) {
    const Value input = inputValue(reduction, rank, index);
    ASSERT_TRUE(mayBeZero || input.first != 0);
    ASSERT_EQ(input, rounded(*reduction.type, input));
    inputs.push_back(rounded(*reduction.type, {scalar * input.first, scalar * input.second}));
    ASSERT_EQ(inputs.back().first, scalar * input.first);
  }
  const Value want = reducedValue(reduction, index);
  ASSERT_EQ(want, rounded(*reduction.type, want));
  ASSERT_EQ(divided(reduction, chain(reduction, inputs)), want);
  ASSERT_EQ(divided(reduction, tree(reduction, inputs)), want);
  std::reverse(inputs.begin(), inputs.end());
  ASSERT_EQ(divided(reduction, chain(reduction, inputs)), want);
}

TEST(BenchValues, AnyOrderGivesTheSameBits) {
  for (const ElementType& type : elementTypes()) {
    for (const Operator& op : operators()) {
      for (int ranks : {1, 2, 3, 4, 5, 7, 8, 16, 17, 40, 100}) {
        const Reduction reduction{&type, &op, ranks};
        std::string why;
        if (!isDefined(type, op)) continue;
        if (!exactValuesExist(reduction, &why)) continue;
        for (size_t i = 0; i<kValuePeriod; i += ranks> 8 ? 17 : 1) {
          SCOPED_TRACE(std::string(type.name) + " " + op.name + " " + std::to_string(ranks) +
                       " ranks, index " + std::to_string(i));
          expectExact(reduction, i);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(BenchValues, ExistForTheRanksOfOneHost) {
  std::string why;
  for (const ElementType& type : elementTypes()) {
    const bool narrow = type.kind == NumberKind::kFloat && type.size == 1;
    for (const Operator& op : operators()) {
      if (!isDefined(type, op)) continue;
      EXPECT_TRUE(exactValuesExist({&type, &op, narrow ? 2 : 40}, &why))
          << type.name << " " << op.name;
    }
  }
  EXPECT_EQ(why, "");
  EXPECT_FALSE(exactValuesExist({findElementType("int8"), findOperator("sum"), 128}, &why));
  EXPECT_NE(why.find("the sum of 128 ranks has no exact values in int8"), std::string::npos) << why;
}

TEST(BenchValues, DifferBetweenRanksAndIndices) {
  for (const Operator& op : operators()) {
    for (const char* name : {"float32", "int32", "complex128", "float64int32"}) {
      const Reduction reduction{findElementType(name), &op, 4};
      if (!isDefined(*reduction.type, op)) continue;
      int sameOnTwoRanks = 0;
      std::set<std::pair<double, double>> inputs;
      for (size_t i = 0; i < kValuePeriod; ++i) {
        const Value value = inputValue(reduction, 0, i);
        sameOnTwoRanks += value == inputValue(reduction, 1, i);
        inputs.insert({value.first, value.second});
      }
      const bool truth = op.id == rondoLogicalOr || op.id == rondoLogicalXor;
      EXPECT_LT(sameOnTwoRanks, static_cast<int>(kValuePeriod) * (truth ? 95 : 40) / 100)
          << name << " " << op.name;
      EXPECT_GE(inputs.size(), op.id == rondoProd ? 6u
                               : truth            ? 50u
                                                  : kValuePeriod / 3)
          << name << " " << op.name;
    }
  }
}

/// A result that is the same everywhere, or always one rank's, would hide mistakes.
TEST(BenchValues, ResultsOfTruthTakeBothValues) {
  for (const char* type : {"bool", "int8"}) {
    for (const char* op : {"land", "lor", "lxor"}) {
      const Reduction reduction{findElementType(type), findOperator(op), 4};
      int ones = 0;
      for (size_t i = 0; i < kValuePeriod; ++i) ones += reducedValue(reduction, i).first != 0;
      EXPECT_GT(ones, static_cast<int>(kValuePeriod) / 10) << type << " " << op;
      EXPECT_LT(ones, static_cast<int>(kValuePeriod) * 9 / 10) << type << " " << op;
    }
  }
}

}  // namespace
}  // namespace rondo::bench

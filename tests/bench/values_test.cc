#include "../../benchmarks/rondo_bench/values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace rondo::bench {
namespace {

/// `value` as the type holds it.
double rounded(const ElementType& type, double value) {
  double bytes = 0;
  storeElement(type, value, &bytes);
  return loadElement(type, &bytes);
}

/// One step, rounded to the type as a library that keeps partial results in it would.
double step(const Reduction& reduction, double a, double b) {
  switch (reduction.op->id) {
    case rondoProd:
      return rounded(*reduction.type, a * b);
    case rondoMin:
      return std::min(a, b);
    case rondoMax:
      return std::max(a, b);
    default:
      return rounded(*reduction.type, a + b);
  }
}

double chain(const Reduction& reduction, const std::vector<double>& values) {
  double result = values.front();
  for (size_t i = 1; i < values.size(); ++i) result = step(reduction, result, values[i]);
  return result;
}

double tree(const Reduction& reduction, std::vector<double> values) {
  while (values.size() > 1) {
    const size_t half = (values.size() + 1) / 2;
    for (size_t i = 0; i + half < values.size(); ++i) {
      values[i] = step(reduction, values[i], values[i + half]);
    }
    values.resize(half);
  }
  return values.front();
}

void expectExact(const Reduction& reduction, size_t index) {
  std::vector<double> inputs;
  for (int rank = 0; rank < reduction.ranks; ++rank) {
    inputs.push_back(inputValue(reduction, rank, index));
    ASSERT_NE(inputs.back(), 0);
    ASSERT_EQ(inputs.back(), rounded(*reduction.type, inputs.back()));
  }
  const double want = reducedValue(reduction, index);
  ASSERT_EQ(want, rounded(*reduction.type, want));
  const double divisor = reduction.op->id == rondoAvg ? reduction.ranks : 1;
  ASSERT_EQ(chain(reduction, inputs) / divisor, want);
  ASSERT_EQ(tree(reduction, inputs) / divisor, want);
  std::reverse(inputs.begin(), inputs.end());
  ASSERT_EQ(chain(reduction, inputs) / divisor, want);
}

TEST(BenchValues, AnyOrderGivesTheSameBits) {
  for (const ElementType& type : elementTypes()) {
    for (const Operator& op : operators()) {
      for (int ranks : {1, 2, 3, 4, 5, 7, 8, 16, 17, 40, 100}) {
        const Reduction reduction{&type, &op, ranks};
        std::string why;
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
    for (const Operator& op : operators()) {
      EXPECT_TRUE(exactValuesExist({&type, &op, 40}, &why)) << type.name << " " << op.name;
    }
  }
  EXPECT_EQ(why, "");
  EXPECT_FALSE(exactValuesExist({findElementType("int8"), findOperator("sum"), 128}, &why));
  EXPECT_NE(why.find("the sum of 128 ranks has no exact values in int8"), std::string::npos) << why;
}

TEST(BenchValues, DifferBetweenRanksAndIndices) {
  for (const Operator& op : operators()) {
    const Reduction reduction{findElementType("float32"), &op, 4};
    int sameOnTwoRanks = 0;
    std::set<double> inputs;
    for (size_t i = 0; i < kValuePeriod; ++i) {
      sameOnTwoRanks += inputValue(reduction, 0, i) == inputValue(reduction, 1, i);
      inputs.insert(inputValue(reduction, 0, i));
    }
    EXPECT_LT(sameOnTwoRanks, static_cast<int>(kValuePeriod) / 4) << op.name;
    EXPECT_GE(inputs.size(), op.id == rondoProd ? 6u : kValuePeriod / 2) << op.name;
  }
}

}  // namespace
}  // namespace rondo::bench

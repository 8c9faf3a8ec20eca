#pragma once
// The element types and operators of the public API: names, sizes, and exact conversions.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "api/rondo.h"

namespace rondo::bench {

enum class NumberKind { kSigned, kUnsigned, kFloat, kComplex, kBool, kPair };

/// What an element holds: a number, a number's two parts, or a pair's value and index.
struct Value {
  double first = 0;
  double second = 0;
  bool operator==(const Value&) const = default;
};

struct ElementType {
  rondoDataType_t id;
  const char* name;
  size_t size;
  NumberKind kind;
  double exactLimit;  ///< Every whole number from 0 to this one is exact in the type (in a part).
  rondoDataType_t part;  ///< Of a complex number's parts, of a pair's value; else `id`.

  /// A pair's index is an int32 at this byte.
  size_t indexAt() const;
};

struct Operator {
  rondoRedOp_t id;
  const char* name;
};

/// The pre-multiplied sum has a handle only once it was made, with this scalar.
constexpr rondoRedOp_t kPreMulSum = -1;
constexpr double kPreMulScalar = 2;

/// Whether Rondo has the operator for the type.
bool isDefined(const ElementType& type, const Operator& op);
/// The names of those that it has, with commas between.
std::string definedOperators(const ElementType& type);

std::span<const ElementType> elementTypes();
std::span<const Operator> operators();

/// What rows say of collectives that do not reduce; its values differ by rank and sign.
const Operator& noOperator();
/// What rows say of benchmarks without data.
const ElementType& noElementType();

/// nullptr for a name that is not known.
const ElementType* findElementType(std::string_view name);
const Operator* findOperator(std::string_view name);

/// nullptr for a handle that is not known.
const ElementType* findElementType(rondoDataType_t id);

/// Writes `value` as one element that is a single number; rounds floats to nearest even, truncates
/// integers.
void storeElement(const ElementType& type, double value, void* where);
double loadElement(const ElementType& type, const void* where);

/// The same for elements of any type. Padding is written as zero.
void storeValue(const ElementType& type, const Value& value, void* where);
Value loadValue(const ElementType& type, const void* where);

/// Whether two elements are the same in every bit but those of padding.
bool sameElement(const ElementType& type, const void* a, const void* b);

}  // namespace rondo::bench

#pragma once
// The element types and operators of the public API: names, sizes, and exact conversions.

#include <cstddef>
#include <span>
#include <string_view>

#include "api/rondo.h"

namespace rondo::bench {

enum class NumberKind { kSigned, kUnsigned, kFloat };

struct ElementType {
  rondoDataType_t id;
  const char* name;
  size_t size;
  NumberKind kind;
  double exactLimit;  ///< Every whole number from 0 to this one is exact in the type.
};

struct Operator {
  rondoRedOp_t id;
  const char* name;
};

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

/// Writes `value` as one element; rounds floats to nearest even, truncates integers.
void storeElement(const ElementType& type, double value, void* where);
double loadElement(const ElementType& type, const void* where);

}  // namespace rondo::bench

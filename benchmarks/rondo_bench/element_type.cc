#include "element_type.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace rondo::bench {
namespace {

// 64-bit integers stop at 2^53 because the values are worked out in doubles.
constexpr double kDoubleLimit = 9007199254740992.0;

constexpr ElementType kTypes[] = {
    {rondoInt8, "int8", 1, NumberKind::kSigned, 127},
    {rondoUint8, "uint8", 1, NumberKind::kUnsigned, 255},
    {rondoInt16, "int16", 2, NumberKind::kSigned, 32767},
    {rondoUint16, "uint16", 2, NumberKind::kUnsigned, 65535},
    {rondoInt32, "int32", 4, NumberKind::kSigned, 2147483647.0},
    {rondoUint32, "uint32", 4, NumberKind::kUnsigned, 4294967295.0},
    {rondoInt64, "int64", 8, NumberKind::kSigned, kDoubleLimit},
    {rondoUint64, "uint64", 8, NumberKind::kUnsigned, kDoubleLimit},
    {rondoFloat16, "float16", 2, NumberKind::kFloat, 2048},
    {rondoBfloat16, "bfloat16", 2, NumberKind::kFloat, 256},
    {rondoFloat32, "float32", 4, NumberKind::kFloat, 16777216.0},
    {rondoFloat64, "float64", 8, NumberKind::kFloat, kDoubleLimit},
};

constexpr Operator kOperators[] = {
    {rondoSum, "sum"}, {rondoProd, "prod"}, {rondoMin, "min"}, {rondoMax, "max"}, {rondoAvg, "avg"},
};

/// A 16-bit float is sign, exponent, fraction; this is how many bits each field has.
struct SmallFloat {
  int exponentBits;
  int fractionBits;
};
constexpr SmallFloat kHalf{5, 10};
constexpr SmallFloat kBrain{8, 7};

uint16_t encode(SmallFloat format, double value) {
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const int infinity = ((1 << format.exponentBits) - 1) << format.fractionBits;
  const auto withSign = [&](int magnitude) {
    return static_cast<uint16_t>((std::signbit(value) ? 0x8000 : 0) | magnitude);
  };
  if (std::isnan(value)) return withSign(infinity | 1 << (format.fractionBits - 1));
  if (std::isinf(value)) return withSign(infinity);
  if (value == 0) return withSign(0);

  int exponent = std::ilogb(value);
  if (exponent < 1 - bias) exponent = 1 - bias;  // subnormal: the fraction has no implied one
  // Units of the last place; rounding may carry into the exponent, which the addition gets right.
  const double units = std::nearbyint(std::ldexp(std::fabs(value), format.fractionBits - exponent));
  const double bits = std::ldexp(exponent + bias - 1, format.fractionBits) + units;
  return withSign(bits >= infinity ? infinity : static_cast<int>(bits));
}

double decode(SmallFloat format, uint16_t bits) {
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> format.fractionBits;
  const int fraction = bits & ((1 << format.fractionBits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << format.exponentBits) - 1) {
    return fraction != 0 ? std::nan("") : sign * INFINITY;
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - format.fractionBits);
  return sign *
         std::ldexp((1 << format.fractionBits) + fraction, exponent - bias - format.fractionBits);
}

template <class T>
void put(void* where, T value) {
  std::memcpy(where, &value, sizeof value);
}

template <class T>
T get(const void* where) {
  T value;
  std::memcpy(&value, where, sizeof value);
  return value;
}

}  // namespace

std::span<const ElementType> elementTypes() { return kTypes; }
std::span<const Operator> operators() { return kOperators; }

const Operator& noOperator() {
  static constexpr Operator kNone{rondoMax, "none"};
  return kNone;
}

const ElementType& noElementType() {
  static constexpr ElementType kNone{rondoInt8, "none", 1, NumberKind::kSigned, 127};
  return kNone;
}

const ElementType* findElementType(std::string_view name) {
  for (const ElementType& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

const ElementType* findElementType(rondoDataType_t id) {
  for (const ElementType& type : kTypes) {
    if (id == type.id) return &type;
  }
  return nullptr;
}

const Operator* findOperator(std::string_view name) {
  for (const Operator& op : kOperators) {
    if (name == op.name) return &op;
  }
  return nullptr;
}

void storeElement(const ElementType& type, double value, void* where) {
  switch (type.id) {
    case rondoInt8:
      return put(where, static_cast<int8_t>(value));
    case rondoUint8:
      return put(where, static_cast<uint8_t>(value));
    case rondoInt16:
      return put(where, static_cast<int16_t>(value));
    case rondoUint16:
      return put(where, static_cast<uint16_t>(value));
    case rondoInt32:
      return put(where, static_cast<int32_t>(value));
    case rondoUint32:
      return put(where, static_cast<uint32_t>(value));
    case rondoInt64:
      return put(where, static_cast<int64_t>(value));
    case rondoUint64:
      return put(where, static_cast<uint64_t>(value));
    case rondoFloat16:
      return put(where, encode(kHalf, value));
    case rondoBfloat16:
      return put(where, encode(kBrain, value));
    case rondoFloat32:
      return put(where, static_cast<float>(value));
    default:
      return put(where, value);
  }
}

double loadElement(const ElementType& type, const void* where) {
  switch (type.id) {
    case rondoInt8:
      return get<int8_t>(where);
    case rondoUint8:
      return get<uint8_t>(where);
    case rondoInt16:
      return get<int16_t>(where);
    case rondoUint16:
      return get<uint16_t>(where);
    case rondoInt32:
      return get<int32_t>(where);
    case rondoUint32:
      return get<uint32_t>(where);
    case rondoInt64:
      return static_cast<double>(get<int64_t>(where));
    case rondoUint64:
      return static_cast<double>(get<uint64_t>(where));
    case rondoFloat16:
      return decode(kHalf, get<uint16_t>(where));
    case rondoBfloat16:
      return decode(kBrain, get<uint16_t>(where));
    case rondoFloat32:
      return get<float>(where);
    default:
      return get<double>(where);
  }
}

}  // namespace rondo::bench

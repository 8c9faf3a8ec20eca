#include "element_type.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace rondo::bench {
namespace {

// 64-bit integers stop at 2^53 because the values are worked out in doubles.
constexpr double kDoubleLimit = 9007199254740992.0;

constexpr ElementType single(rondoDataType_t id, const char* name, size_t size, NumberKind kind,
                             double limit) {
  return {id, name, size, kind, limit, id};
}

constexpr ElementType kTypes[] = {
    single(rondoInt8, "int8", 1, NumberKind::kSigned, 127),
    single(rondoUint8, "uint8", 1, NumberKind::kUnsigned, 255),
    single(rondoInt16, "int16", 2, NumberKind::kSigned, 32767),
    single(rondoUint16, "uint16", 2, NumberKind::kUnsigned, 65535),
    single(rondoInt32, "int32", 4, NumberKind::kSigned, 2147483647.0),
    single(rondoUint32, "uint32", 4, NumberKind::kUnsigned, 4294967295.0),
    single(rondoInt64, "int64", 8, NumberKind::kSigned, kDoubleLimit),
    single(rondoUint64, "uint64", 8, NumberKind::kUnsigned, kDoubleLimit),
    single(rondoFloat8e4m3, "float8e4m3", 1, NumberKind::kFloat, 16),
    single(rondoFloat8e5m2, "float8e5m2", 1, NumberKind::kFloat, 8),
    single(rondoFloat16, "float16", 2, NumberKind::kFloat, 2048),
    single(rondoBfloat16, "bfloat16", 2, NumberKind::kFloat, 256),
    single(rondoFloat32, "float32", 4, NumberKind::kFloat, 16777216.0),
    single(rondoFloat64, "float64", 8, NumberKind::kFloat, kDoubleLimit),
    {rondoComplex64, "complex64", 8, NumberKind::kComplex, 16777216.0, rondoFloat32},
    {rondoComplex128, "complex128", 16, NumberKind::kComplex, kDoubleLimit, rondoFloat64},
    single(rondoBool, "bool", 1, NumberKind::kBool, 1),
    {rondoFloat32Int32, "float32int32", 8, NumberKind::kPair, 16777216.0, rondoFloat32},
    {rondoFloat64Int32, "float64int32", 16, NumberKind::kPair, kDoubleLimit, rondoFloat64},
    {rondoInt64Int32, "int64int32", 16, NumberKind::kPair, kDoubleLimit, rondoInt64},
    {rondoInt32Int32, "int32int32", 8, NumberKind::kPair, 2147483647.0, rondoInt32},
    {rondoInt16Int32, "int16int32", 8, NumberKind::kPair, 32767, rondoInt16},
};

constexpr Operator kOperators[] = {
    {rondoSum, "sum"},       {rondoProd, "prod"},       {rondoMin, "min"},
    {rondoMax, "max"},       {rondoAvg, "avg"},         {rondoLogicalAnd, "land"},
    {rondoLogicalOr, "lor"}, {rondoLogicalXor, "lxor"}, {rondoBitAnd, "band"},
    {rondoBitOr, "bor"},     {rondoBitXor, "bxor"},     {rondoMinLoc, "minloc"},
    {rondoMaxLoc, "maxloc"}, {kPreMulSum, "premulsum"},
};

/// A small float is sign, exponent, fraction; how many bits each field has, and what becomes of
/// numbers beyond the largest.
struct SmallFloat {
  int exponentBits;
  int fractionBits;
  int overflow;
  int nan;
  bool infinities;  ///< The largest exponent is of infinity and NaN alone.
};
constexpr SmallFloat kHalf{5, 10, 0x7c00, 0x7e00, true};
constexpr SmallFloat kBrain{8, 7, 0x7f80, 0x7fc0, true};
constexpr SmallFloat kE4m3{4, 3, 0x7e, 0x7f, false};
constexpr SmallFloat kE5m2{5, 2, 0x7b, 0x7f, true};

int encode(SmallFloat format, double value) {
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const int signBit = 1 << (format.exponentBits + format.fractionBits);
  const auto withSign = [&](int magnitude) {
    return (std::signbit(value) ? signBit : 0) | magnitude;
  };
  if (std::isnan(value)) return withSign(format.nan);
  if (std::isinf(value)) return withSign(format.overflow);
  if (value == 0) return withSign(0);

  int exponent = std::ilogb(value);
  if (exponent < 1 - bias) exponent = 1 - bias;  // subnormal: the fraction has no implied one
  // Units of the last place; rounding may carry into the exponent, which the addition gets right.
  const double units = std::nearbyint(std::ldexp(std::fabs(value), format.fractionBits - exponent));
  const double bits = std::ldexp(exponent + bias - 1, format.fractionBits) + units;
  return withSign(bits >= format.overflow ? format.overflow : static_cast<int>(bits));
}

double decode(SmallFloat format, int bits) {
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const int signBit = 1 << (format.exponentBits + format.fractionBits);
  const int magnitude = bits & (signBit - 1);
  const int exponent = magnitude >> format.fractionBits;
  const int fraction = magnitude & ((1 << format.fractionBits) - 1);
  const double sign = bits & signBit ? -1 : 1;
  const bool last = exponent == (1 << format.exponentBits) - 1;
  if (last && format.infinities) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (magnitude == format.nan) return std::nan("");
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
  static constexpr ElementType kNone = single(rondoInt8, "none", 1, NumberKind::kSigned, 127);
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

size_t ElementType::indexAt() const {
  return kind == NumberKind::kPair ? std::max<size_t>(4, findElementType(part)->size) : size;
}

bool isDefined(const ElementType& type, const Operator& op) {
  const bool integer = type.kind == NumberKind::kSigned || type.kind == NumberKind::kUnsigned;
  switch (op.id) {
    case rondoSum:
    case rondoProd:
    case rondoAvg:
    case kPreMulSum:
      return type.kind != NumberKind::kBool && type.kind != NumberKind::kPair;
    case rondoMin:
    case rondoMax:
      return integer || type.kind == NumberKind::kFloat;
    case rondoMinLoc:
    case rondoMaxLoc:
      return type.kind == NumberKind::kPair;
    default:
      return integer || type.kind == NumberKind::kBool;
  }
}

std::string definedOperators(const ElementType& type) {
  std::string names;
  for (const Operator& op : kOperators) {
    if (isDefined(type, op)) names += (names.empty() ? "" : ", ") + std::string(op.name);
  }
  return names;
}

void storeElement(const ElementType& type, double value, void* where) {
  switch (type.id) {
    case rondoInt8:
      return put(where, static_cast<int8_t>(value));
    case rondoFloat8e4m3:
      return put(where, static_cast<uint8_t>(encode(kE4m3, value)));
    case rondoFloat8e5m2:
      return put(where, static_cast<uint8_t>(encode(kE5m2, value)));
    case rondoBool:
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
      return put(where, static_cast<uint16_t>(encode(kHalf, value)));
    case rondoBfloat16:
      return put(where, static_cast<uint16_t>(encode(kBrain, value)));
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
    case rondoFloat8e4m3:
      return decode(kE4m3, get<uint8_t>(where));
    case rondoFloat8e5m2:
      return decode(kE5m2, get<uint8_t>(where));
    case rondoBool:
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

void storeValue(const ElementType& type, const Value& value, void* where) {
  if (type.kind != NumberKind::kComplex && type.kind != NumberKind::kPair) {
    return storeElement(type, value.first, where);
  }
  const ElementType& part = *findElementType(type.part);
  char* const at = static_cast<char*>(where);
  std::memset(at, 0, type.size);
  storeElement(part, value.first, at);
  if (type.kind == NumberKind::kComplex) return storeElement(part, value.second, at + part.size);
  put(at + type.indexAt(), static_cast<int32_t>(value.second));
}

Value loadValue(const ElementType& type, const void* where) {
  if (type.kind != NumberKind::kComplex && type.kind != NumberKind::kPair) {
    return {loadElement(type, where), 0};
  }
  const ElementType& part = *findElementType(type.part);
  const char* const at = static_cast<const char*>(where);
  const bool complex = type.kind == NumberKind::kComplex;
  return {loadElement(part, at),
          complex ? loadElement(part, at + part.size) : get<int32_t>(at + type.indexAt())};
}

bool sameElement(const ElementType& type, const void* a, const void* b) {
  if (type.kind != NumberKind::kPair) return std::memcmp(a, b, type.size) == 0;
  const size_t value = findElementType(type.part)->size, index = type.indexAt();
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  return std::memcmp(x, y, value) == 0 && std::memcmp(x + index, y + index, sizeof(int32_t)) == 0;
}

}  // namespace rondo::bench

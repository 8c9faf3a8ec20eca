#pragma once
// Values for collectives: element types as C++ types, numbers that are exact in every type whatever
// the order of the operations, and the plain answer.

#include <cstring>
#include <vector>

#include "api/types.h"
#include "unit/reduce_reference.h"

namespace rondo::testing {

template <class T>
T encode(int value) {
  if constexpr (std::is_same_v<T, reference::HalfBits>) {
    return T{reference::Half::round(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, reference::BfloatBits>) {
    return T{reference::Bfloat::round(static_cast<float>(value))};
  } else {
    return static_cast<T>(value);
  }
}

/// f(T{}) with the C++ type of a rondoDataType_t.
template <class F>
void withType(rondoDataType_t type, const F& f) {
  switch (type) {
    case rondoInt8:
      return f(int8_t{});
    case rondoUint8:
      return f(uint8_t{});
    case rondoInt16:
      return f(int16_t{});
    case rondoUint16:
      return f(uint16_t{});
    case rondoInt32:
      return f(int32_t{});
    case rondoUint32:
      return f(uint32_t{});
    case rondoInt64:
      return f(int64_t{});
    case rondoUint64:
      return f(uint64_t{});
    case rondoFloat16:
      return f(reference::HalfBits{});
    case rondoBfloat16:
      return f(reference::BfloatBits{});
    case rondoFloat32:
      return f(float{});
    default:
      return f(double{});
  }
}

inline bool isSigned(rondoDataType_t type) {
  return type != rondoUint8 && type != rondoUint16 && type != rondoUint32 && type != rondoUint64;
}

/// Values repeat with a period that no block size shares.
constexpr size_t kValuePeriod = 97;

/// Element i of `rank`'s contribution: sums of 17 ranks stay below 128, products are powers of two.
inline int exactValue(rondoDataType_t type, rondoRedOp_t op, int rank, size_t i) {
  const int k = static_cast<int>(i % kValuePeriod) * 5 + rank * 7;
  const int sign = isSigned(type) && k % 4 == 3 ? -1 : 1;
  if (op == rondoProd) return sign * (k % 3 == 0 ? 2 : 1);
  return sign * (k % 8);
}

/// Bytes of kValuePeriod elements of a rank's contribution.
inline std::vector<char> contribution(rondoDataType_t type, rondoRedOp_t op, int rank) {
  std::vector<char> bytes(kValuePeriod * typeSize(type));
  withType(type, [&](auto kind) {
    using T = decltype(kind);
    for (size_t i = 0; i < kValuePeriod; ++i) {
      const T value = encode<T>(exactValue(type, op, rank, i));
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

/// op over the ranks' contributions in rank order, element by element. inputs[r] points to `count`
/// elements, aligned or not.
inline std::vector<char> plainReduce(rondoDataType_t type, rondoRedOp_t op, size_t count,
                                     const std::vector<const char*>& inputs) {
  std::vector<char> bytes(count * typeSize(type));
  const int n = static_cast<int>(inputs.size());
  withType(type, [&](auto kind) {
    using T = decltype(kind);
    for (size_t i = 0; i < count; ++i) {
      const T value = reference::reduce<T>(op, n, static_cast<uint32_t>(n), [&](int r) {
        T operand;
        std::memcpy(&operand, inputs[static_cast<size_t>(r)] + i * sizeof(T), sizeof(T));
        return operand;
      });
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

/// kValuePeriod elements of what an all-reduce of exact values must give.
inline std::vector<char> expectedValues(rondoDataType_t type, rondoRedOp_t op, int ranks) {
  std::vector<std::vector<char>> parts;
  std::vector<const char*> inputs;
  for (int r = 0; r < ranks; ++r) parts.push_back(contribution(type, op, r));
  for (const auto& part : parts) inputs.push_back(part.data());
  return plainReduce(type, op, kValuePeriod, inputs);
}

/// Writes `bytes` bytes of a repeating pattern.
inline void repeat(char* out, size_t bytes, const std::vector<char>& pattern) {
  for (size_t at = 0; at < bytes; at += pattern.size()) {
    std::memcpy(out + at, pattern.data(),
                bytes - at < pattern.size() ? bytes - at : pattern.size());
  }
}

/// The first byte that differs from the repeating pattern, or `bytes`.
inline size_t firstWrong(const char* got, size_t bytes, const std::vector<char>& pattern) {
  for (size_t at = 0; at < bytes; at += pattern.size()) {
    const size_t part = bytes - at < pattern.size() ? bytes - at : pattern.size();
    if (std::memcmp(got + at, pattern.data(), part) == 0) continue;
    for (size_t k = 0; k < part; ++k) {
      if (got[at + k] != pattern[k]) return at + k;
    }
  }
  return bytes;
}

}  // namespace rondo::testing

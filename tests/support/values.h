#pragma once
// Values for collectives: element types as C++ types, numbers that are exact in every type whatever
// the order of the operations, and the plain answer.

#include <cstring>
#include <vector>

#include "api/types.h"
#include "unit/reduce_reference.h"

namespace rondo::testing {

using reference::withType;

/// A small whole number. Complex ones that are multiplied (1 and 2) become 1 and 1 + 2i, whose
/// products are exact and have no zero part whose sign hangs on the association. Pairs have equal
/// values with different indices.
template <class T>
T encode(int value) {
  if constexpr (reference::kIsNarrow<T>) {
    return T{T::Format::round(static_cast<float>(value))};
  } else if constexpr (reference::kIsComplex<T>) {
    using Part = typename T::value_type;
    const int size = value < 0 ? -value : value;
    if (size == 1 || size == 2) return T(1, size == 2 ? 2 : 0);
    return T(static_cast<Part>(value), static_cast<Part>(3 - value));
  } else if constexpr (reference::kIsPair<T>) {
    T pair{};
    pair.value = static_cast<typename T::Value>(value / 2);
    pair.index = 10 - value;
    return pair;
  } else if constexpr (std::is_same_v<T, reference::BoolByte>) {
    return T{static_cast<uint8_t>(value)};
  } else {
    return static_cast<T>(value);
  }
}

inline bool isSigned(rondoDataType_t type) {
  return type != rondoUint8 && type != rondoUint16 && type != rondoUint32 && type != rondoUint64;
}

/// One of the operators that are defined for `type`, the same for the same `draw`.
inline rondoRedOp_t someOp(rondoDataType_t type, unsigned draw) {
  std::vector<rondoRedOp_t> defined;
  for (const rondoRedOp_t op : kAllOps) {
    if (opDefined(type, op)) defined.push_back(op);
  }
  return defined[draw % defined.size()];
}

/// Values repeat with a period that no block size shares.
constexpr size_t kValuePeriod = 97;

/// Element i of `rank`'s contribution: sums of 17 ranks stay below 128, products are powers of two.
inline int exactValue(rondoDataType_t type, rondoRedOp_t op, int rank, size_t i) {
  const int k = static_cast<int>(i % kValuePeriod) * 5 + rank * 7;
  const int sign = isSigned(type) && k % 4 == 3 ? -1 : 1;
  if (op != rondoProd && (type == rondoFloat8e4m3 || type == rondoFloat8e5m2)) {
    constexpr int kFew[] = {1, -1, 0, 1};  // 8-bit floats have whole numbers up to 16 and 8 only.
    return kFew[k % 4];
  }
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

/// op over the ranks' contributions in rank order, or as the balanced tree, element by element.
/// inputs[r] points to `count` elements, aligned or not.
inline std::vector<char> plainReduce(rondoDataType_t type, rondoRedOp_t op, size_t count,
                                     const std::vector<const char*>& inputs, bool tree = false) {
  std::vector<char> bytes(count * typeSize(type));
  const int n = static_cast<int>(inputs.size());
  withType(type, [&](auto kind) {
    using T = decltype(kind);
    for (size_t i = 0; i < count; ++i) {
      const auto operand = [&](int r) {
        T one;
        std::memcpy(&one, inputs[static_cast<size_t>(r)] + i * sizeof(T), sizeof(T));
        return one;
      };
      const T value = reference::reduce<T>(op, n, static_cast<uint32_t>(n), operand, tree);
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

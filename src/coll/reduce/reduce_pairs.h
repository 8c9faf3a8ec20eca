#pragma once
// minloc and maxloc on {value, index} pairs. See reduce_vector.h for the rule on linkage.
//
// A value becomes a signed integer whose order is the operator's: smaller is better, and a NaN is
// better than everything. Then both operators are a minimum of (value, index).

#include <limits>

#include "coll/reduce/reduce_ops.h"

namespace rondo {
namespace {

/// Integers: their own keys.
template <class T>
struct ValueKey {
  using Key = T;
  static constexpr Key kPad = -1;  ///< Bits of the value's lane that the value has.
  template <int W>
  RONDO_INLINE static Vec<Key, W> of(Vec<Key, W> x) {
    return x;
  }
  template <int W>
  RONDO_INLINE static Vec<Key, W> back(Vec<Key, W> key) {
    return key;
  }
};

/// The upper half of the lane is padding.
template <>
struct ValueKey<int16_t> : ValueKey<int32_t> {
  static constexpr Key kPad = 0xffff;
  template <int W>
  RONDO_INLINE static Vec<Key, W> of(Vec<Key, W> x) {
    return as<Key>(as<uint32_t>(x) << 16) >> 16;
  }
};

/// Floats: flipping the magnitude of the negative ones makes the order of the bits the order of the
/// values, with -0 below +0.
template <class T, class Int>
struct FloatKey : ValueKey<Int> {
  template <int W>
  RONDO_INLINE static Vec<Int, W> of(Vec<Int, W> x) {
    constexpr Int kMagnitude = std::numeric_limits<Int>::max();
    return x ^ ((x < 0) & kMagnitude);
  }
  template <int W>
  RONDO_INLINE static Vec<Int, W> back(Vec<Int, W> key) {
    return of<W>(key);
  }
  template <int W>
  RONDO_INLINE static Vec<Int, W> isNan(Vec<Int, W> x) {
    constexpr Int kMagnitude = std::numeric_limits<Int>::max();
    constexpr Int kInfinity = sizeof(Int) == 4 ? Int(0x7f800000) : Int(0x7ff0000000000000);
    return (x & kMagnitude) > kInfinity;
  }
  static constexpr Int kNan = static_cast<Int>(FloatBits<T>::kNan);
};
template <>
struct ValueKey<float> : FloatKey<float, int32_t> {};
template <>
struct ValueKey<double> : FloatKey<double, int64_t> {};

/// Values to keys and back, for either operator. A float's key that no number has, the least one,
/// stands for NaN.
template <class T, bool Largest>
struct BestKey {
  using Values = ValueKey<T>;
  using Key = typename Values::Key;
  static constexpr bool kIsFloat = requires { Values::kNan; };
  static constexpr Key kLeast = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));

  template <int W>
  RONDO_INLINE static Vec<Key, W> of(Vec<Key, W> x) {
    Vec<Key, W> key = Values::template of<W>(x);
    if constexpr (Largest) key = ~key;
    if constexpr (kIsFloat) key = Values::template isNan<W>(x) ? splat<Key, W>(kLeast) : key;
    return key;
  }
  template <int W>
  RONDO_INLINE static Vec<Key, W> back(Vec<Key, W> key) {
    Vec<Key, W> x = Values::template back<W>(Largest ? ~key : key) & Values::kPad;
    if constexpr (kIsFloat) x = key == kLeast ? splat<Key, W>(Values::kNan) : x;
    return x;
  }
};

struct PairKernel {
  static constexpr int kLeast = 2;
  static constexpr int kTile = 2;
  static constexpr bool kArithmetic = false;
  static constexpr bool kAssociative = true;
  using Post = NoPost;
};

/// 8 bytes: value and index become one signed integer of 64 bits, the value's key above.
template <class T, bool Largest>
struct Pair8 : PairKernel {
  static constexpr size_t kElement = 8;
  using Keys = BestKey<T, Largest>;
  static constexpr int32_t kBiased = INT32_MIN;  ///< Makes a signed index an unsigned one.
  template <int W>
  using Acc = Vec<int64_t, W>;
  template <int W>
  RONDO_INLINE static Vec<int32_t, W> turned(Vec<int32_t, W> x) {
    const Vec<uint64_t, W> v = as<uint64_t>(x);
    return as<int32_t>((v << 32) | (v >> 32));
  }
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> raw) {
    const Vec<int32_t, W> x = as<int32_t>(raw);
    const Vec<int32_t, W> value = Keys::template of<W>(x);
    return as<int64_t>(turned<W>(firstOfPairs<int32_t, W>() ? value : x ^ kBiased));
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(Acc<W> a, Acc<W> b) {
    return a < b ? a : b;
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post&) {
    const Vec<int32_t, W> x = turned<W>(as<int32_t>(acc));
    const Vec<int32_t, W> value = Keys::template back<W>(x);
    return as<uint64_t>(firstOfPairs<int32_t, W>() ? value : x ^ kBiased);
  }
};

/// 16 bytes: a lane of the value's keys, a lane of indices, moved up so that the padding is gone.
template <class T, bool Largest>
struct Pair16 : PairKernel {
  static constexpr size_t kElement = 16;
  using Keys = BestKey<T, Largest>;
  template <int W>
  using Acc = Vec<int64_t, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> raw) {
    const Vec<int64_t, W> value = Keys::template of<W>(as<int64_t>(raw));
    return firstOfPairs<int64_t, W>() ? value : as<int64_t>(raw << 32);
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(Acc<W> a, Acc<W> b) {
    constexpr Lanes<int64_t, W> kLanes;
    const Vec<int64_t, W> less = as<int64_t>(b < a);
    const Vec<int64_t, W> same = as<int64_t>(b == a);
    const Vec<int64_t, W> second = firstTwice(same, kLanes) & secondTwice(less, kLanes);
    return (firstTwice(less, kLanes) | second) ? b : a;
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post&) {
    const Vec<int64_t, W> value = Keys::template back<W>(acc);
    const Vec<int64_t, W> index = as<int64_t>(as<uint64_t>(acc) >> 32);
    return as<uint64_t>(firstOfPairs<int64_t, W>() ? value : index);
  }
};

}  // namespace
}  // namespace rondo

#pragma once
// Vectors of W bytes for the host kernels (GCC/Clang vector extensions): load, store, store past
// the caches.
//
// This header and its siblings that include it are compiled once per CPU level with different
// instruction sets. Everything in them is in an anonymous namespace, and they
// call no inline function of another header: a function with external linkage compiled for AVX-512
// could be the copy that the linker keeps for everybody.

#include <stddef.h>
#include <stdint.h>

#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define RONDO_INLINE [[gnu::always_inline]] inline

namespace rondo {
namespace {

template <class T, int W>
struct VecOf {
  typedef T type __attribute__((vector_size(W)));
};
template <class T, int W>
using Vec = typename VecOf<T, W>::type;

/// W bytes whose element type does not matter.
template <int W>
using Raw = Vec<uint64_t, W>;

/// The same bytes as lanes of T.
template <class T, class V>
RONDO_INLINE Vec<T, sizeof(V)> as(V v) {
  return reinterpret_cast<Vec<T, sizeof(V)>>(v);
}

template <class T, int W>
RONDO_INLINE Vec<T, W> splat(T x) {
  return x - Vec<T, W>{};  // Not 0 + x, which would lose the sign of -0.
}

/// Pairs of lanes: the first of each pair twice, the second twice, and the two exchanged.
template <class V, size_t... I>
RONDO_INLINE V firstTwice(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (I & ~size_t{1})...);
}
template <class V, size_t... I>
RONDO_INLINE V secondTwice(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (I | 1)...);
}
template <class V, size_t... I>
RONDO_INLINE V exchanged(V v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (I ^ 1)...);
}
template <class V, size_t... I>
RONDO_INLINE V firstLanes(std::index_sequence<I...>) {
  return V{(I % 2 == 0 ? -1 : 0)...};
}
template <class T, int W>
using Lanes = std::make_index_sequence<W / sizeof(T)>;

/// A mask of the first lane of each pair. T: a signed integer.
template <class T, int W>
RONDO_INLINE Vec<T, W> firstOfPairs() {
  return firstLanes<Vec<T, W>>(Lanes<T, W>());
}

template <class T>
RONDO_INLINE T read(const char* p) {
  T x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

template <class T>
RONDO_INLINE void write(char* p, T x) {
  __builtin_memcpy(p, &x, sizeof x);
}

template <int W>
RONDO_INLINE Raw<W> load(const char* p) {
  Raw<W> v;
  __builtin_memcpy(&v, p, W);
  return v;
}

template <int W>
RONDO_INLINE void store(char* p, Raw<W> v) {
  __builtin_memcpy(p, &v, W);
}

/// Past the caches where the instruction set can; `p` is a multiple of W.
template <int W>
RONDO_INLINE void storePast(char* p, Raw<W> v) {
#if defined(__AVX512F__)
  if constexpr (W == 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
    return;
  }
#endif
#if defined(__AVX2__)
  if constexpr (W == 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
    return;
  }
#endif
#if defined(__x86_64__)
  if constexpr (W == 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
    return;
  }
#endif
  store<W>(p, v);
}

RONDO_INLINE void fenceStores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

/// The first H and the last H of `bytes` (H <= bytes <= 2 H <= 16) in the first lanes of 16 bytes,
/// the rest zero. Elements where they overlap are there twice, which elementwise work does not
/// mind.
template <class H>
RONDO_INLINE Raw<16> loadEnds(const char* p, size_t bytes) {
  Vec<H, 16> v{};
  v[0] = read<H>(p);
  v[1] = read<H>(p + bytes - sizeof(H));
  return as<uint64_t>(v);
}

template <class H>
RONDO_INLINE void storeEnds(char* p, size_t bytes, Raw<16> raw) {
  const Vec<H, 16> v = as<H>(raw);
  write<H>(p, v[0]);
  write<H>(p + bytes - sizeof(H), v[1]);
}

}  // namespace
}  // namespace rondo

#pragma once
// 8-bit floats to float32 and back by tables of 128 bytes, which AVX-512 VBMI looks up for 64
// elements at once. See reduce_vector.h for the rule on linkage.
//
// A byte's float32 has a mantissa of at most 3 bits, so that its upper half says everything. On the
// way back the upper half is taken with a last bit that says whether anything was cut off ("round
// to odd"): its 8 bits of mantissa are at least two more than a byte keeps, and round as the whole.
// The half is handled as two bytes: `high`, the sign and the exponent but for its last bit, and
// `low`, that bit and the mantissa.

#include "coll/reduce/reduce_vector.h"

#if defined(__AVX512VBMI__)

namespace rondo {
namespace {

/// The way from a half to a byte: by the exponent's even part, plus kStep (modulo 256) if it is
/// odd.
// Without the top bit it is the row in Float8Tables::denormal, with a coarse mantissa for a column.
constexpr uint8_t kSpecialRow = 0x00;  ///< Infinity and NaN.
constexpr uint8_t kTiny = 0x10;        ///< And 0x20: rounds to zero.
constexpr uint8_t kNormal = 0x80;      ///< And 0x90.
constexpr uint8_t kTop = 0xf0;         ///< Normal, and kSpecialRow for the odd exponent.
constexpr uint8_t kStep = 0x10;

template <class Format>
struct Float8Tables {
  alignas(64) uint8_t high[128];      ///< By the byte without its sign.
  alignas(64) uint8_t low[128];       ///< The same.
  alignas(64) uint8_t base[128];      ///< By `high` without its sign: exponent of a normal result.
  alignas(64) uint8_t way[128];       ///< The same: which way, see above.
  alignas(64) uint8_t mantissa[128];  ///< By `low` without its top bit: rounded to the byte's.
  alignas(64) uint8_t coarse[128];    ///< The same: four bits, the last of them odd.
  alignas(64) uint8_t denormal[128];  ///< By exponent and coarse mantissa: the result.

  static constexpr int kMantissa = 23 - Format::kDrop;
  static constexpr int kFirstNormal = static_cast<int>(Format::kBias) + 1;  ///< Exponent field.

  static constexpr uint8_t rounded(int value, int shift) {
    const int whole = value >> shift, rest = value & ((1 << shift) - 1), half = 1 << (shift - 1);
    return static_cast<uint8_t>(whole + (rest > half || (rest == half && whole % 2 == 1) ? 1 : 0));
  }
  /// The upper half of the float32 of byte `b`.
  static constexpr int halfOf(int b) {
    if (b == 0) return 0;
    if (b >= Format::kSpecial) return b >= Format::kFirstNan ? 0x7fc0 : 0x7f80;
    const int exponent = b >> kMantissa, bits = b & ((1 << kMantissa) - 1);
    int top = kMantissa;
    while (exponent == 0 && bits >> top == 0) --top;
    const int field = kFirstNormal - 1 + (exponent ? exponent : 1 + top - kMantissa);
    return field << 7 | ((bits << (7 - top)) & 0x7f);
  }
  /// Of the even one of two exponents.
  static constexpr uint8_t wayOf(int exponent) {
    const int row = exponent - (kFirstNormal - 8);
    if (exponent == 254) return kTop;
    if (row >= 8) return kNormal;
    return static_cast<uint8_t>(row >= 1 ? row * kStep : kTiny);
  }
  static constexpr uint8_t baseOf(int exponent) {
    const int field = exponent - kFirstNormal + 1;
    if (field < 0) return 0;
    return static_cast<uint8_t>(field > Format::kMax >> kMantissa ? Format::kMax
                                                                  : field << kMantissa);
  }
  constexpr Float8Tables() : high{}, low{}, base{}, way{}, mantissa{}, coarse{}, denormal{} {
    static_assert(kFirstNormal % 2 == 1, "wayOf() is of the even exponent of a pair");
    for (int i = 0; i < 128; ++i) {
      high[i] = static_cast<uint8_t>(halfOf(i) >> 8);
      low[i] = static_cast<uint8_t>(halfOf(i) & 0xff);
      base[i] = baseOf(2 * i);
      way[i] = wayOf(2 * i);
      mantissa[i] = static_cast<uint8_t>(rounded(128 + i, 7 - kMantissa) - (1 << kMantissa));
      coarse[i] = static_cast<uint8_t>(i >> 3 | (i % 8 != 0 ? 1 : 0));
      // Eight exponents below the first normal one, the least first.
      denormal[i] = rounded(16 + i % 16, 4 - kMantissa + 8 - i / 16);
      if (i / 16 == kSpecialRow) denormal[i] = i % 16 == 0 ? Format::kMax : 0x7f;
    }
  }
};
template <class Format>
constexpr Float8Tables<Format> kFloat8Tables;

RONDO_INLINE __m512i lookUp(const uint8_t (&table)[128], __m512i index) {
  return _mm512_permutex2var_epi8(_mm512_load_si512(table), index, _mm512_load_si512(table + 64));
}

/// Four vectors of float32 from a vector of bytes, in an order that bytesOf() undoes.
template <class Format>
RONDO_INLINE void halvesOf(__m512i bytes, __m512i words[2]) {
  const auto& tables = kFloat8Tables<Format>;
  constexpr int kSignOf = 0xf8;  // a | (b & c)
  const __m512i high =
      _mm512_ternarylogic_epi32(lookUp(tables.high, bytes), bytes, _mm512_set1_epi8(-128), kSignOf);
  const __m512i low = lookUp(tables.low, bytes);
  words[0] = _mm512_unpacklo_epi8(low, high);
  words[1] = _mm512_unpackhi_epi8(low, high);
}

/// Where the low (0) or the high (1) bytes of two vectors of words as halvesOf() deals them out
/// are.
struct WordBytes {
  alignas(64) uint8_t at[2][64];
  constexpr WordBytes() : at{} {
    for (int i = 0; i < 64; ++i) {
      const int word = i / 16 * 8 + i % 8, second = i % 16 / 8;
      for (int part = 0; part < 2; ++part) {
        at[part][i] = static_cast<uint8_t>(second * 64 + 2 * word + part);
      }
    }
  }
};
constexpr WordBytes kWordBytes;

RONDO_INLINE __m512i byteOfWords(int part) { return _mm512_load_si512(kWordBytes.at[part]); }

/// The byte of the upper half in each 16-bit lane, from words as halvesOf() deals them out.
template <class Format>
RONDO_INLINE __m512i bytesOf(__m512i first, __m512i second) {
  const auto& tables = kFloat8Tables<Format>;
  constexpr int kMantissa = Float8Tables<Format>::kMantissa;
  const auto all = [](int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); };
  const __m512i low = _mm512_permutex2var_epi8(first, byteOfWords(0), second);
  const __m512i high = _mm512_permutex2var_epi8(first, byteOfWords(1), second);
  const __mmask64 odd = _mm512_movepi8_mask(low);
  __m512i way = lookUp(tables.way, high);
  way = _mm512_mask_add_epi8(way, odd, way, all(kStep));
  __m512i base = lookUp(tables.base, high);
  base = _mm512_mask_add_epi8(base, odd, base, all(1 << kMantissa));
  const __m512i normal = _mm512_add_epi8(base, lookUp(tables.mantissa, low));
  const __m512i denormal =
      lookUp(tables.denormal, _mm512_or_si512(way, lookUp(tables.coarse, low)));

  __m512i result = _mm512_min_epu8(normal, all(Format::kMax));
  result = _mm512_mask_mov_epi8(denormal, _mm512_movepi8_mask(way), result);
  constexpr int kSignOf = 0xf8;
  result = _mm512_ternarylogic_epi32(result, high, all(-128), kSignOf);
  // The one number that no rounding gives is a NaN with a sign.
  return _mm512_mask_mov_epi8(result, _mm512_cmpeq_epi8_mask(result, all(-1)), all(0x7f));
}

/// The upper half of each of two vectors of float32, in turns; its last bit is set if the lower
/// half is not zero.
RONDO_INLINE __m512i oddHalves(__m512i even, __m512i odd) {
  constexpr __mmask32 kOdd = 0xaaaaaaaa;
  constexpr __mmask16 kAll = 0xffff;  // Without it GCC 12 warns of uninitialised values.
  const __m512i upper = _mm512_mask_blend_epi16(kOdd, _mm512_maskz_srli_epi32(kAll, even, 16), odd);
  const __m512i lower = _mm512_mask_blend_epi16(kOdd, even, _mm512_maskz_slli_epi32(kAll, odd, 16));
  return _mm512_or_si512(upper, _mm512_min_epu16(lower, _mm512_set1_epi16(1)));
}

}  // namespace
}  // namespace rondo

#endif

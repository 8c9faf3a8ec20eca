#include "coll/far_lines.h"

#include <atomic>

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#include <emmintrin.h>
#define RONDO_FAR_LINES_BY_TWO 1
#endif

namespace rondo {
namespace {

uint64_t look(const uint64_t& half) {
  return std::atomic_ref(const_cast<uint64_t&>(half)).load(std::memory_order_acquire);
}
void write(uint64_t& half, uint64_t value) {
  std::atomic_ref(half).store(value, std::memory_order_release);
}

#ifdef RONDO_FAR_LINES_BY_TWO
// Two full lines at a time, of a slot's first ones: how many lines. Processors read and write each
// half of a line whole, vectors too.

uint64_t takeByTwo(const FarLine* lines, uint64_t count, uint32_t tag, unsigned char* to) {
  const __m128i tags = _mm_set1_epi32(static_cast<int>(tag));
  uint64_t j = 0;
  for (; j + 2 <= count; j += 2) {
    const auto* const from = reinterpret_cast<const float*>(lines + j);
    const __m128 a = _mm_load_ps(from), b = _mm_load_ps(from + 4);
    const __m128i came = _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
    if (_mm_movemask_epi8(_mm_cmpeq_epi32(came, tags)) != 0xffff) break;
    _mm_storeu_ps(reinterpret_cast<float*>(to + j * kFarLineBytes),
                  _mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
  }
  return j;
}

uint64_t putByTwo(FarLine* lines, uint64_t count, uint32_t tag, const unsigned char* from) {
  const __m128i tags = _mm_set1_epi32(static_cast<int>(tag));
  uint64_t j = 0;
  for (; j + 2 <= count; j += 2) {
    const auto* const two = reinterpret_cast<const __m128i*>(from + j * kFarLineBytes);
    const __m128i data = _mm_loadu_si128(two);
    auto* const to = reinterpret_cast<__m128i*>(lines + j);
    _mm_store_si128(to, _mm_unpacklo_epi32(data, tags));
    _mm_store_si128(to + 1, _mm_unpackhi_epi32(data, tags));
  }
  return j;
}
#else
uint64_t takeByTwo(const FarLine*, uint64_t, uint32_t, unsigned char*) { return 0; }
uint64_t putByTwo(FarLine*, uint64_t, uint32_t, const unsigned char*) { return 0; }
#endif

}  // namespace

bool lineBegun(const FarLine& line, uint32_t tag) { return look(line.half[0]) >> 32 == tag; }

bool takeLines(const FarLine* lines, const FarLined& what, uint32_t tag, unsigned char* to) {
  const uint64_t each = what.perSlot();
  for (uint64_t s = 0; s < what.slots; ++s, lines += each) {
    uint64_t j = takeByTwo(lines, what.bytes / kFarLineBytes, tag, to + s * what.stride);
    for (; j < each; ++j) {
      const uint64_t first = look(lines[j].half[0]), second = look(lines[j].half[1]);
      if (first >> 32 != tag || second >> 32 != tag) return false;
      const FarLined::Place place = what.place(s, j);
      farUnline(to + place.offset, first, second, place.bytes);
    }
  }
  return true;
}

void putLines(FarLine* lines, const FarLined& what, uint32_t tag, const unsigned char* from) {
  const uint64_t each = what.perSlot();
  for (uint64_t s = 0; s < what.slots; ++s, lines += each) {
    uint64_t j = putByTwo(lines, what.bytes / kFarLineBytes, tag, from + s * what.stride);
    for (; j < each; ++j) {
      const FarLined::Place place = what.place(s, j);
      const FarLine line = farLine(from + place.offset, place.bytes, tag);
      write(lines[j].half[0], line.half[0]);
      write(lines[j].half[1], line.half[1]);
    }
  }
}

void clearLines(FarLine* lines, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    for (uint64_t& half : lines[i].half) write(half, 0);
  }
}

}  // namespace rondo

#pragma once
// How a copy into a port's space is made.

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/ticks.h"
#include "coll/reduce/reduce.h"
#include "p2p/staging_way.h"
#include "p2p/transport.h"

namespace rondo {

/// Copies whole lines to both, past the caches; returns how many bytes these were.
inline uint64_t streamTwice(void* first, void* second, const void* from, uint64_t bytes) {
#if defined(__x86_64__)
  constexpr uint64_t kLine = 64, kVector = sizeof(__m128i);
  const uint64_t whole = bytes / kLine * kLine;
  const auto at = [](auto* base, uint64_t offset) { return static_cast<__m128i*>(base) + offset; };
  for (uint64_t v = 0; v < whole / kVector; v += kLine / kVector) {
    __m128i line[kLine / kVector];
    for (uint64_t k = 0; k < kLine / kVector; ++k) {
      line[k] = _mm_loadu_si128(static_cast<const __m128i*>(from) + v + k);
    }
    for (uint64_t k = 0; k < kLine / kVector; ++k) _mm_stream_si128(at(first, v + k), line[k]);
    for (uint64_t k = 0; k < kLine / kVector; ++k) _mm_stream_si128(at(second, v + k), line[k]);
  }
  _mm_sfence();
  return whole;
#else
  static_cast<void>(first), static_cast<void>(second), static_cast<void>(from);
  return bytes * 0;
#endif
}

/// Copies all of the port's acquired space or a part of it, the way its writer has found the better
/// one so far. Only the copy is timed: what goes before it, a reduction, reads what peers wrote.
inline void copyToStaging(CopyFn copy, const SendPort& port, void* space, const void* from,
                          uint64_t bytes) {
  StagingWay* const way = bytes >= kLeastPast ? port.way() : nullptr;
  if (way == nullptr) return copy(space, nullptr, from, bytes, CopyTo::kStaging);
  const uint64_t began = ticks();
  copy(space, nullptr, from, bytes,
       way->past()   ? CopyTo::kPast
       : way->wide() ? CopyTo::kNear
                     : CopyTo::kStaging);
  way->learn(ticks() - began, bytes);
}

/// Whether a message of `bytes` bytes in the port's acquired space is to be written past the
/// caches.
inline bool goesPast(const SendPort& port, uint64_t bytes) {
  return bytes >= kLeastPast && port.way() != nullptr && port.way()->past();
}

/// Where it is, writes it and another copy of it, past the caches too, in one pass over `from`.
/// Both destinations begin at a line; `copy` takes what is left of the last one.
inline void copyPastTwice(CopyFn copy, const SendPort& port, void* space, void* other,
                          const void* from, uint64_t bytes) {
  const uint64_t began = ticks();
  const uint64_t whole = streamTwice(space, other, from, bytes);
  const auto rest = [whole](void* at) { return static_cast<char*>(at) + whole; };
  for (void* to : {space, other}) {
    copy(rest(to), nullptr, static_cast<const char*>(from) + whole, bytes - whole,
         CopyTo::kStaging);
  }
  port.way()->learn((ticks() - began) / 2, bytes);
}

/// What becomes of a copy of the message to the user. `past`: he is not going to find it in the
/// caches anyway.
inline CopyTo toUser(const Message& message, bool past) {
  return past ? CopyTo::kPast : message.wide ? CopyTo::kNear : CopyTo::kUser;
}

}  // namespace rondo

#include "kernels.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace rondo::bare {
namespace {

#if defined(__x86_64__)
#define BARE_CLONES __attribute__((target_clones("avx512f", "avx2", "default"), noinline))
#else
#define BARE_CLONES __attribute__((noinline))
#endif

BARE_CLONES void sum(float* __restrict out, const float* __restrict a, const float* __restrict b,
                     size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

BARE_CLONES void sumTwice(float* __restrict out, float* __restrict also, const float* __restrict a,
                          const float* __restrict b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const float x = a[i] + b[i];
    out[i] = x;
    also[i] = x;
  }
}

/// Past the caches; out is 16-byte aligned. `also` may be nullptr.
void sumPast(float* out, float* also, const float* a, const float* b, size_t n) {
  size_t i = 0;
#if defined(__x86_64__)
  for (; i + 4 <= n; i += 4) {
    const __m128 x = _mm_add_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i));
    _mm_stream_ps(out + i, x);
    if (also != nullptr) _mm_stream_ps(also + i, x);
  }
  _mm_sfence();
#endif
  for (; i < n; ++i) {
    out[i] = a[i] + b[i];
    if (also != nullptr) also[i] = out[i];
  }
}

/// The half of the elements that `rank` sums.
struct Half {
  size_t at, count;
};
Half halfOf(int rank, size_t count) {
  const size_t cut = count / 2 / 4 * 4;  // keeps alignment
  return rank == 0 ? Half{0, cut} : Half{cut, count - cut};
}

void eachSumsAll(Pair& p, size_t n) { sum(p.recv[p.rank], p.send[p.rank], p.send[1 - p.rank], n); }

void push(Pair& p, size_t n) {
  const Half h = halfOf(p.rank, n);
  sumTwice(p.recv[p.rank] + h.at, p.recv[1 - p.rank] + h.at, p.send[p.rank] + h.at,
           p.send[1 - p.rank] + h.at, h.count);
  p.meet();
}

void pushPast(Pair& p, size_t n) {
  const Half h = halfOf(p.rank, n);
  sumPast(p.recv[p.rank] + h.at, p.recv[1 - p.rank] + h.at, p.send[p.rank] + h.at,
          p.send[1 - p.rank] + h.at, h.count);
  p.meet();
}

void copyOthersHalf(Pair& p, size_t n) {
  const Half other = halfOf(1 - p.rank, n);
  p.meet();
  std::memcpy(p.recv[p.rank] + other.at, p.recv[1 - p.rank] + other.at,
              other.count * sizeof(float));
}

void reduceScatterAllGather(Pair& p, size_t n) {
  const Half h = halfOf(p.rank, n);
  sum(p.recv[p.rank] + h.at, p.send[p.rank] + h.at, p.send[1 - p.rank] + h.at, h.count);
  copyOthersHalf(p, n);
}

void reduceScatterAllGatherPast(Pair& p, size_t n) {
  const Half h = halfOf(p.rank, n);
  sumPast(p.recv[p.rank] + h.at, nullptr, p.send[p.rank] + h.at, p.send[1 - p.rank] + h.at,
          h.count);
  copyOthersHalf(p, n);
}

/// Through the staging only, 32 KiB at a time, two buffers in turn: hand over what the other one
/// sums, sum, hand over the sums, copy them out.
void bounce(Pair& p, size_t n) {
  constexpr size_t kChunk = Shared::kStaging / 2 / sizeof(float);
  const Half mine = halfOf(p.rank, n), other = halfOf(1 - p.rank, n);
  const size_t longest = std::max(mine.count, other.count);
  size_t turn = 0;
  for (const bool gather : {false, true}) {
    const float* from = gather ? p.recv[p.rank] + mine.at : p.send[p.rank] + other.at;
    const size_t out = gather ? mine.count : other.count, in = gather ? other.count : mine.count;
    for (size_t i = 0; i < longest; i += kChunk, ++turn) {
      const size_t place = turn % 2 * kChunk * sizeof(float);
      if (i < out) {
        std::memcpy(p.shared->staging[p.rank] + place, from + i,
                    std::min(kChunk, out - i) * sizeof(float));
      }
      p.meet();
      if (i >= in) continue;
      const float* came = reinterpret_cast<const float*>(p.shared->staging[1 - p.rank] + place);
      const size_t k = std::min(kChunk, in - i);
      if (gather) {
        std::memcpy(p.recv[p.rank] + other.at + i, came, k * sizeof(float));
      } else {
        sum(p.recv[p.rank] + mine.at + i, p.send[p.rank] + mine.at + i, came, k);
      }
    }
  }
}

/// Reads the own input once and writes the own output once, as every all-reduce must.
void alone(Pair& p, size_t n) {
  const float* const own = p.send[p.rank];
  sum(p.recv[p.rank], own, own, n);
}

void alonePast(Pair& p, size_t n) {
  const float* const own = p.send[p.rank];
  sumPast(p.recv[p.rank], nullptr, own, own, n);
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = {
      {"bounce", Memory::Staged, bounce},
      {"direct-each-sums-all", Memory::Direct, eachSumsAll},
      {"direct-push", Memory::Direct, push},
      {"direct-push-past", Memory::Direct, pushPast},
      {"direct-rs-ag", Memory::Direct, reduceScatterAllGather},
      {"direct-rs-ag-past", Memory::Direct, reduceScatterAllGatherPast},
      {"alone", Memory::Alone, alone},
      {"alone-past", Memory::Alone, alonePast},
  };
  return all;
}

}  // namespace rondo::bare

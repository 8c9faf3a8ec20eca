#pragma once
// Words by which kernels and threads of other processors tell each other what is ready, as the host
// reads and writes them.

#include <atomic>
#include <cstdint>

#include "kernels/far.h"

namespace rondo {

inline uint32_t look(uint32_t& word) {
  return std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire);
}
inline void answer(FarWord& word, uint32_t number) {
  std::atomic_ref<uint32_t>(word.value).store(number, std::memory_order_release);
}

/// Of a word that its kernel did not write for a part, before that is answered: old numbers come
/// again.
inline void noteRing(uint32_t& word, uint32_t number) {
  std::atomic_ref<uint32_t>(word).store(number, std::memory_order_relaxed);
}

}  // namespace rondo

#pragma once
// The hands of a block of threads (kernels/far_visit.h, far_exchange_visit.h): who does what, and
// where all wait for all. Compiled by nvcc, and by the host compiler for tests, whose threads wait
// at the same places.

#include <cstdint>

#include "kernels/far_exchange_visit.h"

namespace rondo {

/// `Threads`, of a block:
///   static constexpr uint32_t kThreads
///   uint32_t thread(), threads(), block(), blocks()
///   void sync(); bool any(bool mine), all(bool mine)   all wait for all
///   uint32_t leading(bool mine)      likewise: threads before the first that says no, at most 32
///   void copy<kFromHost>(void* to, const void* from, uint64_t bytes, uint32_t part, uint32_t
///   parts)
///                                    this thread's part of this part
///   void fence()                     what this thread knows of comes before what it stores then
///   uint32_t acquire(const uint32_t*); void store(uint32_t*, uint32_t)
///   FarLine load(const FarLine*); void store(FarLine*, const FarLine&)
///   bool await(const FaultView&, ready)     polls until ready(); false: given up
///   bool mustGiveUp(const FaultView&, uint64_t* since)
/// `kTogether`: all blocks copy together; else each for itself.
template <class Threads, bool kTogether>
class FarHands {
 public:
  RONDO_ALGO FarHands(const Threads& threads, const FaultView& fault, FarHeld* held)
      : threads_(threads), fault_(fault), held_(held) {}

  RONDO_ALGO int block() const { return static_cast<int>(threads_.block()); }
  RONDO_ALGO int blocks() const { return static_cast<int>(threads_.blocks()); }
  RONDO_ALGO uint32_t count(const uint32_t* counts) const { return counts[threads_.block()]; }

  RONDO_ALGO void toHost(void* host, const void* device, uint64_t bytes) const {
    threads_.template copy<false>(host, device, bytes, kTogether ? threads_.block() : 0,
                                  kTogether ? threads_.blocks() : 1);
  }
  RONDO_ALGO void fromHost(void* device, const void* host, uint64_t bytes) const {
    threads_.template copy<true>(device, host, bytes, kTogether ? threads_.block() : 0,
                                 kTogether ? threads_.blocks() : 1);
  }
  RONDO_ALGO void within(void* to, const void* from, uint64_t bytes) const {
    threads_.template copy<false>(to, from, bytes, threads_.block(), threads_.blocks());
  }
  template <class T>
  RONDO_ALGO void write(T* host, const T& value) const {
    if (threads_.thread() == 0) *host = value;
  }
  RONDO_ALGO void meet() const { threads_.sync(); }
  RONDO_ALGO void ring(uint32_t* word, uint32_t number) const {
    threads_.sync();
    if (threads_.thread() != 0) return;
    threads_.fence();
    threads_.store(word, number);  // a release would be another fence
  }
  RONDO_ALGO bool await(const uint32_t* word, uint32_t number) const {
    bool gaveUp = false;
    if (threads_.thread() == 0) {
      gaveUp = !threads_.await(fault_, [&] { return threads_.acquire(word) == number; });
    }
    return !threads_.any(gaveUp);
  }
  /// A thread looks at one each, so that all looks take one way across PCIe.
  RONDO_ALGO uint32_t answers(const FarWord* answered, uint32_t from, uint32_t to) const {
    static_assert(kFarSlots <= 32);
    uint32_t together = 0;
    for (uint32_t first = 0; first < kFarSlots; first += Threads::kThreads) {  // mostly once
      const uint32_t k = first + threads_.thread(), number = from + 1 + k;
      const uint32_t more = threads_.leading(
          k < to - from && threads_.acquire(&answered[(number - 1) % kFarSlots].value) == number);
      together += more;
      if (more < Threads::kThreads) break;
    }
    return together;
  }
  RONDO_ALGO void toLines(FarLine* lines, const FarLined& what, uint32_t tag,
                          const void* from) const {
    const auto* const src = static_cast<const unsigned char*>(from);
    const auto count = static_cast<uint32_t>(what.lines());
    for (uint32_t i = threads_.thread(); i < count; i += threads_.threads()) {
      const FarLined::Place place = what.place(i);
      threads_.store(lines + i, farLine(src + place.offset, place.bytes, tag));
    }
  }
  /// Each thread looks at its own, all at once.
  RONDO_ALGO bool fromLines(const FarLine* lines, const FarLined& what, uint32_t tag,
                            void* into) const {
    constexpr uint32_t kEach = (kMostFarLines + Threads::kThreads - 1) / Threads::kThreads;
    const auto count = static_cast<uint32_t>(what.lines());
    FarLine line[kEach] = {};
    const bool gaveUp = !threads_.await(fault_, [&] {
      bool came = true;
      for (uint32_t k = 0; k < kEach; ++k) {
        const uint32_t i = threads_.thread() + k * Threads::kThreads;
        if (i >= count) break;
        if (!farTagged(line[k], tag)) line[k] = threads_.load(lines + i);
        came = came && farTagged(line[k], tag);
      }
      return came;
    });
    if (!gaveUp) unline(line, kEach, what, into);
    return !threads_.any(gaveUp);
  }
  /// A kernel of fewer blocks counts for those that it does without.
  RONDO_ALGO void setCount(uint32_t* counts, uint32_t number) const {
    threads_.sync();  // all have read what it was
    if (threads_.thread() != 0) return;
    counts[threads_.block()] = number;
    if (threads_.block() != 0) return;
    for (uint32_t b = threads_.blocks(); b < kFarBlocks; ++b) counts[b] = number;
  }

  RONDO_ALGO FarHeld held(int i) const { return held_[i]; }
  RONDO_ALGO void keep(int i, const FarHeld& held, bool changed) const {
    if (!changed) return;
    threads_.sync();  // all have read what it was
    if (threads_.thread() == 0) held_[i] = held;
    threads_.sync();
  }
  RONDO_ALGO bool rang(const uint32_t* word, uint32_t number) const {
    return threads_.any(threads_.thread() == 0 && threads_.acquire(word) == number);
  }
  RONDO_ALGO bool idle(bool moved) {
    since_ = moved ? 0 : since_;
    looks_ = moved ? 0 : looks_ + 1;
    constexpr uint32_t kLooks = 256;  // at all queues, a microsecond each
    if (looks_ % kLooks != kLooks - 1) return true;
    const bool gaveUp = threads_.thread() == 0 && threads_.mustGiveUp(fault_, &since_);
    if (gaveUp) threads_.store(&fault_.words->error, 1u);
    return !threads_.any(gaveUp);
  }
  /// Each thread looks at its own, all at once.
  RONDO_ALGO bool gotLines(const FarLine* lines, const FarLined& what, uint32_t tag,
                           void* into) const {
    constexpr uint32_t kEach = (kMostFarPairLines + Threads::kThreads - 1) / Threads::kThreads;
    const auto count = static_cast<uint32_t>(what.lines());
    FarLine line[kEach];
    bool came = true;
    for (uint32_t k = 0; k < kEach; ++k) {
      const uint32_t i = threads_.thread() + k * Threads::kThreads;
      if (i >= count) break;
      line[k] = threads_.load(lines + i);
      came = came && farTagged(line[k], tag);
    }
    if (!threads_.all(came)) return false;
    unline(line, kEach, what, into);
    return true;
  }
  RONDO_ALGO void endStrand(uint32_t* count, uint32_t number) const {
    if (threads_.thread() == 0) *count = number;
  }

 private:
  /// This thread's lines, every kThreads-th.
  RONDO_ALGO void unline(const FarLine* line, uint32_t most, const FarLined& what,
                         void* into) const {
    auto* const to = static_cast<unsigned char*>(into);
    const auto count = static_cast<uint32_t>(what.lines());
    for (uint32_t k = 0; k < most; ++k) {
      const uint32_t i = threads_.thread() + k * Threads::kThreads;
      if (i >= count) break;
      const FarLined::Place place = what.place(i);
      farUnline(to + place.offset, line[k].half[0], line[k].half[1], place.bytes);
    }
  }

  const Threads& threads_;
  const FaultView& fault_;
  FarHeld* const held_;
  uint64_t since_ = 0;
  uint32_t looks_ = 0;
};

}  // namespace rondo

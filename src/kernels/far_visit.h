#pragma once
// What a kernel does of a collective between hosts (kernels/far_call.h). Compiled by nvcc, and by
// the host compiler for tests.

#include <cstdint>

#include "kernels/far_call.h"

namespace rondo {

/// What one block of a collective's kernel does, for `Hands` that copy and wait. All threads of the
/// block call it alike:
///   int block(), blocks()
///   uint32_t count(uint32_t* counts)       this block's
///   void setCount(uint32_t* counts, uint32_t n)   and that of blocks that this kernel has not
///   void toHost(void* host, const void* device, uint64_t bytes), fromHost(...)
///                                          this block's part of a copy
///   void within(void* device, const void* device, uint64_t bytes)
///   void write(T* host, const T& value)    for the host
///   void ring(uint32_t* word, uint32_t n)  after all that the block has written
///   void meet()                            all threads of the block wait for all
///   bool await(uint32_t* word, uint32_t n) false: given up
///   uint32_t answers(FarWord* answered, uint32_t from, uint32_t to)
///                                          how many of the chunks after number `from`, up to `to`,
///                                          were answered by now, before the first that was not
///   void toLines(FarLine* lines, const FarLined& what, uint32_t tag, const void* from)
///   bool fromLines(FarLine* lines, const FarLined& what, uint32_t tag, void* device)
///                                          waits for each line; false: given up
template <class Hands>
class FarVisit {
 public:
  RONDO_ALGO FarVisit(Hands& hands, const FarCall& call)
      : hands_(hands),
        call_(call),
        first_(hands.count(call.view.chunks)),
        settled_(hands.count(call.view.settled)) {}

  RONDO_ALGO void run() {
    const uint64_t chunks = (call_.count + call_.chunk - 1) / call_.chunk;
    const uint64_t behind = awaits() ? kFarSlots : 0;
    // Others may come when what the first block put in has been answered long since.
    const bool puts = call_.inLines == 0 || hands_.block() == 0;
    for (uint64_t k = 0; k < chunks + behind; ++k) {
      if (awaits() && k >= behind && k - behind < chunks && !takeOut(k - behind)) return;
      if (k >= chunks) continue;
      if (puts && !hasRoom(k)) return;
      if (puts) putIn(k);
      copyOwn(k);
    }
    hands_.setCount(call_.view.chunks, first_ + static_cast<uint32_t>(chunks));
    hands_.setCount(call_.view.settled, settled_);
  }

 private:
  RONDO_ALGO uint64_t elements(uint64_t k) const {
    return farLeast(call_.chunk, call_.count - k * call_.chunk);
  }
  RONDO_ALGO uint32_t number(uint64_t k) const { return first_ + static_cast<uint32_t>(k) + 1; }
  RONDO_ALGO uint32_t slot(uint64_t k) const { return (number(k) - 1) % kFarSlots; }
  /// Where slot `s` of the caller's has chunk k.
  RONDO_ALGO uint64_t at(int s, uint64_t k) const {
    return (static_cast<uint64_t>(s) * call_.stride + k * call_.chunk) * call_.elementBytes;
  }

  /// Whether it gets anything from others.
  RONDO_ALGO bool awaits() const { return call_.dstSlots > (call_.own >= 0 ? 1 : 0); }

  /// Waits until the host is done with what chunk k's slot had before.
  RONDO_ALGO bool hasRoom(uint64_t k) {
    const uint32_t least = number(k) - kFarSlots;
    const auto lacks = [&] { return static_cast<int32_t>(settled_ - least) < 0; };
    if (!lacks()) return true;
    settled_ += hands_.answers(call_.view.answered, settled_, number(k) - 1);
    if (!lacks()) return true;
    if (!hands_.await(&call_.view.answered[slot(k)].value, least)) return false;
    settled_ = least;
    return true;
  }

  RONDO_ALGO FarLetter letter(uint64_t k) const {
    const bool lined = call_.inLines != 0 || call_.outLines != 0;
    return {elements(k),
            call_.name,
            call_.collective,
            call_.type,
            call_.op,
            call_.root,
            static_cast<uint32_t>(hands_.blocks()),
            call_.onRail,
            call_.inLines != 0 ? static_cast<uint32_t>(call_.srcSlots) : 0,
            call_.outLines != 0 && awaits() ? static_cast<uint32_t>(call_.dstSlots) : 0,
            lined ? elements(k) * call_.elementBytes : 0};
  }
  /// What the caller has of chunk k.
  RONDO_ALGO FarLined lined(int slots, uint64_t k) const {
    return {static_cast<uint64_t>(slots), elements(k) * call_.elementBytes,
            call_.stride * call_.elementBytes};
  }

  RONDO_ALGO void putInLines(uint64_t k) {
    // The slot is the host's once a few threads have put the letter in: all must have read what it
    // had.
    if (awaits() && call_.outLines == 0 && k >= kFarSlots) hands_.meet();
    FarLine* const lines = call_.view.inLines + slot(k) * kFarInLines;
    const FarLetter mail = letter(k);
    hands_.toLines(lines, farLetterLined(), farTag(number(k)), &mail);
    hands_.toLines(lines + farLetterLined().lines(), lined(call_.srcSlots, k), farTag(number(k)),
                   call_.src + at(0, k));
  }

  RONDO_ALGO void putIn(uint64_t k) {
    if (call_.inLines != 0) return putInLines(k);
    const uint64_t bytes = elements(k) * call_.elementBytes;
    unsigned char* const in = call_.view.in + slot(k) * call_.view.slotBytes;
    for (int s = 0; s < call_.srcSlots; ++s) {
      if (s == call_.own && call_.srcSlots > 1) continue;
      hands_.toHost(in + static_cast<uint64_t>(s) * bytes, call_.src + at(s, k), bytes);
    }
    if (hands_.block() == 0) {
      hands_.write(&call_.view.letters[slot(k)], letter(k));
    }
    hands_.ring(&call_.view.rung[slot(k) * kFarLineWords + static_cast<uint32_t>(hands_.block())],
                number(k));
  }

  /// What this rank gives itself.
  RONDO_ALGO void copyOwn(uint64_t k) {
    if (call_.own < 0) return;
    const unsigned char* const from = call_.src + at(call_.srcSlots > 1 ? call_.own : 0, k);
    unsigned char* const to = call_.dst + at(call_.own, k);
    if (to != from) hands_.within(to, from, elements(k) * call_.elementBytes);
  }

  RONDO_ALGO bool takeOut(uint64_t k) {
    if (call_.outLines != 0) {
      if (hands_.block() != 0) return true;
      if (!hands_.fromLines(call_.view.outLines + slot(k) * kMostFarLines, lined(call_.dstSlots, k),
                            farTag(number(k)), call_.dst + at(0, k))) {
        return false;
      }
    } else {
      if (!hands_.await(&call_.view.answered[slot(k)].value, number(k))) return false;
      const uint64_t bytes = elements(k) * call_.elementBytes;
      const unsigned char* const out = call_.view.out + slot(k) * call_.view.slotBytes;
      for (int s = 0; s < call_.dstSlots; ++s) {
        if (s == call_.own) continue;
        hands_.fromHost(call_.dst + at(s, k), out + static_cast<uint64_t>(s) * bytes, bytes);
      }
    }
    if (settled_ + 1 == number(k)) ++settled_;
    return true;
  }

  Hands& hands_;
  const FarCall& call_;
  const uint32_t first_;
  uint32_t settled_;
};

}  // namespace rondo

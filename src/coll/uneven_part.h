#pragma once
// A step's part of its slot, where slots have lengths of their own.

#include <algorithm>

#include "coll/runner.h"

namespace rondo {

struct UnevenPart {
  uint64_t slotCount;  ///< Elements of the whole slot.
  uint64_t count;      ///< Of the step.
  bool ended;          ///< The slot has ended before: nothing to do.
  uint64_t srcOffset, dstOffset;
};

/// `at`: bytes from the slot's begin to the step's block.
inline UnevenPart unevenPart(const BoundStep& step, const UnevenSlots& slots, uint64_t at,
                             uint64_t elementBytes) {
  const auto slot = static_cast<size_t>(step.slot);
  const bool arrives = (step.bits & (algo::kDst | algo::kOwn)) != 0 || step.kind == StepKind::Fetch;
  const uint64_t count = arrives ? slots.dstCounts[slot] : slots.srcCounts[slot];
  const uint64_t begin = at == 0 ? 0 : at / elementBytes;
  const bool ended = begin >= count;
  return {count, ended ? 0 : std::min(step.count, count - begin), ended,
          step.offset + slots.srcDispls[slot] * elementBytes,
          step.offset + slots.dstDispls[slot] * elementBytes};
}

/// Of the messages of a slot of `count` elements: the whole length goes with each, so that the
/// first one tells of a difference.
inline uint32_t stampOf(const HostCall& call, uint64_t count) {
  return call.stamp ^ static_cast<uint32_t>(count * 0x9e3779b97f4a7c15u >> 32);
}

}  // namespace rondo

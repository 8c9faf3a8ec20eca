#include "coll/sim/shorten.h"

#include <cstddef>

namespace rondo::sim {
namespace {

/// Wherever in the buffers they are.
bool alike(const Step& a, const Step& b) {
  return a.kind == b.kind && a.bits == b.bits && a.room == b.room && a.from == b.from &&
         a.to == b.to && a.from2 == b.from2 && a.count == b.count;
}

}  // namespace

Shortened shorten(const std::vector<Step>& steps, Count most) {
  Shortened out;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin + 1;
    while (end < steps.size() && alike(steps[begin], steps[end])) ++end;
    const Count length = end - begin;
    const Step& first = steps[begin];
    out.shape.push_back({first.kind, first.bits, first.count, length});
    const bool cut = most > 1 && first.kind == StepKind::Move && length > 2 * most;
    const Count kept = cut ? most : length;
    const size_t at = out.steps.size();
    out.steps.insert(out.steps.end(), steps.begin() + static_cast<std::ptrdiff_t>(begin),
                     steps.begin() + static_cast<std::ptrdiff_t>(begin + kept));
    out.times.resize(out.steps.size(), 1);
    if (cut) {
      out.times.back() += length - kept;
      out.runs.push_back({static_cast<uint32_t>(at + kept / 2 - 1),
                          static_cast<uint32_t>(at + kept - 1), length - kept});
    }
    begin = end;
  }
  return out;
}

}  // namespace rondo::sim

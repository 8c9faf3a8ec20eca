#pragma once
// The host's side of short chunks and pieces in lines (kernels/far_lines.h). Kernels write and read
// the same lines meanwhile.

#include <cstdint>

#include "kernels/far.h"  // far_lines.h

namespace rondo {

/// Chunks or pieces, of which the first few clear their lines: long before tags come again.
constexpr uint32_t kFarClearEvery = 1u << 28;

/// Whether the line has come as far as that can be told by its first half.
bool lineBegun(const FarLine& line, uint32_t tag);
/// Takes all lines of `what` into `to`; false if some have not come, and then `to` has only some.
bool takeLines(const FarLine* lines, const FarLined& what, uint32_t tag, unsigned char* to);
void putLines(FarLine* lines, const FarLined& what, uint32_t tag, const unsigned char* from);
void clearLines(FarLine* lines, uint64_t count);

}  // namespace rondo

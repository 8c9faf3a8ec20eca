#pragma once
// Message sizes: "64K" and back, and the list that a sweep goes through.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::bench {

/// Bytes of "4", "64K", "16M", "1G" (powers of 1024; also KiB, KB, k...). Throws
/// std::invalid_argument that says what is allowed.
size_t parseSize(std::string_view text);

/// "16M" where it comes out even, else the number.
std::string formatSize(size_t bytes);

/// min, min * step, ... up to max, each rounded down to whole elements (at least one), without
/// repeats.
std::vector<size_t> sweepSizes(size_t min, size_t max, size_t step, size_t elementSize);

}  // namespace rondo::bench

#include "sizes.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/size_text.h"

namespace rondo::bench {
namespace {

constexpr std::string_view kUnits = "KMGT";

}  // namespace

size_t parseSize(std::string_view text) {
  uint64_t bytes = 0;
  if (!rondo::parseSize(text, &bytes) || bytes == 0) {
    throw std::invalid_argument(
        "allowed is a whole number of bytes above 0, with K, M, G or T for powers of 1024");
  }
  constexpr uint64_t kMost = uint64_t{1} << 46;  // 64 TiB: what an address space holds
  if (bytes > kMost) throw std::invalid_argument("allowed is at most 64T");
  return bytes;
}

std::string formatSize(size_t bytes) {
  size_t power = 0;
  while (power < kUnits.size() && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + (power == 0 ? "" : std::string(1, kUnits[power - 1]));
}

std::vector<size_t> sweepSizes(size_t min, size_t max, size_t step, size_t elementSize) {
  std::vector<size_t> sizes;
  for (size_t bytes = min; bytes <= max; bytes *= step) {
    const size_t whole = std::max(elementSize, bytes / elementSize * elementSize);
    if (sizes.empty() || sizes.back() != whole) sizes.push_back(whole);
    if (bytes > std::numeric_limits<size_t>::max() / step) break;
  }
  return sizes;
}

}  // namespace rondo::bench

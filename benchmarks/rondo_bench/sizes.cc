#include "sizes.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>

namespace rondo::bench {
namespace {

constexpr std::string_view kUnits = "KMGT";

/// The power of 1024 that a suffix stands for, or -1.
int unitPower(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 0;
  const char letter = suffix.front() == 'k' ? 'K' : suffix.front();
  const size_t power = kUnits.find(letter);
  const std::string_view rest = suffix.substr(1);
  const bool known = rest.empty() || rest == "B" || rest == "iB";
  return power == std::string_view::npos || !known ? -1 : static_cast<int>(power) + 1;
}

}  // namespace

size_t parseSize(std::string_view text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const int power = unitPower(text.substr(static_cast<size_t>(end - text.data())));
  if (error != std::errc() || power < 0 || value == 0) {
    throw std::invalid_argument(
        "allowed is a whole number of bytes above 0, with K, M, G or T for powers of 1024");
  }
  const int shift = 10 * power;
  constexpr size_t kMost = size_t{1} << 46;  // 64 TiB: what an address space holds
  if (value > kMost >> shift) throw std::invalid_argument("allowed is at most 64T");
  return value << shift;
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

#pragma once
// "64K" to bytes: one reading for the options of all tools, for variables and for rules. Nothing
// else of base/ is needed, so that rondo-bench has it too.

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

namespace rondo {

/// "123", "64K", "1M", "1G", "2T" (powers of 1024, small letters too) to a number; false if it is
/// none of those, or has no room.
inline bool parseCount(std::string_view text, uint64_t* number) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || end - at > 1) return false;
  int shift = 0;
  if (at != end) {
    const size_t power = std::string_view("KMGTkmgt").find(*at);
    if (power == std::string_view::npos) return false;
    shift = 10 * (static_cast<int>(power % 4) + 1);
  }
  if (value > std::numeric_limits<uint64_t>::max() >> shift) return false;
  *number = value << shift;
  return true;
}

/// The same of bytes, which may say so: "64KB" and "64KiB" are 64K, "123B" is 123. Small letters
/// too: nobody measures in bits here.
inline bool parseSize(std::string_view text, uint64_t* bytes) {
  if (text.ends_with('B') || text.ends_with('b')) {
    text.remove_suffix(1);
    if (text.ends_with('i')) {
      text.remove_suffix(1);
      if (text.empty() || (text.back() >= '0' && text.back() <= '9')) return false;
    }
  }
  return parseCount(text, bytes);
}

}  // namespace rondo

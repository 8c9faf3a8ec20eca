#include "base/printable.h"

#include <cstdint>

#include "base/error.h"

namespace rondo {
namespace {

unsigned char byteAt(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

/// Bytes of the character that begins at `at`; 0: it is none, or one that controls the terminal.
size_t characterLength(std::string_view text, size_t at) {
  const unsigned char first = byteAt(text, at);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf0 && first < 0xf5   ? 4
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xc2 && first < 0xe0 ? 2
                                                        : 0;
  uint32_t code = length == 2 ? first & 0x1fu : length == 3 ? first & 0x0fu : first & 0x07u;
  for (size_t i = 1; i < length; ++i) {
    const unsigned char next = byteAt(text, at + i);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0xa0, 0x800, 0x10000};  // below 0xa0 are controls
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kLeast[length] && code < 0x110000 && !surrogate ? length : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = characterLength(text, at);
    if (length > 0) {
      out += text.substr(at, length);
    } else if (text[at] == '\n') {
      out += "\\n";
    } else {
      out += format("\\x%02x", byteAt(text, at));
    }
    at += length > 0 ? length : 1;
  }
  return out;
}

}  // namespace rondo

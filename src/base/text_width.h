#pragma once
// How wide a text of a picture is, before anything draws it.

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

/// In the units of `size`, of a proportional font; of other letters than ASCII's at most so many.
/// Widths are those of DejaVu Sans, which is as wide as any that pictures are shown with; bold
/// letters are a tenth wider on average, and up to a quarter.
inline double textWidth(std::string_view text, double size, bool bold = false) {
  static constexpr uint16_t kWidths[] = {
      // a thousandth each, from the blank on
      318,  401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337,
      637,  637, 637, 637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531,
      1000, 685, 687, 699, 771, 632, 576, 775, 752, 295, 295, 656, 558, 863, 749, 788,
      604,  788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 337, 391, 838, 500,
      500,  613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580, 278, 975, 634, 612,
      635,  635, 412, 521, 393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838};
  unsigned sum = 0;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (code >= 32 && code < 127) sum += kWidths[code - 32];
    if (code >= 0xc0) sum += 1000;  // the first byte of one
  }
  return sum * 1e-3 * size * (bold ? 1.15 : 1);
}

/// As much of `text` as fits into `width`, with dots where something is left out.
inline std::string shortText(std::string_view text, double size, double width) {
  if (textWidth(text, size) <= width) return std::string(text);
  const auto amidLetter = [&] { return (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80; };
  while (!text.empty() && textWidth(text, size) + textWidth("...", size) > width) {
    while (amidLetter() && text.size() > 1) text.remove_suffix(1);
    text.remove_suffix(1);
  }
  return std::string(text) + "...";
}

}  // namespace rondo

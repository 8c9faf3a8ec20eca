#pragma once
// Where the texts of a picture stand, as a reader of it sees them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text_width.h"

namespace rondo::testing {

struct Box {
  double left, top, right, bottom;
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool holds(const Box& other) const {
    return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
  }
};

struct SvgText {
  std::string text;
  Box box;
};

/// An element's attribute, "" if it has none.
inline std::string svgAttribute(const std::string& element, const std::string& name) {
  const size_t at = element.find(" " + name + "=\"");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 3;
  return element.substr(begin, element.find('"', begin) - begin);
}
inline double svgNumber(const std::string& element, const std::string& name) {
  return std::strtod(svgAttribute(element, name).c_str(), nullptr);
}

inline std::string unescaped(std::string text) {
  for (const auto& [from, to] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}}) {
    const std::string what = from;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      text.replace(at, what.size(), to);
    }
  }
  return text;
}

/// Letters reach three quarters of their size above their line, and a quarter below it.
inline Box svgTextBox(const std::string& element, const std::string& text, double shift) {
  const double size = svgNumber(element, "font-size");
  const double width = textWidth(text, size, svgAttribute(element, "font-weight") == "bold");
  const std::string anchor = svgAttribute(element, "text-anchor");
  const double before = anchor == "middle" ? width / 2 : anchor == "end" ? width : 0;
  const double x = svgNumber(element, "x") + shift, y = svgNumber(element, "y");
  if (element.find("rotate(-90") != std::string::npos) {
    return {x - 0.75 * size, y - (width - before), x + 0.25 * size, y + before};
  }
  return {x - before, y - 0.75 * size, x + width - before, y + 0.25 * size};
}

/// Every element, text and all, in its order, with how far its groups are shifted to the right.
template <class Visit>
void forSvgElements(const std::string& svg, Visit visit) {
  std::vector<double> shifts{0};
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::string element = svg.substr(at, svg.find('>', at) + 1 - at);
    if (element.starts_with("<g")) {
      const std::string by = svgAttribute(element, "transform");
      const size_t open = by.find("translate(");
      shifts.push_back(shifts.back() + (open == std::string::npos
                                            ? 0
                                            : std::strtod(by.c_str() + open + 10, nullptr)));
    }
    if (element.starts_with("</g")) shifts.pop_back();
    const size_t end = at + element.size();
    visit(element, svg.substr(end, svg.find('<', end) - end), shifts.back());
  }
}

inline std::vector<SvgText> svgTexts(const std::string& svg) {
  std::vector<SvgText> out;
  forSvgElements(svg, [&](const std::string& element, const std::string& inside, double shift) {
    if (!element.starts_with("<text")) return;
    const std::string text = unescaped(inside);
    out.push_back({text, svgTextBox(element, text, shift)});
  });
  return out;
}

inline Box svgPage(const std::string& svg) {
  const std::string head = svg.substr(0, svg.find('>'));
  return {0, 0, svgNumber(head, "width"), svgNumber(head, "height")};
}

/// No text is cut by the picture's edge, and none lies on another.
inline void expectTextsReadable(const std::string& svg) {
  const Box page = svgPage(svg);
  const std::vector<SvgText> texts = svgTexts(svg);
  EXPECT_FALSE(texts.empty());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(page.holds(texts[i].box))
        << "\"" << texts[i].text << "\" from " << texts[i].box.left << " to " << texts[i].box.right
        << ", " << texts[i].box.top << " to " << texts[i].box.bottom << " of " << page.right
        << " x " << page.bottom;
    for (size_t k = 0; k < i; ++k) {
      EXPECT_FALSE(texts[i].box.meets(texts[k].box))
          << "\"" << texts[i].text << "\" and \"" << texts[k].text << "\" at " << texts[i].box.left
          << ", " << texts[i].box.top;
    }
  }
}

}  // namespace rondo::testing

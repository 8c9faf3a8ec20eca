#include "topo/svg_canvas.h"

#include <algorithm>

#include "base/error.h"
#include "base/text_width.h"
#include "topo/xml.h"

namespace rondo::topo {
namespace {

constexpr double kInside = 4;  // from a box's edge to its text

/// Letters reach three quarters of their size above their line, and a quarter below it.
Area areaOf(Point at, double width, double size, double before) {
  return {at.x - before, at.y - 0.75 * size, at.x - before + width, at.y + 0.25 * size};
}

}  // namespace

void SvgCanvas::line(Point a, Point b, const std::string& colour, double width) {
  lines_ += format(
      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
      "stroke-width=\"%.1f\"/>\n",
      a.x, a.y, b.x, b.y, colour.c_str(), width);
}

void SvgCanvas::curve(const std::string& d, const std::string& colour, double width) {
  lines_ += format("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
                   d.c_str(), colour.c_str(), width);
}

void SvgCanvas::stroke(const std::string& d, const std::string& colour, double width) {
  strokes_ += format("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n",
                     d.c_str(), colour.c_str(), width);
}

void SvgCanvas::filled(const std::string& d, const std::string& colour) {
  strokes_ += format("<path d=\"%s\" fill=\"%s\"/>\n", d.c_str(), colour.c_str());
}

void SvgCanvas::box(const Box& box, const std::string& name, const std::string& second) {
  const Point& c = box.centre;
  boxes_ += format(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"%s\" "
      "stroke=\"#666\"%s/>\n",
      c.x - box.width / 2, c.y - box.height / 2, box.width, box.height, box.fill,
      box.dashed ? " stroke-dasharray=\"3 2\"" : "");
  taken_.push_back(
      {c.x - box.width / 2, c.y - box.height / 2, c.x + box.width / 2, c.y + box.height / 2});
  const double room = box.width - 2 * kInside;
  text({c.x, c.y + (second.empty() ? 4 : -1)}, shortText(name, kNameSize, room), kNameSize,
       "middle", "#000");
  if (second.empty()) return;
  text({c.x, c.y + 11}, shortText(second, kSecondSize, room), kSecondSize, "middle", "#333");
}

void SvgCanvas::frame(const Area& area) {
  boxes_ += format(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\" fill=\"none\" "
      "stroke=\"#999\" stroke-dasharray=\"5 4\"/>\n",
      area.left, area.top, area.right - area.left, area.bottom - area.top);
  right_ = std::max(right_, area.right);
}

void SvgCanvas::disc(Point centre, double radius, const std::string& edge,
                     const std::string& name) {
  boxes_ += format(
      "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"white\" stroke=\"%s\" "
      "stroke-width=\"2\"/>\n",
      centre.x, centre.y, radius, edge.c_str());
  const double size = radius < 9 ? 7 : 10;
  text({centre.x, centre.y + 0.35 * size}, name, size, "middle", "#000");
}

void SvgCanvas::text(Point at, const std::string& what, double size, const char* anchor,
                     const char* colour, bool bold) {
  texts_ += format(
      "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" fill=\"%s\"%s>%s</text>\n",
      at.x, at.y, size, anchor, colour, bold ? " font-weight=\"bold\"" : "",
      xmlEscape(what).c_str());
  const double width = textWidth(what, size, bold);
  const double before = *anchor == 'm' ? width / 2 : *anchor == 'e' ? width : 0;
  taken_.push_back(areaOf(at, width, size, before));
  right_ = std::max(right_, taken_.back().right);
}

void SvgCanvas::label(const std::vector<Point>& places, const std::string& what, bool bold) {
  labels_.push_back({places, what, bold});
}

bool SvgCanvas::isFree(const Area& area) const {
  return std::none_of(taken_.begin(), taken_.end(),
                      [&](const Area& other) { return area.meets(other); });
}

size_t SvgCanvas::placeLabels() {
  size_t left = 0;
  for (const Label& label : labels_) {
    const double width = textWidth(label.text, kLabelSize, label.bold);
    const auto areaAt = [&](Point middle) {
      return Area{middle.x - width / 2 - 1, middle.y - 6, middle.x + width / 2 + 1, middle.y + 6};
    };
    const auto found = std::find_if(label.places.begin(), label.places.end(),
                                    [&](Point place) { return isFree(areaAt(place)); });
    if (found == label.places.end()) {
      ++left;
      continue;
    }
    const Area area = areaAt(*found);
    texts_ += format(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" fill=\"white\" "
        "fill-opacity=\"0.9\"/>\n",
        area.left, area.top, area.right - area.left);
    text({found->x, found->y + 3.5}, label.text, kLabelSize, "middle", "#444", label.bold);
    taken_.push_back(area);
  }
  labels_.clear();
  return left;
}

std::string SvgCanvas::str(double width, double height) const {
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
             "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, sans-serif\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
             width, height, width, height) +
         lines_ + boxes_ + strokes_ + texts_ + "</svg>\n";
}

}  // namespace rondo::topo

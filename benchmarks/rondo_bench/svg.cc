#include "svg.h"

#include "text.h"

namespace rondo::bench {
namespace {

/// With one digit after the point, and none where it would be 0.
std::string number(double value) {
  std::string text = format("%.1f", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

const char* anchorName(Anchor anchor) {
  return anchor == Anchor::kStart ? "start" : anchor == Anchor::kMiddle ? "middle" : "end";
}

}  // namespace

Svg::Svg(double width, double height) : width_(width), height_(height) {}

void Svg::line(Point from, Point to, const char* color, double width) {
  body_ += "<line x1=\"" + number(from.x) + "\" y1=\"" + number(from.y) + "\" x2=\"" +
           number(to.x) + "\" y2=\"" + number(to.y) + "\" stroke=\"" + color +
           "\" stroke-width=\"" + number(width) + "\"/>\n";
}

void Svg::path(const std::vector<Point>& points, const char* color, double width,
               const char* dashes) {
  body_ += "<polyline fill=\"none\" stroke-linejoin=\"round\" stroke=\"" + std::string(color) +
           "\" stroke-width=\"" + number(width) + "\"";
  if (*dashes != '\0') body_ += " stroke-dasharray=\"" + std::string(dashes) + "\"";
  body_ += " points=\"";
  for (const Point& point : points) body_ += number(point.x) + "," + number(point.y) + " ";
  body_ += "\"/>\n";
}

void Svg::frame(Point corner, double width, double height, const char* color) {
  body_ += "<rect x=\"" + number(corner.x) + "\" y=\"" + number(corner.y) + "\" width=\"" +
           number(width) + "\" height=\"" + number(height) + "\" fill=\"none\" stroke=\"" + color +
           "\"/>\n";
}

void Svg::dot(Point center, double radius, const char* color) {
  body_ += "<circle cx=\"" + number(center.x) + "\" cy=\"" + number(center.y) + "\" r=\"" +
           number(radius) + "\" fill=\"" + color + "\"/>\n";
}

void Svg::text(Point at, const std::string& text, const TextStyle& style) {
  body_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" font-size=\"" +
           number(style.size) + "\" text-anchor=\"" + anchorName(style.anchor) + "\" fill=\"" +
           style.color + "\"";
  if (style.bold) body_ += " font-weight=\"bold\"";
  if (style.upwards) {
    body_ += " transform=\"rotate(-90 " + number(at.x) + " " + number(at.y) + ")\"";
  }
  body_ += ">" + escaped(text) + "</text>\n";
}

std::string Svg::str() const {
  const std::string size = number(width_) + "\" height=\"" + number(height_);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"0 0 " +
         number(width_) + " " + number(height_) +
         "\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n" +
         "<rect width=\"" + size + "\" fill=\"#fff\"/>\n" + body_ + "</svg>\n";
}

}  // namespace rondo::bench

#pragma once
// A small writer of SVG pictures: lines, marks and text.

#include <string>
#include <utility>
#include <vector>

namespace rondo::bench {

struct Point {
  double x;
  double y;
};

/// Where a text begins, has its middle, or ends.
enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::kStart;
  const char* color = "#333";
  bool bold = false;
  bool upwards = false;  ///< Turned to read from below.
};

class Svg {
 public:
  /// A white picture, so that it reads on dark pages too.
  Svg(double width, double height);

  void line(Point from, Point to, const char* color, double width);
  /// Through all points; `dashes` as SVG has them, "" for none.
  void path(const std::vector<Point>& points, const char* color, double width, const char* dashes);
  void frame(Point corner, double width, double height, const char* color);
  void dot(Point center, double radius, const char* color);
  /// `text` may contain anything.
  void text(Point at, const std::string& text, const TextStyle& style);

  /// The whole picture.
  std::string str() const;

 private:
  double width_;
  double height_;
  std::string body_;
};

}  // namespace rondo::bench

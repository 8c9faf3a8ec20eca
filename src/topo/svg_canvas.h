#pragma once
// A picture of boxes, lines and labels, none of which hides another.

#include <string>
#include <vector>

namespace rondo::topo {

struct Point {
  double x, y;
};

/// By its edges.
struct Area {
  double left, top, right, bottom;
  bool meets(const Area& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

class SvgCanvas {
 public:
  /// Lines are below boxes, strokes above these, texts and labels above all.
  void line(Point a, Point b, const std::string& colour, double width);
  /// `d` as SVG has paths.
  void curve(const std::string& d, const std::string& colour, double width);
  void stroke(const std::string& d, const std::string& colour, double width);
  void filled(const std::string& d, const std::string& colour);

  struct Box {
    Point centre;
    double width, height;
    const char* fill;
    bool dashed = false;
  };
  /// With one or two lines of text, shortened to its width. Labels keep away from it.
  void box(const Box& box, const std::string& name, const std::string& second = "");
  /// A dashed edge around what is in it.
  void frame(const Area& area);
  void disc(Point centre, double radius, const std::string& edge, const std::string& name);

  void text(Point at, const std::string& what, double size, const char* anchor, const char* colour,
            bool bold = false);
  /// A small text with its own background at the first of `places` (its middle) that is free.
  /// Where none is, it is left out.
  void label(const std::vector<Point>& places, const std::string& what, bool bold = false);
  /// Draws the labels, which know all boxes and texts so far; returns how many are left out.
  size_t placeLabels();

  double right() const { return right_; }
  /// The whole picture.
  std::string str(double width, double height) const;

  static constexpr double kLabelSize = 10, kNameSize = 12, kSecondSize = 9;

 private:
  struct Label {
    std::vector<Point> places;
    std::string text;
    bool bold;
  };
  bool isFree(const Area& area) const;

  std::string lines_, boxes_, strokes_, texts_;
  std::vector<Area> taken_;
  std::vector<Label> labels_;
  double right_ = 0;
};

}  // namespace rondo::topo

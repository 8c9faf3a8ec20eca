#pragma once
// Curves over message sizes in panels with logarithmic axes.

#include <map>
#include <string>
#include <vector>

#include "svg.h"

namespace rondo::bench {

struct Series {
  std::string name;           ///< In the legend; equal names get equal colours.
  std::vector<Point> points;  ///< By rising x; points that are not above 0 are left out.
};

struct Panel {
  std::string title;
  std::string xLabel;
  std::string yLabel;
  bool xIsBytes = true;  ///< Ticks at powers of two, as 4, 1Ki, 1Mi.
  std::vector<Series> series;
};

struct Figure {
  std::string title;
  std::vector<std::string> notes;  ///< Small lines below the title.
  int columns = 2;
  double panelHeight = 300;
  std::vector<Panel> panels;
};

/// As wide as a README shows it.
std::string drawFigure(const Figure& figure);

/// "4", "1Ki", "64Ki", "1Mi": what is not a whole number of a unit keeps one digit after the point.
std::string formatBytesTick(double bytes);
/// "0.1", "1", "1k", "1M": a power of ten.
std::string formatDecimalTick(double value);

/// Exponents of the base at which an axis over [low, high] has its marks, at most `most` of them.
std::vector<int> tickExponents(double low, double high, double base, int most);

}  // namespace rondo::bench

#pragma once
// Curves over message sizes in panels with logarithmic axes.

#include <string>
#include <vector>

#include "svg.h"

namespace rondo::bench {

struct Series {
  std::string name;           ///< In the legend.
  int color = 0;              ///< Series that belong together share one.
  bool dashed = false;        ///< Tells apart those that do.
  std::vector<Point> points;  ///< By rising x; what is not above 0 is left out.
};

struct Panel {
  std::string title;
  std::string xLabel;
  std::string yLabel;
  bool xIsBytes = true;  ///< Labels as 4, 1Ki, 1Mi.
  bool percent = false;  ///< A straight axis from 0 to 100 instead of a logarithmic one.
  std::vector<Series> series;
  /// Instead of curves: texts, for what has one size only. They stand below all curves, as wide as
  /// the picture, and are broken where they are longer.
  std::vector<std::string> lines;
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

}  // namespace rondo::bench

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
  std::vector<std::string> lines;  ///< Instead of curves: texts, for what has one size only.
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

/// The values of a horizontal axis that get a mark: at most `most`, evenly chosen from the first
/// on.
std::vector<double> chosenMarks(std::vector<double> values, size_t most);

/// Exponents of 10 at which an axis over [low, high] has its marks, at most `most` of them.
std::vector<int> tickExponents(double low, double high, int most);

}  // namespace rondo::bench

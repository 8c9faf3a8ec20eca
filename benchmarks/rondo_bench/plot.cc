#include "plot.h"

#include <algorithm>
#include <cmath>

#include "text.h"

namespace rondo::bench {
namespace {

constexpr double kWidth = 900;
constexpr double kLegendLine = 20;
constexpr const char* kGrid = "#e3e3e3";
constexpr const char* kFrame = "#999";

// Told apart by lightness too, for eyes that see few colours.
constexpr const char* kColors[] = {"#0b62b5", "#d9541e", "#2a8a4a",
                                   "#8a3fa0", "#946b00", "#5b6770"};
constexpr const char* kDashes = "6 3";

const char* colorOf(const Series& series) {
  return kColors[static_cast<size_t>(series.color) % std::size(kColors)];
}

struct Axis {
  double low;
  double high;
  double from;  ///< Where `low` is in the picture.
  double to;
  bool straight = false;

  double at(double value) const {
    const double share =
        straight ? (value - low) / (high - low) : std::log(value / low) / std::log(high / low);
    return from + share * (to - from);
  }
};

bool drawable(const Panel& panel, const Point& point) {
  return point.x > 0 && (panel.percent || point.y > 0);
}

/// The smallest and the largest value of a coordinate; 1 to 10 where there is none.
std::pair<double, double> rangeOf(const Panel& panel, double Point::*coordinate) {
  double low = HUGE_VAL;
  double high = 0;
  for (const Series& series : panel.series) {
    for (const Point& point : series.points) {
      if (!drawable(panel, point)) continue;
      low = std::min(low, point.*coordinate);
      high = std::max(high, point.*coordinate);
    }
  }
  if (high == 0) return {1, 10};
  return {low, high};
}

Axis xAxis(const Panel& panel, double from, double to) {
  auto [low, high] = rangeOf(panel, &Point::x);
  if (low == high) {
    low /= 2;
    high *= 2;
  }
  const double margin = std::pow(high / low, 0.03);
  return {low / margin, high * margin, from, to, false};
}

/// With room above and below the curves.
Axis yAxis(const Panel& panel, double from, double to) {
  if (panel.percent) return {-4, 104, from, to, true};
  auto [low, high] = rangeOf(panel, &Point::y);
  low *= 0.8;
  high *= 1.25;
  if (high / low < 10) {  // a mark at least, and curves that are flat look flat
    const double middle = std::sqrt(low * high);
    low = middle / std::sqrt(10.0);
    high = middle * std::sqrt(10.0);
  }
  return {low, high, from, to, false};
}

/// The first series of each name, for the legend.
std::vector<const Series*> named(const Figure& figure) {
  std::vector<const Series*> result;
  for (const Panel& panel : figure.panels) {
    for (const Series& series : panel.series) {
      const bool known = std::any_of(result.begin(), result.end(), [&](const Series* other) {
        return other->name == series.name;
      });
      if (!known) result.push_back(&series);
    }
  }
  return result;
}

class Drawing {
 public:
  explicit Drawing(const Figure& figure)
      : figure_(figure), legend_(placeLegend()), svg_(kWidth, height()) {}
  std::string draw();

 private:
  struct Entry {
    const Series* series;
    double x;
    int line;
  };

  std::vector<Entry> placeLegend() const;
  int rows() const {
    return (static_cast<int>(figure_.panels.size()) + figure_.columns - 1) / figure_.columns;
  }
  double headHeight() const {
    const int lines = legend_.empty() ? 0 : legend_.back().line + 1;
    return 40 + 17 * static_cast<double>(figure_.notes.size()) + kLegendLine * lines;
  }
  double height() const { return headHeight() + rows() * figure_.panelHeight + 6; }
  void head();
  void panel(const Panel& panel, Point corner, double width);
  void texts(const Panel& panel, Point corner);
  void xMarks(const Panel& panel, const Axis& x, const Axis& y);
  void yMarks(const Panel& panel, const Axis& x, const Axis& y);
  void curves(const Panel& panel, const Axis& x, const Axis& y);

  const Figure& figure_;
  std::vector<Entry> legend_;
  Svg svg_;
};

std::vector<Drawing::Entry> Drawing::placeLegend() const {
  std::vector<Entry> entries;
  double x = 14;
  int line = 0;
  for (const Series* series : named(figure_)) {
    const double width = 56 + 7 * static_cast<double>(series->name.size());
    if (x + width > kWidth) {
      x = 14;
      ++line;
    }
    entries.push_back({series, x, line});
    x += width;
  }
  return entries;
}

void Drawing::head() {
  TextStyle title;
  title.size = 16;
  title.bold = true;
  svg_.text({14, 26}, figure_.title, title);
  TextStyle note;
  note.color = "#666";
  double y = 45;
  for (const std::string& text : figure_.notes) {
    svg_.text({14, y}, text, note);
    y += 17;
  }
  for (const Entry& entry : legend_) {
    const double at = y + 5 + kLegendLine * entry.line;
    const char* color = colorOf(*entry.series);
    svg_.path({{entry.x, at - 4}, {entry.x + 30, at - 4}}, color, 2.2,
              entry.series->dashed ? kDashes : "");
    svg_.dot({entry.x + 15, at - 4}, 3, color);
    svg_.text({entry.x + 37, at}, entry.series->name, {});
  }
}

void Drawing::xMarks(const Panel& panel, const Axis& x, const Axis& y) {
  constexpr double kLabelWidth = 46;
  TextStyle below;
  below.size = 11;
  below.anchor = Anchor::kMiddle;
  std::vector<double> values;
  for (const Series& series : panel.series) {
    for (const Point& point : series.points) {
      if (drawable(panel, point)) values.push_back(point.x);
    }
  }
  const auto most = static_cast<size_t>((x.to - x.from) / kLabelWidth);
  for (double value : chosenMarks(values, most)) {
    const double at = x.at(value);
    svg_.line({at, y.from}, {at, y.to}, kGrid, 1);
    svg_.text({at, y.from + 15}, panel.xIsBytes ? formatBytesTick(value) : formatDecimalTick(value),
              below);
  }
}

void Drawing::yMarks(const Panel& panel, const Axis& x, const Axis& y) {
  constexpr double kLabelHeight = 18;
  std::vector<double> values;
  if (panel.percent) {
    values = {0, 25, 50, 75, 100};
  } else {
    const int most = static_cast<int>((y.from - y.to) / kLabelHeight);
    for (int exponent : tickExponents(y.low, y.high, most)) {
      values.push_back(std::pow(10.0, exponent));
    }
  }
  TextStyle left;
  left.size = 11;
  left.anchor = Anchor::kEnd;
  for (double value : values) {
    svg_.line({x.from, y.at(value)}, {x.to, y.at(value)}, kGrid, 1);
    svg_.text({x.from - 6, y.at(value) + 4}, formatDecimalTick(value), left);
  }
}

/// The first series comes last, on top of the others.
void Drawing::curves(const Panel& panel, const Axis& x, const Axis& y) {
  for (auto series = panel.series.rbegin(); series != panel.series.rend(); ++series) {
    std::vector<Point> points;
    for (const Point& point : series->points) {
      if (drawable(panel, point)) points.push_back({x.at(point.x), y.at(point.y)});
    }
    svg_.path(points, colorOf(*series), 2.2, series->dashed ? kDashes : "");
    for (const Point& point : points) svg_.dot(point, 3, colorOf(*series));
  }
}

void Drawing::texts(const Panel& panel, Point corner) {
  TextStyle title;
  title.size = 13;
  title.bold = true;
  svg_.text({corner.x + 14, corner.y + 20}, panel.title, title);
  double y = corner.y + 44;
  for (const std::string& line : panel.lines) {
    svg_.text({corner.x + 14, y}, line, {});
    y += 18;
  }
}

void Drawing::panel(const Panel& panel, Point corner, double width) {
  if (!panel.lines.empty()) return texts(panel, corner);
  constexpr double kLeft = 62;
  constexpr double kRight = 14;
  constexpr double kTop = 28;
  constexpr double kBottom = 44;
  const double top = corner.y + kTop;
  const double bottom = corner.y + figure_.panelHeight - kBottom;
  const Axis x = xAxis(panel, corner.x + kLeft, corner.x + width - kRight);
  const Axis y = yAxis(panel, bottom, top);
  xMarks(panel, x, y);
  yMarks(panel, x, y);
  svg_.frame({x.from, top}, x.to - x.from, bottom - top, kFrame);
  curves(panel, x, y);

  TextStyle title;
  title.size = 13;
  title.bold = true;
  svg_.text({x.from, top - 8}, panel.title, title);
  TextStyle label;
  label.anchor = Anchor::kMiddle;
  label.color = "#555";
  svg_.text({(x.from + x.to) / 2, bottom + 33}, panel.xLabel, label);
  label.upwards = true;
  svg_.text({corner.x + 16, (top + bottom) / 2}, panel.yLabel, label);
}

std::string Drawing::draw() {
  head();
  const double width = kWidth / figure_.columns;
  for (size_t i = 0; i < figure_.panels.size(); ++i) {
    const auto columns = static_cast<size_t>(figure_.columns);
    const size_t row = i / columns;
    const Point corner{static_cast<double>(i % columns) * width,
                       headHeight() + static_cast<double>(row) * figure_.panelHeight};
    panel(figure_.panels[i], corner, width);
  }
  return svg_.str();
}

}  // namespace

std::string drawFigure(const Figure& figure) { return Drawing(figure).draw(); }

std::string formatBytesTick(double bytes) {
  constexpr const char* kUnits[] = {"", "Ki", "Mi", "Gi", "Ti"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return format(bytes == std::floor(bytes) ? "%.0f%s" : "%.1f%s", bytes, kUnits[unit]);
}

std::string formatDecimalTick(double value) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return format("%.6g%s", value, kUnits[unit]);
}

std::vector<double> chosenMarks(std::vector<double> values, size_t most) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const size_t step = (values.size() + most - 1) / std::max<size_t>(1, most);
  std::vector<double> result;
  for (size_t i = 0; i < values.size(); i += std::max<size_t>(1, step)) result.push_back(values[i]);
  return result;
}

std::vector<int> tickExponents(double low, double high, int most) {
  constexpr double kSlack = 1e-9;
  const int first = static_cast<int>(std::ceil(std::log10(low) - kSlack));
  const int last = static_cast<int>(std::floor(std::log10(high) + kSlack));
  int step = 1;
  while ((last - first) / step + 1 > std::max(2, most)) ++step;
  std::vector<int> result;
  for (int exponent = first; exponent <= last; exponent += step) result.push_back(exponent);
  return result;
}

}  // namespace rondo::bench

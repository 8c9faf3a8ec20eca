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

// Told apart by colour, dashes and lightness, also by eyes that see few colours.
struct Look {
  const char* color;
  const char* dashes;
};
constexpr Look kLooks[] = {{"#0b62b5", ""},        {"#d9541e", "6 3"}, {"#2a8a4a", "2 3"},
                           {"#8a3fa0", "8 3 2 3"}, {"#946b00", "4 2"}, {"#5b6770", "1 2"}};

struct Axis {
  double low;
  double high;
  double from;  ///< Where `low` is in the picture.
  double to;

  double at(double value) const {
    const double share = (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
    return from + share * (to - from);
  }
};

bool drawable(const Point& point) { return point.x > 0 && point.y > 0; }

/// The smallest and the largest value of a coordinate; 1 to 10 where there is none.
std::pair<double, double> rangeOf(const Panel& panel, double Point::*coordinate) {
  double low = HUGE_VAL;
  double high = 0;
  for (const Series& series : panel.series) {
    for (const Point& point : series.points) {
      if (!drawable(point)) continue;
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
  return {low / margin, high * margin, from, to};
}

/// Up to the next of 1, 2, 5 times a power of ten on both sides, with room for the curves.
Axis yAxis(const Panel& panel, double from, double to) {
  auto [low, high] = rangeOf(panel, &Point::y);
  low *= 0.8;
  high *= 1.25;
  if (high / low < 10) {  // a mark at least, and curves that are flat look flat
    const double middle = std::sqrt(low * high);
    low = middle / std::sqrt(10.0);
    high = middle * std::sqrt(10.0);
  }
  return {low, high, from, to};
}

class Drawing {
 public:
  explicit Drawing(const Figure& figure) : figure_(figure), svg_(kWidth, height()) {}
  std::string draw();

 private:
  int rows() const {
    return (static_cast<int>(figure_.panels.size()) + figure_.columns - 1) / figure_.columns;
  }
  double headHeight() const {
    return 40 + 17 * static_cast<double>(figure_.notes.size()) + kLegendLine;
  }
  double height() const { return headHeight() + rows() * figure_.panelHeight + 6; }
  void head();
  void legend(double y);
  void panel(const Panel& panel, Point corner, double width);
  void marks(const Panel& panel, const Axis& x, const Axis& y);
  void curves(const Panel& panel, const Axis& x, const Axis& y);
  const Look& look(const std::string& name);

  const Figure& figure_;
  Svg svg_;
  std::map<std::string, size_t> looks_;
};

const Look& Drawing::look(const std::string& name) {
  const size_t place = looks_.emplace(name, looks_.size()).first->second;
  return kLooks[place % std::size(kLooks)];
}

void Drawing::head() {
  TextStyle title;
  title.size = 16;
  title.bold = true;
  svg_.text({14, 26}, figure_.title, title);
  TextStyle note;
  note.color = "#666";
  double y = 44;
  for (const std::string& text : figure_.notes) {
    svg_.text({14, y}, text, note);
    y += 17;
  }
  legend(y + 5);
}

void Drawing::legend(double y) {
  std::vector<std::string> names;
  for (const Panel& panel : figure_.panels) {
    for (const Series& series : panel.series) {
      if (std::find(names.begin(), names.end(), series.name) == names.end()) {
        names.push_back(series.name);
      }
    }
  }
  double x = 14;
  for (const std::string& name : names) {
    const Look& chosen = look(name);
    svg_.path({{x, y - 4}, {x + 30, y - 4}}, chosen.color, 2.2, chosen.dashes);
    svg_.dot({x + 15, y - 4}, 3, chosen.color);
    svg_.text({x + 37, y}, name, {});
    x += 60 + 7 * static_cast<double>(name.size());
  }
}

void Drawing::marks(const Panel& panel, const Axis& x, const Axis& y) {
  TextStyle below;
  below.size = 11;
  below.anchor = Anchor::kMiddle;
  const int mostX = static_cast<int>((x.to - x.from) / 44);
  const double base = panel.xIsBytes ? 2 : 10;
  for (int exponent : tickExponents(x.low, x.high, base, mostX)) {
    const double value = std::pow(base, exponent);
    const double at = x.at(value);
    svg_.line({at, y.from}, {at, y.to}, kGrid, 1);
    svg_.text({at, y.from + 15}, panel.xIsBytes ? formatBytesTick(value) : formatDecimalTick(value),
              below);
  }
  TextStyle left;
  left.size = 11;
  left.anchor = Anchor::kEnd;
  const int mostY = static_cast<int>((y.from - y.to) / 18);
  for (int exponent : tickExponents(y.low, y.high, 10, mostY)) {
    const double value = std::pow(10.0, exponent);
    svg_.line({x.from, y.at(value)}, {x.to, y.at(value)}, kGrid, 1);
    svg_.text({x.from - 6, y.at(value) + 4}, formatDecimalTick(value), left);
  }
}

void Drawing::curves(const Panel& panel, const Axis& x, const Axis& y) {
  for (auto series = panel.series.rbegin(); series != panel.series.rend(); ++series) {
    const Look& chosen = look(series->name);
    std::vector<Point> points;
    for (const Point& point : series->points) {
      if (drawable(point)) points.push_back({x.at(point.x), y.at(point.y)});
    }
    svg_.path(points, chosen.color, 2.2, chosen.dashes);
    for (const Point& point : points) svg_.dot(point, 3, chosen.color);
  }
}

void Drawing::panel(const Panel& panel, Point corner, double width) {
  constexpr double kLeft = 62;
  constexpr double kRight = 14;
  constexpr double kTop = 28;
  constexpr double kBottom = 44;
  const double top = corner.y + kTop;
  const double bottom = corner.y + figure_.panelHeight - kBottom;
  const Axis x = xAxis(panel, corner.x + kLeft, corner.x + width - kRight);
  const Axis y = yAxis(panel, bottom, top);
  marks(panel, x, y);
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
    const Point corner{static_cast<double>(i % columns) * width,
                       headHeight() + static_cast<double>(i / columns) * figure_.panelHeight};
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

std::vector<int> tickExponents(double low, double high, double base, int most) {
  constexpr double kSlack = 1e-9;
  const int first = static_cast<int>(std::ceil(std::log(low) / std::log(base) - kSlack));
  const int last = static_cast<int>(std::floor(std::log(high) / std::log(base) + kSlack));
  int step = 1;
  // Powers of two look best a factor of 4, 16, 64 apart.
  while ((last - first) / step + 1 > std::max(2, most)) step += base == 2 && step > 1 ? 2 : 1;
  const int begin = first + (step - (first % step)) % step;
  std::vector<int> result;
  for (int exponent = begin; exponent <= last; exponent += step) result.push_back(exponent);
  return result;
}

}  // namespace rondo::bench

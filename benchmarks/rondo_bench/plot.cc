#include "plot.h"

#include <algorithm>
#include <cmath>

#include "base/text_width.h"
#include "plot_marks.h"

namespace rondo::bench {
namespace {

constexpr double kWidth = 900;
constexpr double kEdge = 14;  // of the picture, to its texts
constexpr double kTextSize = 12, kMarkSize = 11;
constexpr double kLegendLine = 20, kNoteLine = 17, kTextLine = 18;
constexpr double kTextHead = 44, kIndent = 16;  // of panels of texts
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

/// Of a panel of texts, one below the other.
struct TextLine {
  std::string text;
  bool goesOn;  ///< With what the line above has begun.
};

std::vector<TextLine> linesOf(const Panel& panel) {
  std::vector<TextLine> result;
  for (const std::string& line : panel.lines) {
    bool goesOn = false;
    for (std::string& part : wrapped(line, kTextSize, kWidth - 2 * kEdge - kIndent)) {
      result.push_back({std::move(part), goesOn});
      goesOn = true;
    }
  }
  return result;
}

class Drawing {
 public:
  explicit Drawing(const Figure& figure)
      : figure_(figure), notes_(wrapNotes()), legend_(placeLegend()), svg_(kWidth, height()) {}
  std::string draw();

 private:
  struct Entry {
    const Series* series;
    std::string name;
    double x;
    int line;
  };

  std::vector<std::string> wrapNotes() const;
  std::vector<Entry> placeLegend() const;
  /// Panels of curves.
  int curvePanels() const {
    return static_cast<int>(std::count_if(figure_.panels.begin(), figure_.panels.end(),
                                          [](const Panel& panel) { return panel.lines.empty(); }));
  }
  int rows() const { return (curvePanels() + figure_.columns - 1) / figure_.columns; }
  double headHeight() const {
    const int lines = legend_.empty() ? 0 : legend_.back().line + 1;
    return 40 + kNoteLine * static_cast<double>(notes_.size()) + kLegendLine * lines;
  }
  double height() const;
  void head();
  void panel(const Panel& panel, Point corner, double width);
  double texts(const Panel& panel, double y);
  void xMarks(const Panel& panel, const Axis& x, const Axis& y);
  void yMarks(const Panel& panel, const Axis& x, const Axis& y);
  void curves(const Panel& panel, const Axis& x, const Axis& y);

  const Figure& figure_;
  std::vector<std::string> notes_;
  std::vector<Entry> legend_;
  Svg svg_;
};

double Drawing::height() const {
  double result = headHeight() + rows() * figure_.panelHeight + 6;
  for (const Panel& panel : figure_.panels) {
    if (!panel.lines.empty()) {
      result += kTextHead + kTextLine * static_cast<double>(linesOf(panel).size());
    }
  }
  return result;
}

std::vector<std::string> Drawing::wrapNotes() const {
  std::vector<std::string> result;
  for (const std::string& note : figure_.notes) {
    for (std::string& line : wrapped(note, kTextSize, kWidth - 2 * kEdge)) {
      result.push_back(std::move(line));
    }
  }
  return result;
}

std::vector<Drawing::Entry> Drawing::placeLegend() const {
  constexpr double kLine = 37, kBetween = 19;
  std::vector<Entry> entries;
  double x = kEdge;
  int line = 0;
  for (const Series* series : named(figure_)) {
    const std::string name = shortText(series->name, kTextSize, kWidth - 2 * kEdge - kLine);
    const double width = kLine + textWidth(name, kTextSize);
    if (x > kEdge && x + width > kWidth - kEdge) {
      x = kEdge;
      ++line;
    }
    entries.push_back({series, name, x, line});
    x += width + kBetween;
  }
  return entries;
}

void Drawing::head() {
  TextStyle title;
  title.size = 16;
  title.bold = true;
  svg_.text({kEdge, 26}, shortText(figure_.title, title.size, (kWidth - 2 * kEdge) / 1.15), title);
  TextStyle note;
  note.color = "#666";
  double y = 45;
  for (const std::string& text : notes_) {
    svg_.text({kEdge, y}, text, note);
    y += kNoteLine;
  }
  for (const Entry& entry : legend_) {
    const double at = y + 5 + kLegendLine * entry.line;
    const char* color = colorOf(*entry.series);
    svg_.path({{entry.x, at - 4}, {entry.x + 30, at - 4}}, color, 2.2,
              entry.series->dashed ? kDashes : "");
    svg_.dot({entry.x + 15, at - 4}, 3, color);
    svg_.text({entry.x + 37, at}, entry.name, {});
  }
}

void Drawing::xMarks(const Panel& panel, const Axis& x, const Axis& y) {
  constexpr double kLabelWidth = 46, kBetween = 8;
  TextStyle below;
  below.size = kMarkSize;
  below.anchor = Anchor::kMiddle;
  std::vector<double> values;
  for (const Series& series : panel.series) {
    for (const Point& point : series.points) {
      if (drawable(panel, point)) values.push_back(point.x);
    }
  }
  const auto most = static_cast<size_t>((x.to - x.from) / kLabelWidth);
  double taken = 0;
  for (double value : chosenMarks(values, most)) {
    const double at = x.at(value);
    svg_.line({at, y.from}, {at, y.to}, kGrid, 1);
    const std::string label = panel.xIsBytes ? formatBytesTick(value) : formatDecimalTick(value);
    const double half = textWidth(label, kMarkSize) / 2;
    if (at - half < taken) continue;  // sizes need not be evenly apart
    svg_.text({at, y.from + 15}, label, below);
    taken = at + half + kBetween;
  }
}

void Drawing::yMarks(const Panel& panel, const Axis& x, const Axis& y) {
  constexpr double kLabelHeight = 18;
  std::vector<double> values;
  if (panel.percent) {
    values = {0, 25, 50, 75, 100};
  } else {
    values = decimalMarks(y.low, y.high, static_cast<int>((y.from - y.to) / kLabelHeight));
  }
  TextStyle left;
  left.size = kMarkSize;
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

/// Returns where they end.
double Drawing::texts(const Panel& panel, double y) {
  TextStyle title;
  title.size = 13;
  title.bold = true;
  svg_.text({kEdge, y + 20}, panel.title, title);
  y += kTextHead;
  for (const TextLine& line : linesOf(panel)) {
    svg_.text({line.goesOn ? kEdge + kIndent : kEdge, y}, line.text, {});
    y += kTextLine;
  }
  return y;
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
  const auto columns = static_cast<size_t>(figure_.columns);
  size_t drawn = 0;
  double below = headHeight() + rows() * figure_.panelHeight;
  for (const Panel& one : figure_.panels) {
    if (!one.lines.empty()) {
      below = texts(one, below);
      continue;
    }
    const Point corner{static_cast<double>(drawn % columns) * width,
                       headHeight() + static_cast<double>(drawn / columns) * figure_.panelHeight};
    panel(one, corner, width);
    ++drawn;
  }
  return svg_.str();
}

}  // namespace

std::string drawFigure(const Figure& figure) { return Drawing(figure).draw(); }

}  // namespace rondo::bench

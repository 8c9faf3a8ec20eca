#include "coll/sim/heat_svg.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text_width.h"
#include "coll/sim/heat_rows.h"
#include "topo/quantities.h"
#include "topo/xml.h"

namespace rondo::sim {
namespace {

constexpr double kMargin = 20, kColumn = 3.5, kRow = 17, kTop = 96, kLetters = 12;
constexpr double kPlot = kColumn * kHeatColumns;
constexpr double kBetween = 6;  // labels
constexpr int kLevels = 40;
/// What carries less of its bandwidth in a column carries nothing: rates are sums of fractions.
constexpr double kNothing = 1e-7;

/// From nothing to everything: near white, yellow, orange, red, nearly black.
std::string colour(double part) {
  struct Stop {
    double at, r, g, b;
  };
  static constexpr Stop kStops[] = {{0.0, 242, 244, 247},  {0.02, 255, 247, 214},
                                    {0.35, 253, 205, 110}, {0.6, 244, 127, 60},
                                    {0.85, 200, 30, 38},   {1.0, 96, 0, 22}};
  const double x = std::clamp(part, 0.0, 1.0);
  size_t i = 1;
  while (kStops[i].at < x) ++i;
  const Stop &a = kStops[i - 1], &b = kStops[i];
  const double t = (x - a.at) / (b.at - a.at);
  const auto mix = [t](double from, double to) {
    return static_cast<int>(std::lround(from + t * (to - from)));
  };
  return format("#%02x%02x%02x", mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b));
}

/// 1, 2 or 5 times a power of ten: about `wanted` of them in `range`.
double tickOf(double range, double wanted) {
  const double rough = range / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= rough) return times * power;
  }
  return 10 * power;
}

std::string labelOf(const HeatRow& row) {
  return row.label + (row.links > 1 ? format(" (mean of %zu)", row.links) : std::string());
}

std::string noteOf(const HeatRow& row) {
  const std::string note =
      format("%5.1f %% of %s", 100 * row.mean, topo::shortBandwidth(row.capacity).c_str());
  const bool uneven = std::lround(1000 * row.most) > std::lround(1000 * row.mean);
  return note + (uneven ? format(", up to %.1f %%", 100 * row.most) : std::string());
}

class Picture {
 public:
  Picture(const Job& job, const Result& result) : heat_(heatOf(job, result)), result_(result) {
    for (const HeatRow& row : heat_.rows) {
      labels_ = std::max(labels_, textWidth(labelOf(row), kLetters));
      notes_ = std::max(notes_, textWidth(noteOf(row), kLetters));
    }
    left_ = kMargin + labels_ + 8;
  }

  std::string run(const std::string& title) {
    const double width =
        std::max(left_ + kPlot + 10 + notes_, textWidth(title, 18) + kMargin) + kMargin;
    const double bottom = kTop + kRow * static_cast<double>(heat_.rows.size());
    double height = bottom + 44;
    for (size_t i = 0; i < heat_.rows.size(); ++i)
      drawRow(heat_.rows[i], kTop + kRow * static_cast<double>(i));
    if (heat_.rows.empty()) {
      text(kMargin, kTop - 8, "No link carries anything.", kLetters, "start", "#333");
    } else {
      drawAxis(bottom);
      drawLegend();
      text(left_ + kPlot + 10, kTop - 8, "over the whole time", 11, "start", "#555");
    }
    for (const std::string& line : remarks()) {
      text(kMargin, height + 2, line, kLetters, "start", "#555");
      height += 18;
    }
    text(kMargin, 30, title, 18, "start", "#111");
    text(kMargin, 52, "How much of each link is used, over time", kLetters, "start", "#555");
    return format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, sans-serif\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
               width, height, width, height) +
           out_ + "</svg>\n";
  }

 private:
  void text(double x, double y, const std::string& what, double size, const char* anchor,
            const char* fill) {
    out_ += format(
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\" "
        "fill=\"%s\">%s</text>\n",
        x, y, size, anchor, fill, topo::xmlEscape(what).c_str());
  }
  void rect(double x, double y, double width, double height, const std::string& fill) {
    out_ += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
                   y, width, height, fill.c_str());
  }
  bool gap() const { return heat_.gapTo > heat_.gapFrom; }
  double at(size_t column) const { return left_ + kColumn * static_cast<double>(column); }

  std::vector<std::string> remarks() const {
    std::vector<std::string> out;
    if (gap()) {
      out.push_back(
          format("Between the lines: %llu of %llu full periods, which are alike and were not "
                 "simulated one by one; drawn is their mean",
                 static_cast<unsigned long long>(result_.periods - result_.simulatedPeriods),
                 static_cast<unsigned long long>(result_.periods)));
    }
    if (heat_.left > 0) {
      out.push_back(
          format("%zu more link%s less", heat_.left, heat_.left == 1 ? " carries" : "s carry"));
    }
    return out;
  }

  void drawRow(const HeatRow& row, double y) {
    text(left_ - 8, y + 12.5, labelOf(row), kLetters, "end", "#222");
    const auto level = [&](size_t c) {
      const double use = row.use[c];
      return use <= kNothing ? 0
                             : std::clamp(static_cast<int>(std::lround(use * kLevels)), 1, kLevels);
    };
    for (size_t c = 0; c < kHeatColumns;) {
      size_t same = c + 1;
      while (same < kHeatColumns && level(same) == level(c)) ++same;
      // A little wider, so that no white line is between neighbours.
      const double more = same < kHeatColumns ? 0.2 : 0;
      rect(at(c), y, at(same) - at(c) + more, kRow - 2,
           colour(static_cast<double>(level(c)) / kLevels));
      c = same;
    }
    text(left_ + kPlot + 10, y + 12.5, noteOf(row), kLetters, "start", "#222");
  }

  /// From 0 to the call's end, which is always written; round times where they have room.
  void drawAxis(double y) {
    const double range = static_cast<double>(heat_.edges.back()) * 1e-6;
    const double unit = range >= 20'000'000 ? 1e6 : range >= 20'000 ? 1e3 : 1;
    const char* const name = unit > 1e3 ? "s" : unit > 1 ? "ms" : "us";
    text(left_ - 12, y + 20, name, kLetters, "end", "#333");
    const std::string last = format("%.5g", range / unit);
    mark(left_ + kPlot, y, last);
    const double end = left_ + kPlot - textWidth(last, kLetters) / 2 - kBetween;
    double taken = 0;
    if (!gap()) return marks(0, kHeatColumns, tickOf(range, 8), unit, end, y, &taken);
    for (const size_t edge : {heat_.gapFrom, heat_.gapTo}) {
      rect(at(edge) - 0.5, kTop - 4, 1, y - kTop + 9, "#555");
    }
    // Times are as close as they would be without the gap.
    const double seen = std::max(range - static_cast<double>(result_.leftOutTime) * 1e-6, 1e-6);
    const double part = 1 - static_cast<double>(heat_.gapTo - heat_.gapFrom) / kHeatColumns;
    const double tick = tickOf(seen, std::max(8 * part, 1.0));
    marks(0, heat_.gapFrom, tick, unit, end, y, &taken);
    marks(heat_.gapTo, kHeatColumns, tick, unit, end, y, &taken);
  }
  /// Round times of some columns, whose labels stand between what is taken and `end`.
  void marks(size_t from, size_t to, double tick, double unit, double end, double y,
             double* taken) {
    const double first = static_cast<double>(heat_.edges[from]) * 1e-6;
    const double last = static_cast<double>(heat_.edges[to]) * 1e-6;
    if (last <= first) return;
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(tick / unit) + 1e-9)));
    for (double k = std::max(0.0, std::ceil(first / tick - 1e-9)); k * tick <= last; ++k) {
      const double x = at(from) + (k * tick - first) / (last - first) * (at(to) - at(from));
      const std::string label = k == 0 ? "0" : format("%.*f", digits, k * tick / unit);
      const double half = textWidth(label, kLetters) / 2;
      if (x - half < *taken || x + half > end) continue;
      mark(x, y, label);
      *taken = x + half + kBetween;
    }
  }
  void mark(double x, double y, const std::string& label) {
    rect(x - 0.5, y, 1, 5, "#555");
    text(x, y + 20, label, kLetters, "middle", "#333");
  }

  void drawLegend() {
    const double x = left_ + kPlot - 50 - kLevels * 5, y = 62;
    for (int i = 0; i < kLevels; ++i) {
      rect(x + 5 * i, y, 5.2, 12, colour(static_cast<double>(i) / (kLevels - 1)));
    }
    text(x - 6, y + 11, "0 %", kLetters, "end", "#333");
    text(x + 5 * kLevels + 6, y + 11, "100 %", kLetters, "start", "#333");
  }

  const Heat heat_;
  const Result& result_;
  double labels_ = 0, notes_ = 0, left_ = 0;
  std::string out_;
};

}  // namespace

std::string heatSvg(const Job& job, const Result& result, const std::string& title) {
  return Picture(job, result).run(title);
}

}  // namespace rondo::sim

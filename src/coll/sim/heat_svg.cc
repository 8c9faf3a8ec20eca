#include "coll/sim/heat_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "coll/sim/output.h"
#include "topo/quantities.h"
#include "topo/xml.h"

namespace rondo::sim {
namespace {

constexpr size_t kBins = 240, kMostRows = 40;
constexpr double kMargin = 20, kLabels = 330, kBinWidth = 3.5, kRow = 17, kTop = 96, kNotes = 190;
constexpr int kLevels = 40;

/// Which part of each of the picture's columns a link was busy, of its bandwidth.
using Use = std::array<double, kBins>;

struct Row {
  std::string label;
  size_t links = 0;
  uint64_t capacity = 0;
  double mean = 0;  ///< Over the time, of all its links.
  Use use{};
};

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

class Picture {
 public:
  Picture(const Job& job, const Result& result) : job_(job), graph_(*job.graph), result_(result) {
    for (const Transfer& t : result.transfers) end_ = std::max(end_, t.end);
    end_ = std::max<Time>(end_, 1);
  }

  std::string run(const std::string& title) {
    collect();
    makeRows();
    const double width = kMargin + kLabels + kBins * kBinWidth + kNotes;
    const double bottom = kTop + kRow * static_cast<double>(rows_.size());
    const double height = bottom + 44 + (left_ > 0 ? 18 : 0);
    for (size_t i = 0; i < rows_.size(); ++i)
      drawRow(rows_[i], kTop + kRow * static_cast<double>(i));
    drawAxis(bottom);
    drawLegend(width);
    if (left_ > 0) {
      text(kMargin, bottom + 46, format("%zu more links carry less", left_), 12, "start", "#555");
    }
    const std::string shown =
        result_.simulatedPeriods < result_.periods
            ? format("; %llu of %llu full periods, the others are alike",
                     static_cast<unsigned long long>(result_.simulatedPeriods),
                     static_cast<unsigned long long>(result_.periods))
            : std::string();
    text(kMargin, 30, title, 18, "start", "#111");
    text(kMargin, 52, "How much of each link is used, over time" + shown, 12, "start", "#555");
    return format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
               "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, sans-serif\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
               width, height, width, height) +
           out_ + "</svg>\n";
  }

 private:
  void text(double x, double y, const std::string& what, int size, const char* anchor,
            const char* fill) {
    out_ += format(
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n",
        x, y, size, anchor, fill, topo::xmlEscape(what).c_str());
  }
  void rect(double x, double y, double width, double height, const std::string& fill) {
    out_ += format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
                   y, width, height, fill.c_str());
  }

  /// Spreads every transfer's bytes evenly over the time it was under way.
  void collect() {
    const uint64_t n = job_.places.size();
    std::unordered_map<uint64_t, const std::vector<topo::Arc>*> routes;
    const auto key = [this](uint64_t from, uint64_t to) {
      return static_cast<uint64_t>(job_.places[from]) << 32 |
             static_cast<uint32_t>(job_.places[to]);
    };
    for (const auto& [ends, arcs] : result_.routes) routes[key(ends / n, ends % n)] = &arcs;
    for (const Transfer& t : result_.transfers) {
      const auto found =
          routes.find(key(static_cast<uint64_t>(t.from), static_cast<uint64_t>(t.to)));
      if (found == routes.end() || t.bytes == 0) continue;
      // A transfer's end is when its last byte is there; it left that much earlier.
      Time latency = 0;
      for (const topo::Arc arc : *found->second) latency += graph_.link(arc / 2).picoseconds;
      latency = static_cast<Time>(static_cast<double>(latency) * result_.stretched);
      const Time left = std::max(t.start, t.end - std::min(latency, t.end));
      for (const topo::Arc arc : *found->second) spread(t, left, &uses_[arc]);
    }
  }
  void spread(const Transfer& t, Time left, Use* use) const {
    const double bin = static_cast<double>(end_) / kBins;
    const double start = static_cast<double>(t.start) / bin;
    const double end = std::max(static_cast<double>(left) / bin, start + 1e-9);
    for (auto b = static_cast<size_t>(start); b < kBins && static_cast<double>(b) < end; ++b) {
      const double from = std::max(start, static_cast<double>(b));
      const double to = std::min(end, static_cast<double>(b + 1));
      (*use)[b] += static_cast<double>(t.bytes) * std::max(0.0, to - from) / (end - start);
    }
  }

  /// One row a link, or one for all that have the same name but for numbers.
  void makeRows() {
    const bool each = uses_.size() <= kMostRows;
    std::map<std::string, Row> groups;
    std::vector<std::string> order;
    for (const auto& [arc, use] : uses_) {
      const topo::Link& link = graph_.link(arc / 2);
      const std::string name =
          graph_.fullName(graph_.source(arc)) + " to " + graph_.fullName(graph_.target(arc));
      Row& row = groups[each ? name : namePattern(name)];
      if (row.links++ == 0) row.label = each ? name : namePattern(name);
      row.capacity = link.bytesPerSecond;
      const double most =
          static_cast<double>(link.bytesPerSecond) * 1e-12 * static_cast<double>(end_) / kBins;
      for (size_t b = 0; b < kBins; ++b) row.use[b] += use[b] / most;
    }
    for (auto& [name, row] : groups) {
      for (double& use : row.use) {
        use /= static_cast<double>(row.links);
        row.mean += use / kBins;
      }
      rows_.push_back(std::move(row));
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::llround(a.mean * 1000) > std::llround(b.mean * 1000);
    });
    for (size_t i = kMostRows; i < rows_.size(); ++i) left_ += rows_[i].links;
    if (rows_.size() > kMostRows) rows_.resize(kMostRows);
  }

  void drawRow(const Row& row, double y) {
    const std::string many = row.links > 1 ? format(" (mean of %zu)", row.links) : std::string();
    text(kMargin + kLabels - 8, y + 12.5, row.label + many, 12, "end", "#222");
    const double x = kMargin + kLabels;
    const auto level = [&](size_t b) {
      const double use = row.use[b];
      return use <= 0 ? 0 : std::max(1, static_cast<int>(std::lround(use * kLevels)));
    };
    for (size_t b = 0; b < kBins;) {
      size_t same = b + 1;
      while (same < kBins && level(same) == level(b)) ++same;
      rect(x + static_cast<double>(b) * kBinWidth, y,
           static_cast<double>(same - b) * kBinWidth + 0.2, kRow - 2,
           colour(static_cast<double>(level(b)) / kLevels));
      b = same;
    }
    text(x + kBins * kBinWidth + 10, y + 12.5,
         format("%3.0f %% of %s", 100 * row.mean, topo::shortBandwidth(row.capacity).c_str()), 12,
         "start", "#222");
  }

  void drawAxis(double y) {
    const double range = static_cast<double>(end_) * 1e-6, x = kMargin + kLabels;
    const double tick = tickOf(range, 8);
    const bool milliseconds = range >= 20'000;
    for (double t = 0; t <= range * (1 + 1e-9); t += tick) {
      const double mark = x + t / range * kBins * kBinWidth;
      rect(mark, y, 1, 5, "#555");
      text(mark, y + 20, format("%.6g", milliseconds ? t * 1e-3 : t), 12, "middle", "#333");
    }
    text(x - 8, y + 20, milliseconds ? "ms" : "us", 12, "end", "#333");
  }

  void drawLegend(double width) {
    const double x = width - kMargin - 40 - kLevels * 5, y = 62;
    for (int i = 0; i < kLevels; ++i) {
      rect(x + 5 * i, y, 5.2, 12, colour(static_cast<double>(i) / (kLevels - 1)));
    }
    text(x - 6, y + 11, "0 %", 12, "end", "#333");
    text(x + 5 * kLevels + 6, y + 11, "100 %", 12, "start", "#333");
  }

  const Job& job_;
  const topo::Graph& graph_;
  const Result& result_;
  Time end_ = 0;
  std::map<topo::Arc, Use> uses_;
  std::vector<Row> rows_;
  size_t left_ = 0;  // links without a row
  std::string out_;
};

}  // namespace

std::string heatSvg(const Job& job, const Result& result, const std::string& title) {
  return Picture(job, result).run(title);
}

}  // namespace rondo::sim

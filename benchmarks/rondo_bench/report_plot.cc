#include <algorithm>
#include <map>

#include "plot.h"
#include "plot_marks.h"
#include "report.h"
#include "text.h"

namespace rondo::bench {
namespace {

const std::string* factOf(const RunInfo& info, const std::string& name) {
  for (const auto& [fact, text] : info.facts) {
    if (fact == name) return &text;
  }
  return nullptr;
}

constexpr size_t kMostKinds = 6;  // types and operators that can be told apart

class PlotReporter : public Reporter {
 public:
  explicit PlotReporter(const std::string& path) : file_("--plot", path) {}

  void begin(const RunInfo& info) override { info_ = info; }
  void row(const Row& row) override {
    rows_.push_back(row);
    addOnce(kinds_[row.collective], kindOf(row));
    addOnce(libraries_, row.library);
    addOnce(collectives_, row.collective);
  }

  void end() override {
    Figure figure;
    figure.title = "rondo-bench " + info_.command;
    if (info_.manyBenchmarks) {
      figure.columns = 3;
      figure.panelHeight = 220;
    }
    for (const std::string& name : collectives_) addPanels(name, figure);
    figure.notes = notes();
    if (!single_.empty()) {
      Panel panel;
      panel.title = "Of one size";
      panel.lines = single_;
      figure.panels.push_back(panel);
    }
    file_ << drawFigure(figure);
    file_.finish();
  }

 private:
  static void addOnce(std::vector<std::string>& to, const std::string& name) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  }
  static size_t placeIn(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  }
  std::string kindOf(const Row& row) const {
    if (!info_.manyKinds || row.type == "none") return "";
    return " " + row.type + (row.op == "none" ? "" : " " + row.op);
  }
  /// Communicators have no size, so their curves are over ranks.
  static bool overRanks(const Row& row) { return row.collective.starts_with("init_"); }
  static double xOf(const Row& row) {
    return overRanks(row) ? row.ranks : static_cast<double>(row.bytes);
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> result;
    for (const char* name : {"run", "data"}) {
      if (const std::string* fact = factOf(info_, name)) result.push_back(*fact);
    }
    const std::string* versions = factOf(info_, "versions");
    const std::string* machine = factOf(info_, "machine");
    if (versions != nullptr && machine != nullptr) result.push_back(*versions + "; " + *machine);
    if (mostKinds_ > kMostKinds) {
      result.push_back("Drawn are " + std::to_string(kMostKinds) + " of " +
                       std::to_string(mostKinds_) + " types and operators.");
    }
    return result;
  }

  /// The rows of one benchmark, a curve for each library and kind. With one kind libraries differ
  /// in colour too.
  template <class Value>
  std::vector<Series> seriesOf(const std::string& collective, const Value& value,
                               size_t most = kMostKinds) const {
    std::vector<Series> result;
    const std::vector<std::string>& kinds = kinds_.at(collective);
    for (const Row& row : rows_) {
      const size_t kind = placeIn(kinds, kindOf(row));
      if (row.collective != collective || kind >= most) continue;
      const std::string name = row.library + kindOf(row);
      auto found = std::find_if(result.begin(), result.end(),
                                [&](const Series& series) { return series.name == name; });
      if (found == result.end()) {
        const size_t library = placeIn(libraries_, row.library);
        const size_t color = kinds.size() > 1 ? kind : library;
        found = result.insert(result.end(), Series{name, static_cast<int>(color), library > 0, {}});
      }
      found->points.push_back({xOf(row), value(row)});
    }
    return result;
  }

  Panel panelOf(const std::string& title, const std::string& unit,
                std::vector<Series> series) const {
    Panel panel;
    panel.title = title;
    panel.xLabel = "bytes";
    panel.yLabel = unit;
    panel.series = std::move(series);
    return panel;
  }

  void addPanels(const std::string& name, Figure& figure) {
    const Row& first = *std::find_if(rows_.begin(), rows_.end(),
                                     [&](const Row& row) { return row.collective == name; });
    const auto median = [](const Row& row) { return row.usec.p50; };
    const auto time = seriesOf(name, median);
    const bool curves = std::any_of(time.begin(), time.end(),
                                    [](const Series& one) { return one.points.size() > 1; });
    if (!curves) return addSingles(name, first, seriesOf(name, median, kinds_[name].size()));
    mostKinds_ = std::max(mostKinds_, kinds_[name].size());
    const bool many = info_.manyBenchmarks;
    figure.panels.push_back(panelOf(many ? name : "Time, median", "microseconds", time));
    if (overRanks(first)) {
      figure.panels.back().xIsBytes = false;
      figure.panels.back().xLabel = "ranks";
    }
    if (many) return;
    if (first.extra("overlap_pct")) {
      figure.panels.push_back(panelOf(
          "Hidden behind computation", "percent",
          seriesOf(name, [](const Row& row) { return row.extra("overlap_pct").value_or(0); })));
      figure.panels.back().percent = true;
    } else {
      figure.panels.push_back(panelOf("Bus bandwidth", "GB/s",
                                      seriesOf(name, [](const Row& row) { return row.busbw; })));
    }
  }

  /// One size makes no curve, so it is said in a line, with the size.
  void addSingles(const std::string& name, const Row& first, const std::vector<Series>& time) {
    std::string line = name + ": ";
    for (const Series& series : time) {
      const Point& point = series.points.front();
      line += (&series == &time.front() ? "" : ", ") + series.name + " " +
              formatMicroseconds(point.y) + " us";
      if (overRanks(first)) line += " over " + formatDecimalTick(point.x) + " ranks";
      if (!overRanks(first) && point.x > 0) line += " of " + formatBytesTick(point.x) + "B";
    }
    single_.push_back(line);
  }

  ReportFile file_;
  RunInfo info_;
  std::vector<Row> rows_;
  // In the order in which they came, as the next two; of each benchmark.
  std::map<std::string, std::vector<std::string>> kinds_;
  size_t mostKinds_ = 0;  // of what has curves
  std::vector<std::string> libraries_;
  std::vector<std::string> collectives_;
  std::vector<std::string> single_;
};

}  // namespace

std::unique_ptr<Reporter> makePlotReporter(const std::string& path) {
  return std::make_unique<PlotReporter>(path);
}

}  // namespace rondo::bench

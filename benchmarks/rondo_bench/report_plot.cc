#include <algorithm>
#include <fstream>

#include "errors.h"
#include "plot.h"
#include "report.h"
#include "text.h"

namespace rondo::bench {
namespace {

constexpr size_t kNoteLength = 130;  // letters that fit in a line

const std::string* factOf(const RunInfo& info, const std::string& name) {
  for (const auto& [fact, text] : info.facts) {
    if (fact == name) return &text;
  }
  return nullptr;
}

std::string shortened(std::string text) {
  if (text.size() > kNoteLength) text = text.substr(0, kNoteLength - 3) + "...";
  return text;
}

class PlotReporter : public Reporter {
 public:
  explicit PlotReporter(const std::string& path) : file_(openForWriting("--plot", path)) {}

  void begin(const RunInfo& info) override { info_ = info; }
  void row(const Row& row) override { rows_.push_back(row); }

  void end() override {
    Figure figure = info_.manyBenchmarks ? manyPanels() : twoPanels();
    figure.title = "rondo-bench " + info_.command;
    for (const char* name : {"run", "data", "versions", "machine"}) {
      const std::string* fact = factOf(info_, name);
      if (fact != nullptr) figure.notes.push_back(shortened(*fact));
    }
    file_ << drawFigure(figure) << std::flush;
    if (!file_) throw RunError("--plot: the picture could not be written; is the disk full?");
  }

 private:
  /// Communicators have no size, so their curves are over ranks.
  static bool overRanks(const Row& row) { return row.collective.starts_with("init_"); }
  static double xOf(const Row& row) {
    return overRanks(row) ? row.ranks : static_cast<double>(row.bytes);
  }

  std::string seriesName(const Row& row) const {
    std::string name = row.library;
    if (info_.manyKinds) name += " " + row.type + (row.op == "none" ? "" : " " + row.op);
    return name;
  }

  /// The rows of one benchmark as one curve for each library.
  template <class Value>
  std::vector<Series> seriesOf(const std::string& collective, const Value& value) const {
    std::vector<Series> result;
    for (const Row& row : rows_) {
      if (row.collective != collective) continue;
      const std::string name = seriesName(row);
      auto found = std::find_if(result.begin(), result.end(),
                                [&](const Series& series) { return series.name == name; });
      if (found == result.end()) found = result.insert(result.end(), Series{name, {}});
      found->points.push_back({xOf(row), value(row)});
    }
    return result;
  }

  Panel timePanel(const std::string& collective) const {
    Panel panel;
    panel.title = "Time, median";
    panel.xLabel = "bytes";
    panel.yLabel = "microseconds";
    panel.series = seriesOf(collective, [](const Row& row) { return row.usec.p50; });
    return panel;
  }

  Figure twoPanels() const {
    Figure figure;
    const std::string collective = rows_.empty() ? "" : rows_.front().collective;
    Panel bandwidth;
    bandwidth.title = "Bus bandwidth";
    bandwidth.xLabel = "bytes";
    bandwidth.yLabel = "GB/s";
    bandwidth.series = seriesOf(collective, [](const Row& row) { return row.busbw; });
    figure.panels = {timePanel(collective), bandwidth};
    return figure;
  }

  /// Times only, a panel for each benchmark that has more than one size.
  Figure manyPanels() const {
    Figure figure;
    figure.columns = 3;
    figure.panelHeight = 220;
    std::vector<std::string> names;
    for (const Row& row : rows_) {
      if (std::find(names.begin(), names.end(), row.collective) == names.end()) {
        names.push_back(row.collective);
      }
    }
    for (const std::string& name : names) addPanel(name, figure);
    return figure;
  }

  void addPanel(const std::string& name, Figure& figure) const {
    const auto first = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const Row& row) { return row.collective == name; });
    Panel panel = timePanel(name);
    panel.title = name;
    panel.xIsBytes = !overRanks(*first);
    if (overRanks(*first)) panel.xLabel = "ranks";
    figure.panels.push_back(panel);
  }

  std::ofstream file_;
  RunInfo info_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Reporter> makePlotReporter(const std::string& path) {
  return std::make_unique<PlotReporter>(path);
}

}  // namespace rondo::bench

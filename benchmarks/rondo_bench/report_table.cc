#include <cstdio>

#include "report.h"
#include "text.h"

namespace rondo::bench {
namespace {

/// Whole where the value is large, with two digits after the point where it is not.
std::string significant(double value) { return format(value < 1e5 ? "%.2f" : "%.0f", value); }

std::string ratio(const std::optional<double>& value) {
  return value ? format("%.3f", *value) : "";
}

class TableReporter : public Reporter {
 public:
  explicit TableReporter(bool clearLine) : clear_(clearLine ? "\r\033[K" : "") {}

  void begin(const RunInfo& info) override {
    info_ = info;
    for (const auto& [name, text] : info.facts) line(format("# %-9s ", name.c_str()) + text);
    std::string head = info_.manyBenchmarks ? format("%-15s  %5s  ", "collective", "ranks") : "";
    head += format("%11s  %-8s", "bytes", "library");
    if (info_.manyKinds) head += format("  %-8s  %-4s", "type", "op");
    head += format("  %6s  %10s  %10s  %10s  %10s  %10s  %6s", "iters", "usec_min", "usec_p50",
                   "usec_p99", "usec_max", "busbw_GBps", "wrong");
    if (!info_.peer.empty()) {
      head += format("  %8s  %8s", ("p50/" + info_.peer).c_str(), ("min/" + info_.peer).c_str());
    }
    for (const std::string& column : info_.extraColumns) head += format("  %12s", column.c_str());
    line(head);
  }

  void note(const std::string& text) override { line("# " + text); }

  void row(const Row& row) override {
    std::string text;
    if (info_.manyBenchmarks) text = format("%-15s  %5d  ", row.collective.c_str(), row.ranks);
    text += format("%11zu  %-8s", row.bytes, row.library.c_str());
    if (info_.manyKinds) text += format("  %-8s  %-4s", row.type.c_str(), row.op.c_str());
    text +=
        format("  %6zu  %10s  %10s  %10s  %10s  %10.3f  %6llu", row.iterations,
               formatMicroseconds(row.usec.min).c_str(), formatMicroseconds(row.usec.p50).c_str(),
               formatMicroseconds(row.usec.p99).c_str(), formatMicroseconds(row.usec.max).c_str(),
               row.busbw, static_cast<unsigned long long>(row.wrong));
    if (row.ratioP50 || (!info_.peer.empty() && !info_.extraColumns.empty())) {
      text += format("  %8s  %8s", ratio(row.ratioP50).c_str(), ratio(row.ratioMin).c_str());
    }
    for (const std::string& column : info_.extraColumns) {
      const auto value = row.extra(column);
      text += format("  %12s", value ? significant(*value).c_str() : "");
    }
    line(text);
  }

 private:
  void line(const std::string& text) {
    std::printf("%s%s\n", clear_, text.c_str());
    std::fflush(stdout);
  }

  const char* clear_;
  RunInfo info_;
};

}  // namespace

std::unique_ptr<Reporter> makeTableReporter(bool clearLine) {
  return std::make_unique<TableReporter>(clearLine);
}

}  // namespace rondo::bench

#include <iomanip>

#include "report.h"
#include "text.h"

namespace rondo::bench {
namespace {

class CsvReporter : public Reporter {
 public:
  explicit CsvReporter(const std::string& path) : file_("--csv", path) {}

  void begin(const RunInfo& info) override {
    info_ = info;
    const char* comma = "";
    for (const char* column : kColumns) {
      file_ << comma << column;
      comma = ",";
    }
    for (const std::string& column : info.extraColumns) file_ << ',' << column;
    file_ << '\n';
    file_.flush();
  }

  /// Flushed row by row, so that an interrupted run leaves what it had measured.
  void row(const Row& row) override {
    file_ << row.collective << ',' << row.library << ',' << info_.memory << ',' << row.ranks << ','
          << row.bytes << ',' << row.type << ',' << row.op << std::fixed << std::setprecision(3)
          << ',' << row.usec.min << ',' << row.usec.p50 << ',' << row.usec.p99 << ','
          << format("%.6g", row.busbw) << ',' << row.wrong << std::setprecision(4);
    for (const std::string& column : info_.extraColumns) {
      file_ << ',';
      if (const auto value = row.extra(column)) file_ << *value;
    }
    file_ << '\n';
    file_.flush();
  }

  void end() override { file_.finish(); }

 private:
  ReportFile file_;
  RunInfo info_;
};

}  // namespace

std::unique_ptr<Reporter> makeCsvReporter(const std::string& path) {
  return std::make_unique<CsvReporter>(path);
}

}  // namespace rondo::bench

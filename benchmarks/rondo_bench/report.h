#pragma once
// Where rows go: a table, a CSV file, a JSON file.

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "options.h"
#include "stats.h"

namespace rondo::bench {

/// What is true of all rows. `facts` are (name, text) in the order they are to be shown.
struct RunInfo {
  std::string command;
  std::string memory;
  int ranks = 0;
  std::string peer;                       ///< "" without one.
  bool manyBenchmarks = false;            ///< Rows differ in what they measure.
  bool manyKinds = false;                 ///< Rows differ in type or operator.
  std::vector<std::string> extraColumns;  ///< Of this command, after those that all have.
  std::vector<std::pair<std::string, std::string>> facts;
};

struct Row {
  std::string collective;
  std::string library;
  int ranks = 0;
  size_t bytes = 0;
  std::string type;
  std::string op;
  size_t iterations = 0;
  Summary usec;
  double busbw = 0;  ///< 10^9 bytes a second.
  uint64_t wrong = 0;
  std::optional<double> ratioP50;  ///< Rondo's time / the peer's, in Rondo's rows.
  std::optional<double> ratioMin;
  std::vector<std::pair<std::string, double>> extras;  ///< By column, those that the row has.

  /// The value of an extra column, if the row has one.
  std::optional<double> extra(const std::string& column) const {
    for (const auto& [name, value] : extras) {
      if (name == column) return value;
    }
    return {};
  }
};

/// Rank 0 only.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void begin(const RunInfo& info) = 0;
  virtual void row(const Row& row) = 0;
  /// A remark between rows.
  virtual void note(const std::string& text) { (void)text; }
  virtual void end() {}
};

/// The columns of CSV and JSON rows, in order.
inline constexpr const char* kColumns[] = {"collective", "library",  "memory",     "ranks",
                                           "bytes",      "type",     "op",         "usec_min",
                                           "usec_p50",   "usec_p99", "busbw_GBps", "wrong"};

/// A file of a run's. What cannot be written is told at the end, for the table is there all the
/// same.
class ReportFile {
 public:
  /// Throws UsageError that names the option, the path and the reason.
  ReportFile(const char* option, const std::string& path);

  template <class Value>
  ReportFile& operator<<(const Value& value) {
    stream_ << value;
    return *this;
  }
  void flush();
  /// After the last: throws RunError as above if something has not been written.
  void finish();

 private:
  std::ofstream stream_;
  std::string what_;
  int why_ = 0;  ///< errno's value when it failed.
};

/// `clearLine`: begin each line by clearing what a progress line left there.
std::unique_ptr<Reporter> makeTableReporter(bool clearLine);
std::unique_ptr<Reporter> makeCsvReporter(const std::string& path);
std::unique_ptr<Reporter> makeJsonReporter(const std::string& path);
std::unique_ptr<Reporter> makePlotReporter(const std::string& path);

}  // namespace rondo::bench

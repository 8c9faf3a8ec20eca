#pragma once
// rondo-bench compare: the times of two JSON files, row by row.

#include <map>
#include <string>
#include <vector>

namespace rondo::bench {

struct CompareOptions {
  std::string before;
  std::string after;
  double threshold = 1.1;
  std::vector<std::string> columns = {"p50"};  ///< Of min, p50, p99.
};

/// The rows of one file that --json wrote.
struct Measured {
  struct Row {
    std::map<std::string, double> usec;  ///< By column: min, p50, p99.
    double wrong = 0;
  };
  std::string name;                          ///< The file's.
  std::map<std::string, std::string> facts;  ///< What its head says: run, data, machine...
  std::vector<std::string> order;            ///< The rows' keys as they stand in the file.
  std::map<std::string, Row> rows;
};

/// Throws UsageError that names the file and what is wrong with it.
Measured readMeasured(const std::string& path);

struct Comparison {
  std::string table;
  size_t joined = 0;
  size_t slower = 0;  ///< Rows with a ratio past the threshold.
  size_t wrong = 0;   ///< Rows of either file with wrong elements, whether or not in both.
  size_t gone = 0;    ///< Rows of the first file that are not in the second.
};

/// Joins the rows by collective, library, memory, ranks, bytes, type and operator; a ratio is the
/// time in `after` divided by that in `before`. Throws UsageError if no row is in both.
Comparison compareRows(const Measured& before, const Measured& after,
                       const CompareOptions& options);

/// Two lines for each setting in which the heads differ: run, data, meeting, machine.
std::string differences(const Measured& before, const Measured& after);

/// Prints the table; returns the exit status: 1 if a ratio is past the threshold or a row is wrong.
int runCompare(const CompareOptions& options);

}  // namespace rondo::bench

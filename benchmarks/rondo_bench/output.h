#pragma once
// Where a command's rows go, and the exit status that they come to.

#include <memory>
#include <string>
#include <vector>

#include "environment.h"
#include "lost_cores.h"
#include "progress.h"
#include "report.h"

namespace rondo::bench {

class Output {
 public:
  /// Collective. Opens the table and the files that the options name; throws UsageError on all
  /// ranks if one cannot be written.
  Output(const Environment& environment, const RunInfo& info);

  Progress& progress() { return progress_; }

  /// The rows of one size, Rondo's first; gives that one its ratios to the second.
  void add(std::vector<Row> rows);
  void note(const std::string& text);
  /// What this rank lost of its core while `what` was timed. Collective.
  void addLoss(const std::string& what, const CoreLoss& mine, int iterations);

  /// Collective. Completes the files; the exit status: 1 if any element was wrong.
  int finish();

 private:
  void open(const RunInfo& info);

  const Environment& environment_;
  Progress progress_;
  std::vector<std::unique_ptr<Reporter>> reporters_;  // rank 0 only
  uint64_t wrong_ = 0;
  LostCores lost_;
};

/// What a command says of its run; `what` is its name and anything else to be said first.
RunInfo describe(const Environment& environment, const std::string& what);
/// The same for a command that is one benchmark.
RunInfo describe(const Environment& environment, const Benchmark& benchmark);
/// The same for one that is all benchmarks.
RunInfo describeAll(const Environment& environment);

}  // namespace rondo::bench

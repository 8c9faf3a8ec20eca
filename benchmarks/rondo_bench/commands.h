#pragma once
// The subcommands: one for each benchmark, and those that are more than one.

#include <span>
#include <string>
#include <vector>

#include "benchmark.h"
#include "options.h"

namespace rondo::bench {

/// Options that a command takes besides those that all take.
enum Takes : unsigned {
  kTakesSizes = 1u << 0,
  kTakesTypes = 1u << 1,
  kTakesOps = 1u << 2,
  kTakesRoot = 1u << 3,
  kTakesInPlace = 1u << 4,
  kTakesWindow = 1u << 5,
  kTakesDevice = 1u << 6,
  kTakesCollective = 1u << 7,
  kTakesMeasuring = 1u << 8,  ///< Everything about how to time and where rows go.
  kTakesFiles = 1u << 9,      ///< Two files to compare.
  kTakesGroup = 1u << 10,
  kTakesMemory = 1u << 11,  ///< Host or device, and none of the device's other options.
};

struct Command {
  std::string name;
  std::string summary;
  std::string note;  ///< For the help text: what sizes and times mean here.
  unsigned takes;
  size_t minBytes;
  size_t maxBytes;
  size_t step;
  double budgetSeconds;
  int (*run)(const Options& options);  ///< Returns the exit status.

  bool has(Takes what) const { return (takes & what) != 0; }
};

std::span<const Command> commands();

// Each is in a file of its own, run_*.cc.
int runBenchmark(const Options& options);
int runOverlap(const Options& options);
int runInit(const Options& options);
int runAll(const Options& options);

}  // namespace rondo::bench

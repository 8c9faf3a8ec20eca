#include "tune_check.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "coll/costs_file.h"
#include "tune_fit.h"
#include "tune_trials.h"

namespace rondo::tune {
namespace {

/// The last one where there are hierarchies.
constexpr const char* kRules[] = {"allreduce:host:0-:ring", "allreduce:host:0-:twoshot",
                                  "allreduce:host:0-:stripes"};
constexpr uint64_t kLeast = 64u << 10;
constexpr double kSecondsASize = 0.3;
constexpr int kMostTries = 6;

/// One size on new communicators, which look at the machine when they are made.
struct Row {
  double predicted[std::size(kRules)], measured[std::size(kRules)];  ///< In picoseconds.
  size_t count;                                                      ///< Of them.
  std::string source;
  uint64_t flag;
  bool steady;  ///< Enough was measured in the state that was planned for, with no turn lost.
};

Row runSize(uint64_t bytes, RotatingBuffers& buffers, bool layered) {
  std::vector<std::unique_ptr<ForcedComm>> comms;
  std::vector<Trial> trials;
  Row row{};
  row.count = std::size(kRules) - (layered ? 0 : 1);
  for (size_t i = 0; i < row.count; ++i) {
    comms.push_back(std::make_unique<ForcedComm>(kRules[i]));
    trials.push_back({comms.back().get(), Collective::AllReduce, bytes});
  }
  row.flag = flagNow(*comms.front());
  Pace pace;
  pace.seconds = kSecondsASize;
  // What counts is what was measured in the state that the communicators planned for.
  const std::vector<StateTimes> states = timeStates(trials, buffers, pace);
  const StateTimes* used = nullptr;
  for (const StateTimes& state : states) {
    const bool same = state.flag == row.flag || sameState(state.flag, row.flag);
    if (same && used == nullptr) used = &state;
  }
  row.steady = used != nullptr && !used->disturbed &&
               std::find(used->times.begin(), used->times.end(), 0) == used->times.end();
  Times times(trials.size(), 0);
  if (!states.empty()) times = (used != nullptr ? *used : states.front()).times;
  row.source = comms.front()->impl().costsSource();
  const Request request{Collective::AllReduce, bytes / 4, 4, 0};
  for (size_t i = 0; i < trials.size(); ++i) {
    const CommFacts& facts = comms[i]->impl().facts();
    row.steady &= facts.costs == comms[0]->impl().facts().costs;
    row.predicted[i] = static_cast<double>(
        rankCandidates(request, facts, parseTune(kRules[i])).front().picoseconds);
    row.measured[i] = times[i];
  }
  int steady = row.steady ? 1 : 0;
  MPI_Bcast(&steady, 1, MPI_INT, 0, MPI_COMM_WORLD);
  row.steady = steady != 0;
  return row;
}

}  // namespace

void checkFile(uint64_t most, bool mapped, bool layered) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  RotatingBuffers buffers(most, mapped);
  std::vector<double> errors;
  for (uint64_t bytes = kLeast; bytes <= most; bytes *= 2) {
    Row row = runSize(bytes, buffers, layered);
    for (int tries = 1; !row.steady && tries < kMostTries; ++tries)
      row = runSize(bytes, buffers, layered);
    if (rank != 0) continue;
    if (bytes == kLeast) {
      std::printf("costs: %s\n%-10s %10s %14s %13s %7s %9s\n", row.source.c_str(), "algorithm",
                  "bytes", "predicted, us", "measured, us", "error", "flag, ns");
    }
    for (size_t i = 0; i < row.count; ++i) {
      if (row.measured[i] <= 0) continue;
      const double error = row.predicted[i] / row.measured[i] - 1;
      errors.push_back(error);
      std::printf("%-10s %10llu %14.2f %13.2f %+6.0f%% %9.0f%s\n",
                  parseTune(kRules[i]).front().algorithm->name,
                  static_cast<unsigned long long>(bytes), row.predicted[i] * 1e-6,
                  row.measured[i] * 1e-6, 100 * error, static_cast<double>(row.flag) * 1e-3,
                  row.steady ? "" : " (not steady)");
    }
    std::fflush(stdout);
  }
  if (rank != 0) return;
  const Errors found = errorsOf(errors);
  std::printf("Without sign: median %.0f %%, worst %.0f %%.\n", 100 * found.median,
              100 * found.worst);
}

}  // namespace rondo::tune

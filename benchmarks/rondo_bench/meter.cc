#include "meter.h"

#include <algorithm>

namespace rondo::bench {
namespace {

constexpr int kFewest = 8;            // timed iterations, whatever the budget
constexpr double kWarmupShare = 0.2;  // of the budget

/// The number of rounds that `share` of the budget holds; the same on all ranks.
int fitting(const Environment& environment, const Trial& trial, double secondsPerRound,
            double share, int least, int most) {
  const auto libraries = static_cast<double>(trial.contenders.size());
  const double budget = environment.options().budgetSeconds * share * libraries;
  const double slowest = trial.session.largest(secondsPerRound);
  return static_cast<int>(std::clamp(budget / std::max(slowest, 1e-9), 1.0 * least, 1.0 * most));
}

}  // namespace

Iterations defaultIterations(size_t bytes, bool device) {
  if (device) return {5, 100};  // samples of many calls each
  if (bytes <= size_t{8} << 10) return {200, 2000};
  if (bytes <= size_t{1} << 20) return {50, 500};
  return {10, 100};
}

std::vector<Samples> measure(const Environment& environment, const Trial& trial, size_t bytes,
                             const std::string& what, Output& output) {
  Progress& progress = output.progress();
  const Options& options = environment.options();
  Timer& timer = environment.timer();
  std::vector<Samples> samples(trial.contenders.size());
  const auto show = [&](const char* stage) {
    return [&, stage](int done, int total) { progress.show(what + stage, done, total); };
  };
  progress.show(what + ": checking", 0, 1);
  timer.check(trial, samples);

  const Iterations usual = defaultIterations(bytes, options.memory == MemoryKind::kDevice);
  constexpr int kProbes = 2;
  const double probe = timer.rounds(trial, kProbes, false, show(": probing"), samples) / kProbes;
  const int warmup = options.warmup
                         ? *options.warmup
                         : fitting(environment, trial, probe, kWarmupShare, 1, usual.warmup);
  const double warm = timer.rounds(trial, warmup, false, show(": warm-up"), samples);
  const double round = warmup > 0 ? warm / warmup : probe;
  const int timed = options.iterations ? *options.iterations
                                       : fitting(environment, trial, round, 1 - kWarmupShare,
                                                 kFewest, usual.timed);
  trial.ring.prepareAll();
  const CoreClock cores;
  timer.rounds(trial, timed, true, show(": timing"), samples);
  output.addLoss(what, cores.lost(), timed);
  return samples;
}

}  // namespace rondo::bench

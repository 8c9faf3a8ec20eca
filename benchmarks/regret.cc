// Regret: what the planner's choice costs beside the best registered algorithm, measured in turn.
//   make benchmarks/regret && mpirun -n 2 build/benchmarks/regret allreduce --max 256M
// Every algorithm runs as the planner would cut it if it were the only one; `chosen` is what the
// planner takes of all. Nothing fails on a time: it prints.

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/size_text.h"
#include "mpi_tool.h"
#include "regret_results.h"
#include "tune_trials.h"

namespace {

using namespace rondo;
using namespace rondo::tune;

struct Arguments {
  std::vector<std::string> collectives{"allreduce"};
  std::string least = "8", most = "256M", memory = "host";
  double seconds = 1;
  bool each = false, check = false;
};

uint64_t sizeOf(const char* option, const std::string& text) {
  uint64_t bytes = 0;
  if (!parseSize(text, &bytes) || bytes < 4 || bytes > uint64_t{1} << 34) {
    throw Error(rondoInvalidArgument,
                format("%s is \"%s\"; allowed: 4 to 16G", option, text.c_str()));
  }
  return bytes;
}

Collective collectiveOf(const std::string& name) {
  std::string known;
  for (int c = 0; c < kCollectives; ++c) {
    const char* const text = collectiveName(static_cast<Collective>(c));
    if (name == text) return static_cast<Collective>(c);
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw Error(rondoInvalidArgument,
              format("there is no collective \"%s\"; there are: %s", name.c_str(), known.c_str()));
}

constexpr double kWithin = 1.05;

class Regret {
 public:
  Regret(Collective collective, int rank, int ranks, const Arguments& a)
      : collective_(collective),
        rank_(rank),
        ranks_(ranks),
        each_(a.each),
        check_(a.check),
        free_("") {
    for (const Algorithm& row : registry()) {
      if (row.collective != collective) continue;
      if (row.hierarchy != nullptr && !free_.impl().facts().groups.layered()) continue;
      algorithms_.push_back(&row);
      forced_.push_back(std::make_unique<ForcedComm>(
          format("%s:host:0-:%s", collectiveName(collective), row.name)));
    }
  }

  /// On both kinds of memory.
  void runBoth(uint64_t least, uint64_t most, double seconds) {
    const uint64_t longest = most * static_cast<uint64_t>(hasSlots(collective_) ? ranks_ : 1);
    RotatingBuffers ordinary(longest, false), mapped(longest, true);
    if (rank_ == 0) {
      std::printf("%s on %d ranks, costs: %s\nTimes over the best: ordinary, mapped memory\n",
                  collectiveName(collective_), ranks_, free_.impl().costsSource().c_str());
      std::printf("%10s  %-10s %5s %5s  %-10s %5s %5s  %-10s %10s  %-10s %10s\n", "bytes", "chosen",
                  "ord.", "map.", "for both", "ord.", "map.", "ordinary", "us", "mapped", "us");
    }
    for (uint64_t bytes = least; bytes <= most; bytes *= 2) {
      runSizeOnBoth(bytes, seconds, &ordinary, &mapped);
    }
    if (rank_ != 0) return;
    std::printf(
        "  within 5 %% of %zu sizes: chosen %d ordinary, %d mapped, %d both; the best one "
        "for both %d\n\n",
        ratios_.size(), within_[0], within_[1], within_[2], within_[3]);
  }

  void run(uint64_t least, uint64_t most, double seconds, bool mapped) {
    if (rank_ == 0) {
      std::printf("%s on %d ranks, costs: %s\n", collectiveName(collective_), ranks_,
                  free_.impl().costsSource().c_str());
      std::printf("%10s  %-14s %11s %11s  %-10s %11s %7s\n", "bytes", "chosen", "predicted",
                  "measured", "best", "measured", "ratio");
    }
    RotatingBuffers buffers(most * static_cast<uint64_t>(hasSlots(collective_) ? ranks_ : 1),
                            mapped);
    if (collective_ == Collective::Barrier) least = most = 0;
    for (uint64_t bytes = least; bytes <= most; bytes *= 2) {
      runSize(bytes, seconds, buffers);
      if (bytes == 0) break;
    }
    if (rank_ != 0 || ratios_.empty()) return;
    summarize(" by the free calls alone", freeRatios_);
    summarize("", ratios_);
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  static void summarize(const char* of, std::vector<double> ratios) {
    std::sort(ratios.begin(), ratios.end());
    const auto within =
        std::count_if(ratios.begin(), ratios.end(), [](double r) { return r <= kWithin; });
    std::printf("  within 5 %%%s at %lld of %zu sizes; median %.2f, worst %.2f\n", of,
                static_cast<long long>(within), ratios.size(), ratios[ratios.size() / 2],
                ratios.back());
  }

  void runSizeOnBoth(uint64_t bytes, double seconds, RotatingBuffers* ordinary,
                     RotatingBuffers* mapped) {
    std::vector<Trial> trials;
    for (const auto& comm : forced_) {
      trials.push_back({comm.get(), collective_, bytes, ordinary});
      trials.push_back({comm.get(), collective_, bytes, mapped});
    }
    check(trials);
    Pace pace;
    pace.seconds = seconds;
    const std::vector<double> times = timeTrials(trials, *ordinary, pace);
    if (rank_ != 0) return;
    const Request request{collective_, bytes / 4, 4, 0};
    const Candidate chosen = rankCandidates(request, free_.impl().facts(), {}).front();
    size_t best[2] = {0, 0}, one = 0, mine = 0;
    for (size_t i = 0; i < algorithms_.size(); ++i) {
      for (size_t m = 0; m < 2; ++m) {
        if (times[2 * i + m] < times[2 * best[m] + m]) best[m] = i;
      }
      if (algorithms_[i] == chosen.algorithm) mine = i;
    }
    const auto ratio = [&](size_t i, size_t m) {
      return times[2 * i + m] / times[2 * best[m] + m];
    };
    const auto worse = [&](size_t i) { return std::max(ratio(i, 0), ratio(i, 1)); };
    for (size_t i = 0; i < algorithms_.size(); ++i) {
      if (worse(i) < worse(one)) one = i;
    }
    ratios_.push_back(worse(mine));
    const bool good[4] = {ratio(mine, 0) <= kWithin, ratio(mine, 1) <= kWithin,
                          worse(mine) <= kWithin, worse(one) <= kWithin};
    for (size_t k = 0; k < 4; ++k) within_[k] += good[k] ? 1 : 0;
    std::printf("%10llu  %-10s %5.2f %5.2f  %-10s %5.2f %5.2f  %-10s %10.2f  %-10s %10.2f\n",
                static_cast<unsigned long long>(bytes), algorithms_[mine]->name, ratio(mine, 0),
                ratio(mine, 1), algorithms_[one]->name, ratio(one, 0), ratio(one, 1),
                algorithms_[best[0]]->name, times[2 * best[0]] * 1e-6, algorithms_[best[1]]->name,
                times[2 * best[1] + 1] * 1e-6);
    std::fflush(stdout);
  }

  void runSize(uint64_t bytes, double seconds, RotatingBuffers& buffers) {
    std::vector<Trial> trials;
    for (const auto& comm : forced_) trials.push_back({comm.get(), collective_, bytes, &buffers});
    trials.push_back({&free_, collective_, bytes, &buffers});
    check(trials);
    Pace pace;
    pace.seconds = seconds;
    const std::vector<double> times = timeTrials(trials, buffers, pace);
    if (rank_ != 0) return;
    const Request request{collective_, bytes / 4, 4, 0};
    const Candidate chosen = rankCandidates(request, free_.impl().facts(), {}).front();
    size_t best = 0, same = 0;
    for (size_t i = 0; i < algorithms_.size(); ++i) {
      if (times[i] < times[best]) best = i;
      if (algorithms_[i] == chosen.algorithm) same = i;
    }
    // The chosen plan runs twice in a round, forced and free: the mean of both is its time. Where
    // it is the best one, what of the free call's time is more than that shows among freeRatios_
    // alone.
    const double mine = (times[same] + times.back()) / 2;
    const double ratio = same == best ? 1 : mine / times[best];
    ratios_.push_back(ratio);
    freeRatios_.push_back(times.back() / times[best]);
    const std::string cut =
        format("%s/%d/%lluK", chosen.algorithm->name, chosen.geometry.lanes,
               static_cast<unsigned long long>(chosen.geometry.chunk * 4 / 1024));
    std::printf("%10llu  %-14s %11.2f %11.2f  %-10s %11.2f %7.2f%s\n",
                static_cast<unsigned long long>(bytes), cut.c_str(),
                static_cast<double>(chosen.picoseconds) * 1e-6, mine * 1e-6,
                algorithms_[best]->name, times[best] * 1e-6, ratio, ratio > 1.05 ? " *" : "");
    if (each_) printEach(times);
    std::fflush(stdout);
  }

  void check(const std::vector<Trial>& trials) const {
    if (!check_) return;
    for (const Trial& trial : trials) checkResults(trial, rank_, ranks_);
  }

  void printEach(const std::vector<double>& times) const {
    std::printf("%12s", "");
    for (size_t i = 0; i < algorithms_.size(); ++i) {
      std::printf("%s%s %.2f", i == 0 ? "" : ", ", algorithms_[i]->name, times[i] * 1e-6);
    }
    std::printf("\n");
  }

  Collective collective_;
  int rank_, ranks_;
  bool each_, check_;
  ForcedComm free_;
  std::vector<const Algorithm*> algorithms_;
  std::vector<std::unique_ptr<ForcedComm>> forced_;
  std::vector<double> ratios_;
  std::vector<double> freeRatios_;  // of the planner's own calls
  int within_[4] = {};              // the chosen one: ordinary, mapped, both; the best one for both
};

int run(const Arguments& a, int rank, int ranks) {
  try {
    const uint64_t least = sizeOf("--min", a.least), most = sizeOf("--max", a.most);
    std::vector<Collective> collectives;
    for (const std::string& name : a.collectives) collectives.push_back(collectiveOf(name));
    if (ranks < 2) throw Error(rondoInvalidArgument, "there is 1 rank; allowed: 2 or more");
    for (const Collective collective : collectives) {
      Regret regret(collective, rank, ranks, a);
      if (a.memory == "both") {
        regret.runBoth(least, most, a.seconds);
      } else {
        regret.run(least, most, a.seconds, a.memory == "rondo");
      }
    }
    return 0;
  } catch (const Error& error) {
    if (rank == 0) std::fprintf(stderr, "regret: %s\n", error.what());
    return error.code() == rondoInvalidArgument ? 2 : 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app("What the planner's choices cost beside the best algorithm there is.", "regret");
  app.add_option("collectives", a.collectives, "As in RONDO_TUNE")->capture_default_str();
  app.add_option("--min", a.least, "Shortest call")->capture_default_str();
  app.add_option("--max", a.most, "Longest call (of a rank's slot)")->capture_default_str();
  app.add_option("--seconds", a.seconds, "How long each size is measured")
      ->check(CLI::Range(0.01, 60.0))
      ->capture_default_str();
  app.add_flag("--each", a.each, "Print every algorithm's time, too");
  app.add_flag("--check", a.check, "Look at every algorithm's results before it is timed");
  app.add_option("--memory", a.memory, "host, rondo for rondoMemAlloc's, or both")
      ->check(CLI::IsMember({"host", "rondo", "both"}))
      ->capture_default_str();
  return runAsJob(app, argc, argv, [&](int rank, int ranks) { return run(a, rank, ranks); });
}

// rondo-tune: measures what the planner ranks by, and writes it down for later jobs.

#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include "base/config_files.h"
#include "base/error.h"
#include "base/options.h"
#include "base/size_text.h"
#include "base/writable.h"
#include "coll/costs_file.h"
#include "mpi_tool.h"
#include "topo/node_facts.h"
#include "tune_check.h"
#include "tune_device.h"
#include "tune_device_check.h"
#include "tune_fit.h"
#include "tune_levels.h"
#include "tune_plans.h"
#include "tune_trials.h"

namespace {

using namespace rondo;
using namespace rondo::tune;

struct Arguments {
  std::string output, most, memory = "host";
  double seconds = 25;
  bool dryRun = false, fresh = false, check = false, verbose = false;
};

constexpr char kPool[] = "64M";
/// Shorter calls leave lanes or blocks empty; predictions take these for full ones, because the
/// ranks' plans differ then.
constexpr uint64_t kLeastOfMany = 1u << 10;
std::string sizeText(uint64_t bytes) {
  if (bytes >= 1u << 20 && bytes % (1u << 20) == 0)
    return format("%llu MiB", static_cast<unsigned long long>(bytes >> 20));
  if (bytes >= 1u << 10 && bytes % (1u << 10) == 0)
    return format("%llu KiB", static_cast<unsigned long long>(bytes >> 10));
  return format("%llu B", static_cast<unsigned long long>(bytes));
}

/// The prior: what an earlier run on this machine model has found, for what this one cannot see.
CostsFile earlier(const std::string& path, uint64_t machine) {
  CostsFile none;
  none.measured.assign(costFields().size(), false);
  if (access(path.c_str(), F_OK) != 0) return none;
  try {
    CostsFile found = readCosts(path);
    if (found.machine == machine) return found;
    std::printf("%s is of another machine; begun anew\n", path.c_str());
  } catch (const Error& error) {
    std::printf("%s; begun anew\n", error.what());
  }
  return none;
}

class Tuner {
 public:
  Tuner(const Arguments& a, int rank, int ranks) : a_(a), rank_(rank), ranks_(ranks) {
    if (ranks < 2) {
      throw Error(rondoInvalidArgument,
                  "there is 1 rank; allowed: 2 or more, as in mpirun -n 2 rondo-tune");
    }
    // Over hosts messages are longer, and the default is not room enough for all communicators.
    if (a.memory != "device") setenv("RONDO_POOL_BYTES", kPool, 0);
    hosts_ = hostsOfJob();
    program_ = hosts_ > 1 ? networkProgram(layered()) : hostProgram();
    most_ = program_.most;
    if (!a.most.empty() && !parseSize(a.most, &most_)) most_ = 0;
    if (most_ < 64u << 10 || most_ > uint64_t{1} << 34) {
      throw Error(rondoInvalidArgument,
                  format("--max is \"%s\"; allowed: 64K to 16G", a.most.c_str()));
    }
  }

  /// That the file can be written is known before the time is spent. On all ranks alike.
  void requireWritable() const {
    std::string path, why;
    if (rank_ == 0) {
      path = pathOf(machineModel(readNodeFacts()));
      std::error_code fault;  // told by what comes next
      const bool own = a_.output.empty();
      if (own)
        std::filesystem::create_directories(std::filesystem::path(path).parent_path(), fault);
      why = whyUnwritable(placeBeside(path));
      if (std::filesystem::is_directory(path, fault)) why = std::strerror(EISDIR);
    }
    int refused = why.empty() ? 0 : 1;
    MPI_Bcast(&refused, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (refused == 0) return;
    throw Error(rondoSystemError,
                format("%s\"%s\", which cannot be written (%s); allowed: a file in a folder that "
                       "exists, or --dry-run",
                       a_.output.empty() ? "the file of this machine is " : "--output is ",
                       path.c_str(), why.c_str()));
  }

  uint64_t most() const { return most_; }
  bool layered() const { return hosts_ > 1 && hosts_ < ranks_; }

  void run() {
    std::vector<StateTimes> states;
    orAbort([&] { states = measure(); });
    if (rank_ != 0) return;
    const NodeFacts node = readNodeFacts();
    const uint64_t machine = machineModel(node);
    const std::string path = pathOf(machine);
    CostsFile before = earlier(path, machine);
    if (a_.fresh) {
      static_cast<CostsState&>(before) = {0, {}, std::vector<bool>(costFields().size(), false)};
      before.others.clear();
    }
    const std::vector<bool> free = measurable(by_);
    std::vector<CostsState> found;
    for (const StateTimes& state : states) {
      if (states.size() > 1) {
        std::printf("\nThe machine was in %zu states. For %zu calls a flag's way was %.0f ns:\n",
                    states.size(), state.calls, static_cast<double>(state.flag) * 1e-3);
      }
      found.push_back(fitState(state, before, found, free));
    }
    CostsFile file = withHead({}, machine, node);
    file.device = before.device;
    file.deviceMeasured = before.deviceMeasured;
    std::vector<CostsState> merged = mergedStates(std::move(found), before, free);
    if (by_.acrossHosts) giveToAll(free, &merged);
    static_cast<CostsState&>(file) = merged.front();
    file.others.assign(merged.begin() + 1, merged.end());
    if (merged.size() > 1) std::printf("\nThe file's: %s\n", stateText(file, merged).c_str());
    write(file, path);
  }

  /// The costs of device memory, which are added to those of host memory: on one host what kernels
  /// cost, over several what lies between the hosts.
  void runOnDevices() {
    const NodeFacts node = readNodeFacts();
    const uint64_t machine = machineModel(node);
    const std::string path = pathOf(machine);
    CostsFile file = rank_ == 0 ? earlier(path, machine) : CostsFile();
    file.deviceMeasured.resize(deviceCostFields().size());
    if (a_.fresh) forgetDevice(&file);
    MPI_Bcast(&file.device, sizeof file.device, MPI_BYTE, 0, MPI_COMM_WORLD);
    const DeviceFit fit = hosts_ > 1 ? measureLevels(file.device) : measureKernels(file.device);
    if (rank_ != 0) return;
    file = withHead(std::move(file), machine, node);
    file.device = fit.costs;
    for (size_t i = 0; i < fit.measured.size(); ++i) {
      if (fit.measured[i]) file.deviceMeasured[i] = true;
    }
    write(file, path);
  }

  /// What calls on device memory take each way, and which way they choose.
  void checkOnDevices() { hosts_ > 1 ? checkLevels() : checkKernels(); }

 private:
  void checkKernels() const {
    DeviceJob job;
    std::vector<DeviceObservation> trials;
    orAbort([&] {
      job = deviceJob();
      trials = deviceCheckTrials(job.facts, most_);
    });
    sayBegun(trials.size(), format("%d GPUs", ranks_));
    orAbort([&] { timeOnDevices(&trials, a_.seconds); });
    if (rank_ != 0) return;
    std::printf("costs: %s\n", job.costs.c_str());
    printDeviceCheck(trials);
  }

  void checkLevels() const {
    const LevelsJob job = levelsJob();
    std::vector<LevelsObservation> trials = levelsCheckTrials(job.facts, most_);
    sayBegun(trials.size(), format("device memory of %d ranks of %d hosts", ranks_, hosts_));
    orAbort([&] { timeLevels(&trials, a_.seconds, a_.verbose); });
    if (rank_ != 0) return;
    std::printf("costs: %s\n", job.costs.c_str());
    printLevelsCheck(trials, job.facts);
  }

  std::string pathOf(uint64_t machine) const {
    if (!a_.output.empty()) return a_.output;
    return configDirs(readOptions().tuneDir).front() + "/" + costsFileName(machine);
  }

  /// What such a run measures is as built in again.
  void forgetDevice(CostsFile* file) const {
    const auto fields = deviceCostFields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (isFarCost(fields[i]) != (hosts_ > 1)) continue;
      file->device.*fields[i].at = DeviceCosts{}.*fields[i].at;
      file->deviceMeasured[i] = false;
    }
  }

  DeviceFit measureKernels(const DeviceCosts& prior) const {
    std::vector<DeviceObservation> trials;
    orAbort([&] {
      DeviceFacts facts = deviceJob().facts;
      facts.costs = prior;
      trials = deviceTrials(facts, most_);
    });
    sayBegun(trials.size(), format("%d GPUs", ranks_));
    orAbort([&] { timeOnDevices(&trials, a_.seconds); });
    if (rank_ != 0) return {};
    const DeviceFit fit = fitDeviceCosts(trials, prior);
    printDeviceFit(trials, prior, fit);
    return fit;
  }

  DeviceFit measureLevels(const DeviceCosts& prior) const {
    const LevelsFacts facts = levelsJob().facts;
    std::vector<LevelsObservation> trials = levelsTrials(facts, most_);
    sayBegun(trials.size(), format("device memory of %d ranks of %d hosts", ranks_, hosts_));
    orAbort([&] { timeLevels(&trials, a_.seconds, a_.verbose); });
    if (rank_ != 0) return {};
    const DeviceFit fit = fitLevelsCosts(trials, facts, prior);
    printLevelsFit(trials, facts, prior, fit);
    return fit;
  }

  void sayBegun(size_t trials, const std::string& where) const {
    if (rank_ != 0) return;
    std::printf("rondo-tune: %zu kinds of calls on %s, %.0f seconds or more\n", trials,
                where.c_str(), a_.seconds);
    std::fflush(stdout);
  }

  CostsFile withHead(CostsFile file, uint64_t machine, const NodeFacts& node) const {
    file.machine = machine;
    file.processor = node.cpuModel;
    file.ranks = ranks_;
    file.when = static_cast<int64_t>(time(nullptr));
    return file;
  }

  void write(const CostsFile& file, const std::string& path) const {
    if (a_.dryRun) {
      std::printf("Not written (--dry-run): %s\n", path.c_str());
      return;
    }
    writeCosts(file, path);
    std::printf("Written: %s\n", path.c_str());
  }

  /// The costs of one state; what it says nothing of is as in the same state before, or else as in
  /// the first one.
  CostsState fitState(const StateTimes& state, const CostsFile& before,
                      const std::vector<CostsState>& found, const std::vector<bool>& free) {
    for (size_t i = 0; i < state.times.size(); ++i) observations_[i].picoseconds = state.times[i];
    const CostsState* prior = &before;
    if (!found.empty()) prior = &found.front();
    if (sameState(before.flag, state.flag)) prior = &before;
    for (const CostsState& other : before.others) {
      if (sameState(other.flag, state.flag)) prior = &other;
    }
    CostsState out{state.flag != 0 ? state.flag : before.flag,
                   fitCosts(observations_, by_, prior->costs, free), prior->measured};
    for (size_t i = 0; i < free.size(); ++i) out.measured[i] = out.measured[i] || free[i];
    printCalls(prior->costs, out.costs);
    printCosts(out.costs, free, out.measured);
    return out;
  }

  /// What fails on one rank alone while others are in a call would leave these waiting.
  template <class Work>
  void orAbort(Work work) const {
    try {
      return work();
    } catch (const Error& error) {
      // On all ranks.
      const rondoResult_t code = error.code();
      if (code == rondoInvalidUsage || code == rondoInvalidArgument || code == rondoMismatch) throw;
      std::fprintf(stderr, "rondo-tune: rank %d: %s\n", rank_, error.what());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rondo-tune: rank %d: %s\n", rank_, error.what());
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  std::vector<StateTimes> measure() {
    std::vector<std::unique_ptr<ForcedComm>> comms;
    std::map<int, const ForcedComm*> shared;
    std::vector<Trial> trials;
    for (const TimedPlan& plan : program_.plans) {
      const auto known = shared.find(plan.comm);
      const ForcedComm* comm = known != shared.end() ? known->second : nullptr;
      if (comm == nullptr) {
        comms.push_back(std::make_unique<ForcedComm>(plan.comm < 0 ? ruleOf(plan)
                                                                   : rulesOf(program_, plan.comm)));
        comm = comms.back().get();
        if (plan.comm >= 0) shared[plan.comm] = comm;
      }
      addTrials(plan, *comm, &trials);
    }
    by_.facts = comms.front()->impl().facts();
    by_.acrossHosts = hosts_ > 1;
    for (const auto& comm : comms) {
      if (comm->impl().facts().chunkBytes == by_.facts.chunkBytes) continue;
      throw Error(rondoInvalidUsage,
                  "RONDO_POOL_BYTES leaves no room for as many communicators; "
                  "allowed for rondo-tune: the default or more");
    }
    uint64_t longest = 0;
    for (const Trial& trial : trials) {
      longest = std::max({longest, sendBytes(trial.collective, trial.bytes, ranks_),
                          recvBytes(trial.collective, trial.bytes, ranks_)});
    }
    sayBegun(trials.size(),
             hosts_ > 1 ? format("%d ranks of %d hosts, for the network's costs", ranks_, hosts_)
                        : format("%d ranks", ranks_));
    RotatingBuffers buffers(longest, a_.memory == "rondo");
    Pace pace;
    pace.seconds = a_.seconds;
    if (hosts_ == 1) return timeStates(trials, buffers, pace);
    // A network is the same whatever caches rank 0 shares; how quick it is nobody knows beforehand.
    pace.least = 3;
    pace.inARow = program_.inARow;
    pace.sheds = true;
    return {{0, trials.size(), timeTrials(trials, buffers, pace)}};
  }

  void addTrials(const TimedPlan& plan, const ForcedComm& comm, std::vector<Trial>* trials) {
    const std::vector<TuneRule> rules = parseTune(ruleOf(plan));
    const auto add = [&](uint64_t bytes) {
      const bool others = plan.collective != Collective::AllReduce;
      if (bytes > (others ? std::min(most_, program_.mostOfOthers) : most_)) return;
      const bool one = rules.front().lanes == 1 && rules.front().algorithm->blocks(ranks_) == 1;
      if (bytes < kLeastOfMany && bytes > 0 && !one) return;
      trials->push_back({&comm, plan.collective, bytes});
      observations_.push_back({{plan.collective, bytes / 4, 4, 0}, rules, 0, plan.heldOut});
    };
    if (plan.collective == Collective::Barrier) return add(0);
    const std::span<const uint64_t> sizes = plan.heldOut ? program_.heldOutSizes : program_.sizes;
    for (const uint64_t bytes : sizes) add(bytes);
  }

  /// Times beside predictions: the fit's residuals.
  void printCalls(const HostCosts& before, const HostCosts& after) const {
    std::printf("\n%-30s %9s %13s %13s %7s %9s\n", "call (* not in the fit)", "bytes",
                "measured, us", "predicted, us", "error", "before");
    std::vector<double> fitted, heldOut, old;
    for (const Observation& o : observations_) {
      if (o.picoseconds == 0) continue;  // not in this state
      const TuneRule& rule = o.rules.front();
      std::string what =
          std::string(collectiveName(o.request.collective)) + " " + rule.algorithm->name;
      if (rule.lanes > 0) {
        what += format("/%d/%s", rule.lanes, sizeText(rule.chunkBytes).c_str());
      }
      if (o.heldOut) what += " *";
      const auto predicted = static_cast<double>(predictionOf(o, by_, after));
      const auto was = static_cast<double>(predictionOf(o, by_, before));
      const double error = predicted / o.picoseconds - 1;
      std::printf("%-30s %9s %13.2f %13.2f %+6.0f%% %+8.0f%%\n", what.c_str(),
                  sizeText(o.request.count * 4).c_str(), o.picoseconds * 1e-6, predicted * 1e-6,
                  100 * error, 100 * (was / o.picoseconds - 1));
      (o.heldOut ? heldOut : fitted).push_back(error);
      old.push_back(was / o.picoseconds - 1);
    }
    printErrors(old, fitted, heldOut);
  }

  static void printCosts(const HostCosts& costs, const std::vector<bool>& now,
                         const std::vector<bool>& ever) {
    std::printf("\n%-20s %12s %12s  %-10s %s\n", "cost", "ns", "built-in", "from", "of");
    const auto fields = costFields();
    for (size_t i = 0; i < fields.size(); ++i) {
      const char* const from = now[i] ? "this run" : ever[i] ? "an earlier" : "built-in";
      std::printf("%-20s %12.3f %12.3f  %-10s %s\n", fields[i].name,
                  static_cast<double>(costs.*fields[i].at) * 1e-3,
                  static_cast<double>(HostCosts{}.*fields[i].at) * 1e-3, from, fields[i].meaning);
    }
    std::printf("\nCopies in the caches: %.1f GB/s; reductions of a received operand: %.1f GB/s.\n",
                1.024e6 / static_cast<double>(std::max<uint64_t>(costs.copyPerKiB, 1)),
                1.024e6 / static_cast<double>(std::max<uint64_t>(costs.reducePerKiB, 1)));
  }

  const Arguments& a_;
  int rank_, ranks_, hosts_ = 1;
  Program program_;
  uint64_t most_ = 0;
  Measured by_;
  std::vector<Observation> observations_;
};

void declare(CLI::App& app, Arguments& a) {
  app.add_option("--output", a.output,
                 "File to write (default: where jobs on this machine will look)");
  app.add_option("--seconds", a.seconds, "How long to measure")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  app.add_option("--max", a.most, "Longest call (default: 256M; over several hosts 16M)");
  app.add_option("--memory", a.memory,
                 "Whose buffers: host (ordinary ones), rondo (rondoMemAlloc, which peers read in "
                 "place) or device (a GPU for each rank; adds to the file)")
      ->check(CLI::IsMember({"host", "rondo", "device"}))
      ->capture_default_str();
  app.add_flag("--fresh", a.fresh,
               "Begin with the built-in costs of this kind of memory, not with the file's");
  app.add_flag(
      "--check", a.check,
      "Measure nothing new: print what is predicted now, by the file that jobs find, beside "
      "what is measured");
  app.add_flag("--dry-run", a.dryRun, "Measure and print, write nothing");
  app.add_flag("--verbose", a.verbose,
               "Of device memory over several hosts: print what rank 0 saw of each call");
}

/// On all ranks alike but for writing the file: then the others wait for rank 0's word.
int runTuner(const Arguments& a, int rank, int ranks) {
  int code = 0;
  try {
    Tuner tuner(a, rank, ranks);
    if (!a.check && !a.dryRun) tuner.requireWritable();
    if (a.memory == "device") {
      a.check ? tuner.checkOnDevices() : tuner.runOnDevices();
    } else {
      a.check ? checkFile(tuner.most(), a.memory == "rondo", tuner.layered()) : tuner.run();
    }
  } catch (const std::exception& error) {
    const auto* const mine = dynamic_cast<const Error*>(&error);
    code = mine != nullptr && mine->code() == rondoInvalidArgument ? 2 : 1;
    if (rank == 0) std::fprintf(stderr, "rondo-tune: %s\n", error.what());
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Measures what the planner's choices rest on. Start it as a job: mpirun -n 2 rondo-tune",
      "rondo-tune");
  declare(app, arguments);
  return runAsJob(app, argc, argv,
                  [&](int rank, int ranks) { return runTuner(arguments, rank, ranks); });
}

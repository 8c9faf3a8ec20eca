// rondo-sim: how long a collective, or a training step, would take on a machine that need not be
// there.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/size_text.h"
#include "coll/sim/choices.h"
#include "coll/sim/heat_svg.h"
#include "coll/sim/output.h"
#include "coll/sim/rehearsal.h"
#include "coll/sim/workload_run.h"
#include "command_line.h"
#include "topo/load.h"
#include "topo/search.h"
#include "topo/xml.h"

namespace {

using namespace rondo;

constexpr int kMostRanks = sim::kMostPlaces;
/// No call has more.
constexpr int64_t kMostPeriods = int64_t{1} << 44;
/// So that a table of all collectives on a cluster takes a minute.
constexpr double kMostStepsOfTable = 1e6;
/// What takes longer is told of at once, as the best one is known when all are done only.
constexpr double kLong = 2;
/// Of Rehearsal::workOf(), 2026-11-30.
constexpr double kSecondsOfStep = 1.5e-6;

struct Arguments {
  std::string topology, op = "allreduce", bytes = "256M", algorithm, flows, trace, svg, chunk;
  std::string workload;
  int ranks = 0, root = 0, lanes = 0, depth = -1;
  int64_t periods = 16;
  bool channels = false, opGiven = false, bytesGiven = false, rootGiven = false;
  bool periodsGiven = false;

  bool keeps() const { return !flows.empty() || !trace.empty() || !svg.empty(); }
};

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(rondoInvalidArgument, sentence);
}

Collective collectiveOf(const std::string& name) {
  std::string known;
  for (int c = 0; c < kCollectives; ++c) {
    const char* const text = collectiveName(static_cast<Collective>(c));
    if (name == text) return static_cast<Collective>(c);
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  refuse(format("--op is \"%s\"; allowed: %s", name.c_str(), known.c_str()));
}

uint64_t sizeOf(const char* option, const std::string& text) {
  uint64_t bytes = 0;
  if (!parseSize(text, &bytes) || bytes == 0 || bytes > uint64_t{1} << 44) {
    refuse(format("%s is \"%s\"; allowed: 1 to 16384G, with K, M or G, as in 256M", option,
                  text.c_str()));
  }
  return bytes;
}

/// "256M", or "64K-256M": from the first, four times each, and the second.
std::vector<uint64_t> sizesOf(const std::string& text) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos || dash == 0 || dash + 1 == text.size()) {
    return {sizeOf("--bytes", text)};
  }
  const uint64_t first = sizeOf("--bytes", text.substr(0, dash));
  const uint64_t last = sizeOf("--bytes", text.substr(dash + 1));
  if (last < first) refuse("--bytes is \"" + text + "\"; allowed: the smaller size first");
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = first; bytes < last; bytes *= 4) sizes.push_back(bytes);
  sizes.push_back(last);
  return sizes;
}

sim::Settings settingsOf(const Arguments& a) {
  sim::Settings out;
  out.algorithm = a.algorithm;
  out.lanes = a.lanes;
  out.chunk = a.chunk.empty() ? 0 : sizeOf("--chunk", a.chunk);
  out.depth = a.depth;
  out.periods = static_cast<Count>(a.periods);
  out.wholeIfKept = !a.periodsGiven;
  out.recordLinks = !a.svg.empty();
  return out;
}

class Simulation {
 public:
  Simulation(const Arguments& a, const topo::Graph& graph)
      : a_(a), collective_(collectiveOf(a.op)), on_(graph, a.ranks, settingsOf(a)) {
    on_.checkRoot(a.root);
  }

  void run() {
    if (!a_.flows.empty() && !a_.flows.ends_with(".csv") && !a_.flows.ends_with(".json")) {
      refuse("--flows is \"" + a_.flows + "\"; allowed: a name that ends in .csv or .json");
    }
    std::vector<uint64_t> sizes = sizesOf(a_.bytes);
    if (collective_ == Collective::Barrier) sizes = {0};
    if (a_.keeps() && sizes.size() > 1) {
      refuse("--bytes is \"" + a_.bytes + "\"; allowed with --flows, --trace and --svg: one size");
    }
    for (const uint64_t bytes : sizes) runSize(bytes);
  }

 private:
  void runSize(uint64_t bytes) {
    const sim::CallShape call{collective_, bytes, a_.root};
    if (!a_.algorithm.empty()) warnOf(call);
    std::vector<sim::LeftOut> leftOut;
    const std::vector<sim::Outcome> outcomes = on_.simulateAll(call, &leftOut, false, tellOf);
    if (!outcomes.empty()) print(bytes, outcomes);
    for (const sim::LeftOut& one : leftOut) {
      std::printf("  %-10s not simulated: %.0f million steps; --algorithm %s would\n",
                  one.algorithm->name, one.steps * 1e-6, one.algorithm->name);
    }
    if (outcomes.empty()) {
      refuse("no algorithm is short enough to be simulated unasked; name one with --algorithm");
    }
    const sim::Outcome& best = outcomes.front();
    checkEnded(best.result);
    if (a_.keeps()) write(bytes, best);
  }

  /// What would not be simulated unasked takes minutes, and memory.
  void warnOf(const sim::CallShape& call) const {
    for (const Algorithm* algorithm : on_.candidates(call.collective)) {
      const double steps = on_.workOf(*algorithm, on_.geometryOf(*algorithm, call), call.root);
      if (steps <= on_.settings().mostSteps) continue;
      std::fprintf(
          stderr, "rondo-sim: %s takes about %.0f million steps to simulate, some %.0f s or more\n",
          algorithm->name, steps * 1e-6, steps * kSecondsOfStep);
    }
  }

  static void tellOf(const sim::Outcome& outcome) {
    if (outcome.seconds < kLong) return;
    std::fprintf(stderr, "rondo-sim: %s is simulated, in %.0f s\n", outcome.algorithm->name,
                 outcome.seconds);
  }

  /// The best one again, with all its transfers.
  void write(uint64_t bytes, const sim::Outcome& chosen) const {
    const double steps = on_.stepsOf(*chosen.algorithm, chosen.geometry, a_.root, true);
    if (steps > on_.settings().mostKept) {
      refuse(
          format("--flows, --trace and --svg of %s take %.0f million steps; allowed: up to %.0f "
                 "million; --periods says how many full periods are simulated, --algorithm which "
                 "algorithm",
                 chosen.algorithm->name, steps * 1e-6, on_.settings().mostKept * 1e-6));
    }
    const sim::Outcome best = on_.simulate(*chosen.algorithm, chosen.geometry, a_.root, true);
    if (best.result.simulatedPeriods < best.result.periods) {
      std::fprintf(stderr,
                   "rondo-sim: --flows, --trace and --svg have %llu of %llu full periods; "
                   "allowed for more: --periods, up to %.0f million steps\n",
                   static_cast<unsigned long long>(best.result.simulatedPeriods),
                   static_cast<unsigned long long>(best.result.periods),
                   on_.settings().mostKept * 1e-6);
    }
    if (best.result.stretched < 1) {
      std::fprintf(stderr,
                   "rondo-sim: --flows, --trace and --svg of %s show blocks as whole, and are "
                   "pressed into %.0f %% of their time: links seem to carry more than they can\n",
                   chosen.algorithm->name, 100 * best.result.stretched);
    }
    const sim::Job job = on_.jobOf(*best.algorithm, best.geometry, a_.root);
    const bool json = a_.flows.ends_with(".json");
    if (!a_.flows.empty()) {
      sim::writeFile(a_.flows, json ? flowsJson(job, best.result) : flowsCsv(job, best.result));
    }
    if (!a_.trace.empty()) sim::writeFile(a_.trace, traceJson(best.result));
    if (a_.svg.empty()) return;
    const std::string title =
        format("%s of %llu bytes, %s, %d rank%s: %.2f us", a_.op.c_str(),
               static_cast<unsigned long long>(bytes), best.algorithm->name, on_.ranks(),
               on_.ranks() == 1 ? "" : "s", static_cast<double>(best.result.picoseconds) * 1e-6);
    sim::writeFile(a_.svg, heatSvg(job, best.result, title));
  }

  void print(uint64_t bytes, const std::vector<sim::Outcome>& outcomes) const {
    const size_t hosts = on_.graph().hosts().size();
    std::printf("%s of %llu bytes on %d ranks (%s memory), %zu host%s\n", a_.op.c_str(),
                static_cast<unsigned long long>(bytes), on_.ranks(),
                on_.onDevice() ? "device" : "host", hosts, hosts == 1 ? "" : "s");
    for (const sim::Outcome& o : outcomes) {
      if (!o.result.blocked.empty()) {
        std::printf("  %-10s deadlock\n", o.algorithm->name);
        continue;
      }
      const double bus = sim::busBandwidth(collective_, on_.ranks(), bytes, o.result.picoseconds);
      std::printf("  %-10s %14.2f us  bus %8.2f GB/s  (%llu messages of %llu periods, %.2f s)\n",
                  o.algorithm->name, static_cast<double>(o.result.picoseconds) * 1e-6, bus * 1e-9,
                  static_cast<unsigned long long>(o.result.messages),
                  static_cast<unsigned long long>(o.result.simulatedPeriods), o.seconds);
      if (&o == outcomes.data() || !o.result.seenFull) printPeriods(o.result);
    }
    if (!outcomes[0].result.blocked.empty()) return;
    std::printf("Busiest links of %s:\n%s", outcomes[0].algorithm->name,
                sim::busiestLinks(on_.graph(), outcomes[0].result, 8).c_str());
  }

  static void printPeriods(const sim::Result& result) {
    if (result.simulatedPeriods == result.periods) return;
    std::printf("             %llu of %llu full periods simulated, the others alike%s\n",
                static_cast<unsigned long long>(result.simulatedPeriods),
                static_cast<unsigned long long>(result.periods),
                result.seenFull ? ""
                                : "; the pipeline was not seen full, so that the time is rough: "
                                  "--periods simulates more");
  }

  const Arguments& a_;
  Collective collective_;
  sim::Rehearsal on_;
};

/// Rings and trees of the machine, and what would run for each collective and size.
void showChannels(const Arguments& a, const topo::Graph& graph) {
  sim::Settings settings = settingsOf(a);
  settings.mostSteps = kMostStepsOfTable;
  sim::Rehearsal on(graph, a.ranks, settings);
  on.checkRoot(a.root);
  std::vector<Collective> collectives;
  for (int c = 0; c < kCollectives; ++c) collectives.push_back(static_cast<Collective>(c));
  if (a.opGiven) collectives = {collectiveOf(a.op)};
  const std::vector<uint64_t> sizes = sizesOf(a.bytesGiven ? a.bytes : "1K-64M");
  std::printf("%s\n%s", channelsText(graph, topo::searchChannels(graph)).c_str(),
              sim::choicesHead().c_str());
  for (const Collective collective : collectives) {
    for (const uint64_t bytes : sizes) {
      std::fputs(sim::choiceLine(on, {collective, bytes, a.root}).c_str(), stdout);
      std::fflush(stdout);
      if (collective == Collective::Barrier) break;
    }
  }
}

/// What stages of a pipeline send each other, over time.
std::string drawStages(const Arguments& a, const sim::Workload& workload, const topo::Graph& graph,
                       const sim::WorkloadTimes& times) {
  const sim::Rehearsal on(graph, times.ranks, settingsOf(a));
  sim::Job job;
  job.graph = &graph;
  job.places = on.places();
  const std::string title = format(
      "%d stages of %d ranks, %d micro-batches: %.2f us, of which each waits %.2f us",
      workload.pipeline, times.ranks / workload.pipeline, workload.accumulation,
      static_cast<double>(times.run.end) * 1e-6, static_cast<double>(times.run.bubble) * 1e-6);
  return heatSvg(job, stageTransfers(on, times.pipeline, times.run, workload.pipelineBytes), title);
}

void runWorkload(const Arguments& a, const topo::Graph& graph) {
  if (!a.flows.empty()) refuse("--workload is given; allowed without --flows");
  if (a.opGiven || a.bytesGiven || a.rootGiven) {
    refuse(
        "--workload is given, whose file says which calls there are; allowed without --op, "
        "--bytes and --root");
  }
  const sim::Workload workload = sim::parseWorkload(topo::readFile(a.workload), a.workload);
  if (a.keeps() && workload.pipeline == 1) {
    refuse(
        "--trace and --svg of a --workload show its pipeline's stages, and its pp is 1; "
        "allowed: from 2");
  }
  if (!a.svg.empty() && workload.pipelineBytes == 0) {
    refuse(
        "--svg of a --workload shows what its stages send, and its pp_comm is 0; allowed: "
        "from 1");
  }
  const sim::WorkloadTimes times = sim::timeWorkload(workload, graph, a.ranks, settingsOf(a));
  std::fputs(workloadText(workload, times).c_str(), stdout);
  if (!a.trace.empty()) sim::writeFile(a.trace, traceJson(times.run));
  if (!a.svg.empty()) sim::writeFile(a.svg, drawStages(a, workload, graph, times));
}

void declare(CLI::App& app, Arguments& a) {
  app.add_option("--topology", a.topology,
                 "A file (Rondo's, NCCL's or hwloc's XML) or a description, as in "
                 "\"16 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail\"")
      ->required();
  app.add_option("-n,--ranks", a.ranks, "Ranks (default: one on each GPU, or on each core)")
      ->check(CLI::Range(1, kMostRanks));
  app.add_option("--op", a.op, "The collective")->capture_default_str();
  app.add_option("--bytes", a.bytes, "Bytes of the call, or a range: 64K-256M")
      ->capture_default_str();
  app.add_option("--algorithm", a.algorithm,
                 "This one (default: all there are, the best one first)");
  app.add_option("--root", a.root, "Root, where there is one")
      ->check(CLI::Range(0, kMostRanks - 1));
  app.add_option("--lanes", a.lanes, "Concurrent parts (default: the transport's)")
      ->check(CLI::Range(1, 64));
  app.add_option("--chunk", a.chunk, "Bytes of a message (default: the transport's)");
  app.add_option("--depth", a.depth, "Messages that a channel holds (default: the transport's, 2)")
      ->check(CLI::Range(0, 1024));
  app.add_option(
         "--periods", a.periods,
         "Full periods that are simulated one by one; 0: all (if not given: more of calls of "
         "few steps, and until a pipeline is full)")
      ->check(CLI::Range(int64_t{0}, kMostPeriods))
      ->capture_default_str();
  app.add_option("--workload", a.workload,
                 "Time a training step that is written as SimAI and ASTRA-sim have it");
  app.add_flag("--channels", a.channels,
               "Print the rings and trees that are found and, for each collective and size, "
               "algorithm, protocol, channels, chunk and steps (--op and --bytes: these only)");
  app.add_option("--flows", a.flows, "Write every transfer to this file, .csv or .json");
  app.add_option("--trace", a.trace, "Write a trace for Perfetto or chrome://tracing");
  app.add_option("--svg", a.svg, "Draw how much of each link is used over time");
}

void run(const Arguments& a, const topo::Graph& graph) {
  if (a.channels && !a.workload.empty()) refuse("--channels and --workload; allowed: one of them");
  if (a.channels && a.keeps()) {
    refuse("--channels is given; allowed without --flows, --trace and --svg");
  }
  if (!a.workload.empty()) return runWorkload(a, graph);
  if (a.channels) return showChannels(a, graph);
  Simulation(a, graph).run();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Simulates a collective's recorded plans on a machine's links.", "rondo-sim");
  declare(app, arguments);
  return runTool(app, argc, argv, {.failed = 1, .unwritten = 1}, [&] {
    arguments.opGiven = app.count("--op") > 0;
    arguments.bytesGiven = app.count("--bytes") > 0;
    arguments.rootGiven = app.count("--root") > 0;
    arguments.periodsGiven = app.count("--periods") > 0;
    const topo::Loaded loaded = topo::loadTopology(arguments.topology);
    for (const std::string& warning : loaded.warnings) {
      std::fprintf(stderr, "rondo-sim: %s\n", warning.c_str());
    }
    run(arguments, loaded.graph);
    return 0;
  });
}

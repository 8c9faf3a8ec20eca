// rondo-sim: how long a collective would take on a machine that need not be there.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/options.h"
#include "coll/registry.h"
#include "coll/sim/output.h"
#include "p2p/channel_view.h"
#include "p2p/shm_layout.h"
#include "topo/load.h"
#include "topo/quantities.h"

namespace {

using namespace rondo;

constexpr int kMostRanks = 65536;
/// Steps that are simulated in about half a minute; an algorithm with more is only run when it is
/// named.
constexpr double kMostSteps = 2e7;
/// A transfer that is kept takes 64 bytes, and its line 200.
constexpr size_t kMostKept = 4'000'000;
/// A kernel's 64 lanes do the same at the same time: as many bytes in two lanes are the same flows.
constexpr int kDeviceLanes = 2;
constexpr int kHostLanes = 2;

struct Arguments {
  std::string topology, op = "allreduce", bytes = "256M", algorithm, flows, trace, chunk;
  int ranks = 0, root = 0, lanes = 0, depth = -1;
  unsigned long long periods = 16;
  bool all = false;
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
    refuse(format("%s is \"%s\"; allowed: 1 to 16T, with K, M or G, as in 256M", option,
                  text.c_str()));
  }
  return bytes;
}

/// "256M", or "64K-256M": from the first, four times each, to the second.
std::vector<uint64_t> sizesOf(const std::string& text) {
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return {sizeOf("--bytes", text)};
  const uint64_t first = sizeOf("--bytes", text.substr(0, dash));
  const uint64_t last = sizeOf("--bytes", text.substr(dash + 1));
  if (last < first) refuse("--bytes is \"" + text + "\"; allowed: the smaller size first");
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = first; bytes <= last; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

void writeFile(const std::string& path, const std::string& text) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (file == nullptr) throw systemError(path, errno);
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    throw systemError(path, errno);
  }
}

class Simulation {
 public:
  Simulation(const Arguments& a, const topo::Graph& graph)
      : a_(a),
        graph_(graph),
        device_(!graph.all(topo::NodeKind::Gpu).empty()),
        collective_(collectiveOf(a.op)),
        ranks_(ranksOf()),
        places_(sim::placeRanks(graph, ranks_)),
        groups_(sim::hostsOf(graph, places_)) {
    if (a.root >= ranks_) refuse(format("--root is %d; allowed: 0 to %d", a.root, ranks_ - 1));
  }

  void run() {
    for (const uint64_t bytes : sizesOf(a_.bytes)) runSize(bytes);
  }

 private:
  struct Outcome {
    const Algorithm* algorithm;
    algo::Geometry geometry;
    sim::Result result;
    double seconds;
  };

  int ranksOf() const {
    if (a_.ranks > 0) return a_.ranks;
    int places = 0;
    const auto kind = device_ ? topo::NodeKind::Gpu : topo::NodeKind::Cpu;
    for (const int node : graph_.all(kind))
      places += device_ ? 1 : std::max(graph_.node(node).cores, 1);
    return places;
  }

  std::vector<const Algorithm*> candidates() const {
    std::vector<const Algorithm*> out;
    std::string known;
    for (const Algorithm& row : registry()) {
      if (row.collective != collective_) continue;
      known += (known.empty() ? "" : ", ") + std::string(row.name);
      if (a_.algorithm.empty() ? mayRun(row) : a_.algorithm == row.name) out.push_back(&row);
    }
    if (out.empty() && !a_.algorithm.empty()) {
      refuse(format("--algorithm is \"%s\"; allowed for %s: %s", a_.algorithm.c_str(),
                    a_.op.c_str(), known.c_str()));
    }
    return out;
  }
  bool mayRun(const Algorithm& row) const {
    if (row.hierarchy != nullptr && !groups_.layered()) return false;
    const bool window = std::string(row.header).find("window") != std::string::npos;
    return !(device_ && window && ranks_ > kMaxWindowRanks);
  }

  algo::Geometry geometryOf(const Algorithm& algorithm, uint64_t bytes) const {
    const uint64_t slots = hasSlots(collective_) ? static_cast<uint64_t>(ranks_) : 1;
    const int lanes = a_.lanes > 0 ? a_.lanes : device_ ? kDeviceLanes : kHostLanes;
    uint64_t chunk =
        device_ ? uint64_t{kSlotBytes} * kRingLanes / kDeviceLanes : ShmLayout::kMostArea / 2;
    if (!a_.chunk.empty()) chunk = sizeOf("--chunk", a_.chunk);
    const Count count =
        collective_ == Collective::Barrier ? 0 : std::max<uint64_t>(bytes / slots, 1);
    return {count, lanes, blocksOf(algorithm, ranks_, groups_), chunk,
            std::min<uint64_t>(64, chunk)};
  }

  sim::Job jobOf(const Algorithm& algorithm, const algo::Geometry& geometry) const {
    sim::Job job;
    job.graph = &graph_;
    job.places = places_;
    job.plan = [this, &algorithm, &geometry](int rank) {
      return recordPlan(algorithm, {rank, ranks_, a_.root, groups_.placement()}, geometry);
    };
    job.depth = a_.depth >= 0 ? a_.depth : static_cast<int>(device_ ? kFifoSlots : 2);
    job.costs = device_ ? sim::deviceCosts() : sim::hostCosts(HostCosts{});
    job.periods = a_.periods;
    job.record = !a_.flows.empty() || !a_.trace.empty();
    return job;
  }

  double stepsOf(const Algorithm& algorithm, const algo::Geometry& geometry) const {
    double full = 0, last = 0;
    for (const LaneProgram& lane :
         recordPlan(algorithm, {std::min(1, ranks_ - 1), ranks_, a_.root, groups_.placement()},
                    geometry)
             .lanes) {
      full += static_cast<double>(lane.full.size());
      last += static_cast<double>(lane.last.size());
    }
    const Count all = geometry.fullPeriods();
    const Count periods = a_.periods == 0 ? all : std::min<Count>(a_.periods, all);
    return (full * static_cast<double>(periods) + last) * ranks_;
  }

  void runSize(uint64_t bytes) {
    std::vector<Outcome> outcomes;
    std::string leftOut;
    for (const Algorithm* algorithm : candidates()) {
      Outcome outcome{algorithm, geometryOf(*algorithm, bytes), {}, 0};
      const double steps = stepsOf(*algorithm, outcome.geometry);
      if (a_.algorithm.empty() && steps > kMostSteps) {
        leftOut += format("  %-10s not simulated: %.0f million steps; --algorithm %s would\n",
                          algorithm->name, steps * 1e-6, algorithm->name);
        continue;
      }
      if ((!a_.flows.empty() || !a_.trace.empty()) && steps > kMostKept) {
        refuse(
            format("--flows and --trace of %.0f million steps; allowed: up to %zu million; "
                   "--periods says how many full periods are simulated",
                   steps * 1e-6, kMostKept / 1'000'000));
      }
      const auto start = std::chrono::steady_clock::now();
      outcome.result = sim::simulate(jobOf(*algorithm, outcome.geometry));
      outcome.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      outcomes.push_back(std::move(outcome));
    }
    if (outcomes.empty()) {
      std::fputs(leftOut.c_str(), stdout);
      refuse("no algorithm is short enough to be simulated unasked; name one with --algorithm");
    }
    std::stable_sort(outcomes.begin(), outcomes.end(), [](const Outcome& a, const Outcome& b) {
      const bool aStuck = !a.result.blocked.empty(), bStuck = !b.result.blocked.empty();
      return aStuck != bStuck ? bStuck : a.result.picoseconds < b.result.picoseconds;
    });
    print(bytes, outcomes);
    std::fputs(leftOut.c_str(), stdout);
    const Outcome& best = outcomes.front();
    if (!best.result.blocked.empty()) stuck(best);
    const sim::Job job = jobOf(*best.algorithm, best.geometry);
    const bool json = a_.flows.ends_with(".json");
    if (!a_.flows.empty()) {
      writeFile(a_.flows, json ? flowsJson(job, best.result) : flowsCsv(job, best.result));
    }
    if (!a_.trace.empty()) writeFile(a_.trace, traceJson(best.result));
  }

  void print(uint64_t bytes, const std::vector<Outcome>& outcomes) const {
    std::printf("%s of %llu bytes on %d ranks (%s memory), %zu host%s\n", a_.op.c_str(),
                static_cast<unsigned long long>(bytes), ranks_, device_ ? "device" : "host",
                graph_.hosts().size(), graph_.hosts().size() == 1 ? "" : "s");
    for (const Outcome& o : outcomes) {
      if (!o.result.blocked.empty()) {
        std::printf("  %-10s deadlock\n", o.algorithm->name);
        continue;
      }
      const double bus = sim::busBandwidth(collective_, ranks_, bytes, o.result.picoseconds);
      std::printf("  %-10s %14.2f us  bus %8.2f GB/s  (%llu messages of %llu periods, %.2f s)\n",
                  o.algorithm->name, static_cast<double>(o.result.picoseconds) * 1e-6, bus * 1e-9,
                  static_cast<unsigned long long>(o.result.messages),
                  static_cast<unsigned long long>(o.result.simulatedPeriods), o.seconds);
      if (o.result.simulatedPeriods < o.result.periods && &o == outcomes.data()) {
        std::printf("             %llu of %llu full periods simulated, the others alike\n",
                    static_cast<unsigned long long>(o.result.simulatedPeriods),
                    static_cast<unsigned long long>(o.result.periods));
      }
    }
    if (!outcomes[0].result.blocked.empty()) return;
    std::printf("Busiest links of %s:\n%s", outcomes[0].algorithm->name,
                sim::busiestLinks(graph_, outcomes[0].result, 8).c_str());
  }

  [[noreturn]] void stuck(const Outcome& outcome) const {
    constexpr size_t kShown = 64;
    for (size_t i = 0; i < std::min(kShown, outcome.result.blocked.size()); ++i) {
      std::fprintf(stderr, "%s\n", outcome.result.blocked[i].c_str());
    }
    throw Error(rondoInternalError,
                format("deadlock: %zu lanes of ranks cannot go on", outcome.result.blocked.size()));
  }

  const Arguments& a_;
  const topo::Graph& graph_;
  bool device_;
  Collective collective_;
  int ranks_;
  std::vector<int> places_;
  RankGroups groups_;
};

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
  app.add_option("--periods", a.periods, "Full periods that are simulated one by one; 0: all")
      ->capture_default_str();
  app.add_option("--flows", a.flows, "Write every transfer to this file, .csv or .json");
  app.add_option("--trace", a.trace, "Write a trace for Perfetto or chrome://tracing");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Simulates a collective's recorded plans on a machine's links.", "rondo-sim");
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    const topo::Loaded loaded = topo::loadTopology(arguments.topology);
    for (const std::string& warning : loaded.warnings) {
      std::fprintf(stderr, "rondo-sim: %s\n", warning.c_str());
    }
    Simulation(arguments, loaded.graph).run();
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "rondo-sim: %s\n", error.what());
    return error.code() == rondoInvalidArgument ? 2 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rondo-sim: %s\n", error.what());
    return 1;
  }
}

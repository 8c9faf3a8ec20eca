#include "options.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "commands.h"
#include "errors.h"
#include "option_values.h"
#include "session.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

constexpr const char* kMeasures = R"(What the columns mean:
  A rank's time of an iteration is the time its call took by the steady clock; the ranks meet in an
  MPI_Barrier before each iteration, outside that time. An iteration's time is the mean over the
  ranks. usec_p50 and usec_p99 are percentiles (nearest rank) of the iterations' times; usec_min and
  usec_max are over all ranks and iterations. On device memory a sample is the time between two
  events around a number of calls, divided by that number, of the slowest rank.
  busbw is the size divided by usec_p50, times the collective's factor as nccl-tests defines it
  (all-reduce: 2 (n - 1) / n), in 10^9 bytes a second. wrong counts elements of all ranks that
  differ in any bit from the exact result, before the timing and after its last iteration.
  Exit status: 0; 1 if an element was wrong or a call failed; 2 for a bad command line or where what
  was asked for is not available.)";

/// Every option as the text that was given, before it is read.
struct Texts {
  std::string min, max, step, type, op, memory, peer, warmup, iterations, budget, calls, progress;
};

/// Breaks a help text into lines that fit beside the options' names.
std::string wrap(const std::string& text) {
  constexpr size_t kWidth = 66;
  std::istringstream words(text);
  std::string result;
  size_t column = 0;
  for (std::string word; words >> word; column += word.size()) {
    if (column + 1 + word.size() > kWidth) {
      result += '\n';
      column = 0;
    } else if (!result.empty()) {
      result += ' ';
      ++column;
    }
    result += word;
  }
  return result;
}

void addText(CLI::App& app, const char* name, std::string& text, const char* kind,
             const std::string& help) {
  app.add_option(name, text, wrap(help))->type_name(kind);
}

void addFlag(CLI::App& app, const char* name, bool& flag, const std::string& help) {
  app.add_flag(name, flag, wrap(help));
}

template <class Entry>
std::string namesOf(std::span<const Entry> table) {
  std::string names;
  for (const Entry& entry : table) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

void addDataOptions(CLI::App& app, Texts& texts, Options& options) {
  addText(app, "--min", texts.min, "SIZE", "Smallest size in bytes, such as 4, 64K, 1M, 1G [4]");
  addText(app, "--max", texts.max, "SIZE", "Largest size [16M]");
  addText(app, "--step", texts.step, "FACTOR", "From one size to the next [4]");
  addText(app, "--type", texts.type, "TYPES",
          "Element types, with commas between, or all [float32]: " + namesOf(elementTypes()));
  addText(app, "--op", texts.op, "OPS",
          "Operators, with commas between, or all [sum]: " + namesOf(operators()));
  addFlag(app, "--in-place", options.inPlace, "Send and receive buffer are the same");
  addText(app, "--memory", texts.memory, "KIND",
          "host (ordinary memory), rondo (rondoMemAlloc) or device (CUDA) [host]");
  addFlag(app, "--hot", options.hot,
          "Use one set of buffers over and over, so that caches hold it. Otherwise sets rotate: at "
          "least 64 MiB and two sets, at most 64 sets and 1 GiB a rank");
  addFlag(app, "--no-check", options.noCheck, "Do not check results; wrong is 0 then");
}

void addRunOptions(CLI::App& app, Texts& texts, Options& options) {
  addText(app, "--peer", texts.peer, "LIBRARY",
          "Time another library on the same buffers, call by call in turn, and print Rondo's time "
          "divided by its: mpi (host memory) or nccl (device memory)");
  addText(app, "--warmup", texts.warmup, "N",
          "Untimed iterations [200 to 8K, 50 to 1M, then 10; fewer where the budget ends]");
  addText(app, "--iters", texts.iterations, "N",
          "Timed iterations of each size [2000 to 8K, 500 to 1M, then 100; fewer, but at least 8, "
          "where the budget ends]");
  addText(app, "--budget", texts.budget, "SECONDS",
          "For each size and library, where --warmup and --iters do not say otherwise [0.5]");
  addFlag(app, "--graph", options.graph,
          "Device memory: replay calls that were captured in a CUDA graph");
  addText(app, "--graph-calls", texts.calls, "N", "Calls in a graph [20]");
  addText(app, "--csv", options.csvPath, "FILE", "Also write the rows to this file");
  addText(app, "--json", options.jsonPath, "FILE", "Also write the rows to this file");
  addText(app, "--progress", texts.progress, "WHEN",
          "Progress line on stderr: auto (if it is a terminal), always, never [auto]");
}

void readTexts(const Texts& texts, Options& options) {
  const auto given = [](const std::string& text) { return text != "\1"; };
  constexpr int kMostIterations = 10000;
  if (given(texts.min)) options.minBytes = readSize("--min", texts.min);
  if (given(texts.max)) options.maxBytes = readSize("--max", texts.max);
  if (given(texts.step)) options.step = static_cast<size_t>(readInt("--step", texts.step, 2, 1024));
  options.types = readTypes("--type", given(texts.type) ? texts.type : "float32");
  options.ops = readOperators("--op", given(texts.op) ? texts.op : "sum");
  if (given(texts.memory)) {
    const size_t choice = readChoice("--memory", texts.memory, {"host", "rondo", "device"});
    options.memory = static_cast<MemoryKind>(choice);
  }
  if (given(texts.peer)) {
    options.peer =
        readChoice("--peer", texts.peer, {"mpi", "nccl"}) == 0 ? Peer::kMpi : Peer::kNccl;
  }
  if (given(texts.warmup)) options.warmup = readInt("--warmup", texts.warmup, 0, kMostIterations);
  if (given(texts.iterations)) {
    options.iterations = readInt("--iters", texts.iterations, 1, kMostIterations);
  }
  if (given(texts.budget)) options.budgetSeconds = readSeconds("--budget", texts.budget);
  if (given(texts.calls)) options.callsPerSample = readInt("--graph-calls", texts.calls, 1, 1000);
  if (given(texts.progress)) {
    const size_t choice = readChoice("--progress", texts.progress, {"auto", "always", "never"});
    options.progress = static_cast<When>(choice);
  }
  if (given(texts.calls) && !options.graph) {
    throw UsageError("--graph-calls " + texts.calls + ": allowed only together with --graph");
  }
}

void requireSense(const Options& options) {
  const bool device = options.memory == MemoryKind::kDevice;
  if (options.maxBytes < options.minBytes) {
    throw UsageError("--max " + formatSize(options.maxBytes) + ": allowed is at least --min, " +
                     "which is " + formatSize(options.minBytes));
  }
  if (options.graph && !device) {
    throw UsageError(std::string("--graph: allowed only with --memory device, not --memory ") +
                     memoryName(options.memory));
  }
  if (options.peer == Peer::kMpi && device) {
    throw UsageError("--peer mpi: allowed only with --memory host or rondo, not --memory device");
  }
  if (options.peer == Peer::kNccl && !device) {
    throw UsageError(std::string("--peer nccl: allowed only with --memory device, not --memory ") +
                     memoryName(options.memory));
  }
}

std::string versionText() {
  return "rondo-bench " + formatVersion(RONDO_VERSION_CODE) + " (Rondo " + rondoVersion() + ", " +
         mpiVersion() + ")\n";
}

}  // namespace

CommandLine parseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  Options& options = line.options;
  const std::string unset = "\1";  // told apart from an empty text, which is refused
  Texts texts{unset, unset, unset, unset, unset, unset, unset, unset, unset, unset, unset, unset};

  CLI::App app("Benchmarks of Rondo's collectives; run it with mpirun.", "rondo-bench");
  bool version = false;
  app.add_flag("--version", version, "Print the versions of benchmark, library and MPI");
  app.footer("rondo-bench COMMAND --help lists a command's options.");
  app.allow_extras();
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    addDataOptions(*sub, texts, options);
    addRunOptions(*sub, texts, options);
    sub->footer(kMeasures);
    sub->allow_extras();
    sub->callback([&options, &command] { options.command = command.name; });
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    return line;
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; --help lists the options and their values");
  }
  if (version) {
    line.text = versionText();
    return line;
  }
  if (const auto extras = app.remaining(true); !extras.empty()) {
    const bool isOption = extras.front().starts_with("-");
    throw UsageError(
        (isOption ? "unknown option " : "unexpected argument ") + extras.front() +
        (options.command.empty()
             ? ": allowed are the commands " + namesOf(commands()) + ", --help, --version"
             : ": rondo-bench " + options.command + " --help lists what is allowed"));
  }
  if (options.command.empty()) {
    throw UsageError("no command given: allowed are " + namesOf(commands()) +
                     ", --help, --version");
  }
  readTexts(texts, options);
  requireSense(options);
  return line;
}

}  // namespace rondo::bench

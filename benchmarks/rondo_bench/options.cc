#include "options.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "commands.h"
#include "errors.h"
#include "option_texts.h"
#include "option_values.h"
#include "session.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

bool given(const std::string& text) { return text != kNotGiven; }

std::string commandNames() {
  std::string names;
  for (const Command& command : commands()) names += (names.empty() ? "" : ", ") + command.name;
  return names;
}

const Command& commandOf(const Options& options) {
  for (const Command& command : commands()) {
    if (command.name == options.command) return command;
  }
  throw UsageError("no command " + options.command + ": allowed are " + commandNames());
}

void readSizes(const OptionTexts& texts, Options& options) {
  const Command& command = commandOf(options);
  options.minBytes = command.minBytes;
  options.maxBytes = command.maxBytes;
  options.step = command.step;
  if (given(texts.min)) options.minBytes = readSize("--min", texts.min);
  if (given(texts.max)) options.maxBytes = readSize("--max", texts.max);
  if (given(texts.step)) options.step = static_cast<size_t>(readInt("--step", texts.step, 2, 1024));
  if (options.maxBytes < options.minBytes) {
    throw UsageError("--max " + formatSize(options.maxBytes) + ": allowed is at least --min, " +
                     "which is " + formatSize(options.minBytes));
  }
}

/// The one benchmark that a command runs; nullptr of those that run several or none.
const Benchmark* benchmarkOf(const Options& options) {
  return findBenchmark(options.command == "overlap" ? options.collective : options.command);
}

void readData(const OptionTexts& texts, Options& options) {
  options.types = readTypes("--type", given(texts.type) ? texts.type : "float32");
  options.ops = readOperators("--op", given(texts.op) ? texts.op : "sum");
  options.anyType = texts.type == "all";
  options.anyOp = texts.op == "all";
  if (given(texts.group)) options.group = readInt("--group", texts.group, 1, 1024);
  if (given(texts.root)) options.root = readInt("--root", texts.root, 0, 1 << 20);
  if (given(texts.window)) options.window = readInt("--window", texts.window, 1, 1024);
  if (given(texts.align)) options.align = readPowerOfTwo("--align", texts.align, 16, 1 << 20);
  if (given(texts.polls)) options.polls = readInt("--polls", texts.polls, 0, 100000);
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.isCollective()) names.push_back(benchmark.name);
  }
  options.collective = given(texts.collective) ? texts.collective : "allreduce";
  readChoice("--collective", options.collective, names);
  const Benchmark* const one = benchmarkOf(options);
  if (given(texts.root) && one != nullptr && !one->has(kRooted)) {
    throw UsageError("--root " + texts.root + ": allowed only with a collective that has a root, " +
                     "not " + one->name);
  }
}

/// Needs the types.
void readOffsets(const OptionTexts& texts, Options& options) {
  const std::vector<size_t> offsets = readSizeList("--offset", texts.offset, 2);
  options.offsets = {offsets.front(), offsets.back()};
  size_t element = 1;
  for (const ElementType* type : options.types) element = std::max(element, type->size);
  for (const size_t offset : offsets) {
    if (offset < options.align && offset % element == 0) continue;
    throw UsageError(
        "--offset " + texts.offset + ": allowed are multiples of " + std::to_string(element) +
        ", the size of an element, below --align, which is " + formatSize(options.align));
  }
  if (options.inPlace && offsets.front() != offsets.back()) {
    throw UsageError("--offset " + texts.offset +
                     ": allowed is one number with --in-place, which has one buffer");
  }
  const Benchmark* const one = benchmarkOf(options);
  if (one != nullptr && one->has(kOneBuffer) && offsets.front() != offsets.back()) {
    throw UsageError("--offset " + texts.offset + ": allowed is one number with " + one->name +
                     ", which has one buffer");
  }
}

void readLibraries(const OptionTexts& texts, Options& options) {
  if (given(texts.memory)) {
    const size_t choice = readChoice("--memory", texts.memory, {"host", "rondo", "device"});
    options.memory = static_cast<MemoryKind>(choice);
  }
  if (given(texts.library)) {
    options.library =
        static_cast<Library>(readChoice("--library", texts.library, {"rondo", "mpi"}));
  }
  if (given(texts.peer)) {
    constexpr Peer kPeers[] = {Peer::kMpi, Peer::kNccl, Peer::kNcclSymmetric};
    options.peer = kPeers[readChoice("--peer", texts.peer, {"mpi", "nccl", "nccl-sym"})];
  }
}

void readRun(const OptionTexts& texts, Options& options) {
  constexpr int kMostIterations = 10000;
  options.budgetSeconds = commandOf(options).budgetSeconds;
  if (given(texts.warmup)) options.warmup = readInt("--warmup", texts.warmup, 0, kMostIterations);
  if (given(texts.iterations)) {
    options.iterations = readInt("--iters", texts.iterations, 1, kMostIterations);
  }
  if (given(texts.budget)) options.budgetSeconds = readSeconds("--budget", texts.budget);
  if (given(texts.pause)) options.pauseMs = readInt("--pause", texts.pause, 0, 10000);
  if (given(texts.calls)) options.callsPerSample = readInt("--graph-calls", texts.calls, 1, 1000);
  if (given(texts.progress)) {
    const size_t choice = readChoice("--progress", texts.progress, {"auto", "always", "never"});
    options.progress = static_cast<When>(choice);
  }
  if (given(texts.meeting)) {
    options.meetInBarrier = readChoice("--meeting", texts.meeting, {"auto", "barrier"}) == 1;
    if (options.memory == MemoryKind::kDevice) {
      throw UsageError("--meeting " + texts.meeting +
                       ": allowed only with --memory host or rondo, not --memory device");
    }
  }
  if (given(texts.calls) && !options.graph) {
    throw UsageError("--graph-calls " + texts.calls + ": allowed only together with --graph");
  }
}

/// A file that rows go to; the others are those of the options before it.
std::string readFile(const std::string& name, const std::string& text,
                     std::initializer_list<std::string> others) {
  if (!given(text)) return "";
  if (text.empty()) throw UsageError(name + " '': allowed is a file in a folder that exists");
  const auto plain = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal();
  };
  for (const std::string& other : others) {
    if (other.empty() || plain(other) != plain(text) || text.starts_with("/dev/")) continue;
    throw UsageError(name + " " + text + ": allowed is a file of its own, not that of another " +
                     "option");
  }
  return text;
}

void readFiles(const OptionTexts& texts, Options& options) {
  options.csvPath = readFile("--csv", texts.csv, {});
  options.jsonPath = readFile("--json", texts.json, {options.csvPath});
  options.plotPath = readFile("--plot", texts.plot, {options.csvPath, options.jsonPath});
}

void readCompare(const OptionTexts& texts, CompareOptions& options) {
  if (options.after.empty()) {
    throw UsageError("compare needs two files that rondo-bench --json wrote; given " +
                     std::string(options.before.empty() ? "none" : "only " + options.before));
  }
  if (given(texts.threshold)) options.threshold = readRatio("--threshold", texts.threshold);
  if (given(texts.columns)) {
    options.columns = readWords("--columns", texts.columns, {"min", "p50", "p99"});
  }
}

void requireSense(const Options& options) {
  const bool device = options.memory == MemoryKind::kDevice;
  if (options.graph && !device) {
    throw UsageError(std::string("--graph: allowed only with --memory device, not --memory ") +
                     memoryName(options.memory));
  }
  if (options.awaited && (!device || options.graph)) {
    throw UsageError("--awaited: allowed only with --memory device, and without --graph");
  }
  if (options.registered && !device) {
    throw UsageError(std::string("--register: allowed only with --memory device, not --memory ") +
                     memoryName(options.memory));
  }
  if (options.copyEngines && !options.registered) {
    throw UsageError("--copy-engines: allowed only together with --register");
  }
  if (options.windows && (!options.registered || options.copyEngines)) {
    throw UsageError(
        "--windows: allowed only together with --register, and without --copy-engines");
  }
  if (options.group > 1 && device) {
    throw UsageError("--group: allowed only with --memory host or rondo, not --memory device");
  }
  if (options.peer == Peer::kMpi && options.graph) {
    throw UsageError("--peer mpi: allowed only without --graph, into which no call of MPI goes");
  }
  if (isNccl(options.peer) && !device) {
    throw UsageError(std::string("--peer ") + peerName(options.peer) +
                     ": allowed only with --memory device, not --memory " +
                     memoryName(options.memory));
  }
  if (options.library == Library::kMpi && options.peer != Peer::kNone) {
    throw UsageError("--library mpi: allowed only without --peer, which is timed beside Rondo");
  }
  if (options.library == Library::kMpi && device) {
    throw UsageError("--library mpi: allowed only with --memory host or rondo, not device");
  }
}

std::string versionText() {
  return "rondo-bench " + formatVersion(RONDO_VERSION_CODE) + " (Rondo " + rondoVersion() + ", " +
         mpiVersion() + ")\n";
}

}  // namespace

const char* peerName(Peer peer) {
  switch (peer) {
    case Peer::kMpi:
      return "mpi";
    case Peer::kNccl:
      return "nccl";
    case Peer::kNcclSymmetric:
      return "nccl-sym";
    default:
      return "";
  }
}

CommandLine parseCommandLine(int argc, const char* const* argv) {
  CommandLine line;
  Options& options = line.options;
  OptionTexts texts;

  CLI::App app("Benchmarks of Rondo's collectives; run it with mpirun.", "rondo-bench");
  bool version = false;
  app.add_flag("--version", version, "Print the versions of benchmark, library and MPI");
  app.footer("rondo-bench COMMAND --help lists a command's options.");
  app.allow_extras();
  app.require_subcommand(0, 1);
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    addOptions(*sub, command, texts, options);
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
    throw UsageError((isOption ? "unknown option " : "unexpected argument ") + extras.front() +
                     (options.command.empty()
                          ? ": allowed are the commands " + commandNames() + ", --help, --version"
                          : ": rondo-bench " + options.command + " --help lists what is allowed"));
  }
  if (options.command.empty()) {
    throw UsageError("no command given: allowed are " + commandNames() + ", --help, --version");
  }
  if (commandOf(options).has(kTakesFiles)) {
    readCompare(texts, options.compare);
    return line;
  }
  readSizes(texts, options);
  readData(texts, options);
  if (given(texts.offset)) readOffsets(texts, options);
  readLibraries(texts, options);
  readRun(texts, options);
  readFiles(texts, options);
  requireSense(options);
  return line;
}

}  // namespace rondo::bench

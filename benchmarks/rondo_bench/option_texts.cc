#include "option_texts.h"

#include <sstream>

#include "sizes.h"
#include "text.h"

namespace rondo::bench {
namespace {

constexpr const char* kMeasures = R"(What the columns mean:
  A rank's time of an iteration is the time its call took by the steady clock; the ranks meet
  before each iteration, outside that time: as the line "meeting" says. An iteration's time is the
  mean over the ranks; of one pair it is rank 0's, of several pairs the slowest rank's. usec_p50 and
  usec_p99 are percentiles (nearest rank) of the iterations' times; usec_min and usec_max are over
  all ranks and iterations where those are means, else over the iterations. On device memory a
  sample is the time between two events around a number of calls, divided by that number, of the
  slowest rank.
  busbw is the size divided by usec_p50, times the collective's factor as nccl-tests defines it
  (all-reduce: 2 (n - 1) / n; of alltoallv, gatherv and scatterv what goes from rank to rank), in
  10^9 bytes a second. wrong counts elements of all ranks that differ in any bit from the exact
  result, before the timing and after its last iteration, and before it those that a call wrote
  in its input or within 64 bytes of its buffers.
  Exit status: 0; 1 if an element was wrong or a call failed; 2 for a bad command line or where what
  was asked for is not available.)";

constexpr const char* kComparison = R"(Rows are joined by collective, library, memory, ranks, bytes,
type and op; a ratio is the second file's time divided by the first's. Where the files' heads differ
in how was measured, it says so; rows that are in one file only are counted, those of the first as
gone. Exit status: 0; 1 if a ratio is past the threshold or a row of either file has wrong elements;
2 where a file cannot be read or no row is in both.)";

/// Breaks a help text into lines that fit beside the options' names.
std::string wrap(const std::string& text, size_t width = 66) {
  std::istringstream words(text);
  std::string result;
  size_t column = 0;
  for (std::string word; words >> word; column += word.size()) {
    if (column + 1 + word.size() > width) {
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
  app.add_option(name, text, wrap(help))
      ->type_name(kind)
      ->multi_option_policy(
          CLI::MultiOptionPolicy::TakeLast);  // so that scripts' can be overridden
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

void addDataOptions(CLI::App& app, const Command& command, OptionTexts& texts, Options& options) {
  if (command.has(kTakesCollective)) {
    addText(app, "--collective", texts.collective, "NAME", "Which one to overlap [allreduce]");
    addText(app, "--polls", texts.polls, "N",
            "Calls of rondoTest or MPI_Test spread over the computation [0]");
  }
  if (command.has(kTakesSizes)) {
    const auto usual = [](size_t bytes) { return " [" + formatSize(bytes) + "]"; };
    addText(app, "--min", texts.min, "SIZE",
            "Smallest size in bytes, such as 4, 64K, 1M, 1G" + usual(command.minBytes));
    addText(app, "--max", texts.max, "SIZE", "Largest size" + usual(command.maxBytes));
    addText(app, "--step", texts.step, "FACTOR",
            "From one size to the next" + format(" [%zu]", command.step));
  }
  if (command.has(kTakesTypes)) {
    addText(app, "--type", texts.type, "TYPES",
            "Element types, with commas between, or all [float32]: " + namesOf(elementTypes()));
  }
  if (command.has(kTakesOps)) {
    addText(app, "--op", texts.op, "OPS",
            "Operators, with commas between, or all [sum]; with all, pairs of type and operator "
            "that are not defined are left out. premulsum multiplies each input by 2: " +
                namesOf(operators()));
  }
  if (command.has(kTakesRoot)) addText(app, "--root", texts.root, "RANK", "The root's rank [0]");
  if (command.has(kTakesWindow)) {
    addText(app, "--window", texts.window, "N", "Messages under way at once [64]");
  }
  if (command.has(kTakesGroup)) {
    addText(app, "--group", texts.group, "N",
            "Calls of an iteration, each on buffers of its own: inside one rondoGroupStart and "
            "rondoGroupEnd; MPI's are started one by one and waited for together. Times are of the "
            "whole group [1: a plain call]");
  }
  if (command.has(kTakesInPlace)) {
    addFlag(app, "--in-place,--inplace", options.inPlace,
            "The smaller buffer lies in the larger one, as the call's in-place rule has it");
  }
  if (command.has(kTakesSizes)) {
    addFlag(app, "--hot", options.hot,
            "Use one set of buffers over and over, so that caches hold it. Otherwise sets rotate: "
            "at least 64 MiB and two sets, at most 64 sets and 1 GiB a rank");
    addText(app, "--align", texts.align, "BYTES",
            "Buffers begin at multiples of these, an odd number of them apart: a power of two from "
            "16 to 1M [64]");
    addText(app, "--offset", texts.offset, "BYTES",
            "Buffers begin so many bytes behind a multiple of --align, as parts of larger ones do: "
            "send and receive buffers, or with a comma between first those, then these. Multiples "
            "of an element's size below --align, in place the same [0]");
    addFlag(app, "--no-check", options.noCheck, "Do not check results; wrong is 0 then");
  }
}

void addDeviceOptions(CLI::App& app, OptionTexts& texts, Options& options) {
  addText(app, "--memory", texts.memory, "KIND",
          "host (ordinary memory), rondo (rondoMemAlloc) or device (CUDA) [host]");
  addFlag(app, "--graph", options.graph,
          "Device memory: replay calls that were captured in a CUDA graph");
  addFlag(app, "--awaited", options.awaited,
          "Device memory: wait for each call before the next, as rondoCommAwaitNext has it (peers: "
          "for the stream), by the host's clock");
  addFlag(app, "--register", options.registered,
          "Device memory: register the buffers with Rondo's communicator");
  addFlag(
      app, "--copy-engines", options.copyEngines,
      "With --register: all-gather and all-to-all of 32M, all-reduce of some 100M and more by copy "
      "engines");
  addFlag(app, "--windows", options.windows,
          "With --register: as symmetric windows, in rondoMemAllocDevice's memory: by copy engines "
          "where the cost model says so");
  addText(app, "--graph-calls", texts.calls, "N", "Calls in a graph [20]");
}

void addMemoryOption(CLI::App& app, OptionTexts& texts) {
  addText(app, "--memory", texts.memory, "KIND",
          "host, or device: every rank must have one (CUDA), and its context beforehand [host]");
}

void addRunOptions(CLI::App& app, const Command& command, OptionTexts& texts) {
  addText(app, "--library", texts.library, "LIBRARY",
          "The one to time: rondo, or mpi alone [rondo]");
  addText(app, "--peer", texts.peer, "LIBRARY",
          "Time another library on the same buffers, call by call in turn, and print Rondo's time "
          "divided by its: mpi (on device memory its collectives, by copies to the host and "
          "back), nccl (device memory), or nccl-sym (the same, all buffers NCCL's own memory and "
          "registered with it as symmetric windows). What MPI cannot "
          "reduce is refused, or timed without it where --type or --op is all");
  if (!command.has(kTakesMemory)) {  // creation has neither
    addText(app, "--warmup", texts.warmup, "N",
            "Untimed iterations [200 to 8K, 50 to 1M, then 10; fewer where the budget ends]");
    addText(app, "--meeting", texts.meeting, "WHERE",
            "Where ranks come together before a timed call on host memory: auto (by flags, and "
            "they start at one instant, where all are on one host and have cores of their own), or "
            "barrier (MPI_Barrier, as elsewhere) [auto]");
  }
  addText(app, "--iters", texts.iterations, "N",
          "Timed iterations of each size [2000 to 8K, 500 to 1M, then 100; fewer, but at least 8, "
          "where the budget ends]");
  addText(app, "--budget", texts.budget, "SECONDS",
          "For each size and library, where --warmup and --iters do not say otherwise" +
              format(" [%g]", command.budgetSeconds));
  if (command.has(kTakesSizes) || command.has(kTakesDevice)) {
    addText(app, "--pause", texts.pause, "MS",
            "Before every sample ranks sleep for so many milliseconds, as programs that compute in "
            "between let links and processors rest [0]");
  }
  addText(app, "--progress", texts.progress, "WHEN",
          "Progress line on stderr: auto (if it is a terminal), always, never [auto]");
  addText(app, "--csv", texts.csv, "FILE", "Also write the rows to this file");
  addText(app, "--json", texts.json, "FILE", "Also write the rows to this file");
  addText(app, "--plot", texts.plot, "FILE", "Also draw times and bandwidths into this SVG file");
}

void addCompareOptions(CLI::App& app, OptionTexts& texts, Options& options) {
  app.add_option("before", options.compare.before, "A file that --json wrote")->type_name("FILE");
  app.add_option("after", options.compare.after, "Another")->type_name("FILE");
  addText(app, "--threshold", texts.threshold, "RATIO", "The largest ratio that is no loss [1.1]");
  addText(app, "--columns", texts.columns, "COLUMNS",
          "Times to compare: min, p50, p99, with commas between [p50]");
}

}  // namespace

void addOptions(CLI::App& app, const Command& command, OptionTexts& texts, Options& options) {
  if (command.has(kTakesFiles)) {
    addCompareOptions(app, texts, options);
    app.footer(wrap(kComparison, 98));
    return;
  }
  addDataOptions(app, command, texts, options);
  if (command.has(kTakesDevice)) addDeviceOptions(app, texts, options);
  if (command.has(kTakesMemory)) addMemoryOption(app, texts);
  addRunOptions(app, command, texts);
  app.footer((command.note.empty() ? "" : wrap(command.note, 98) + "\n\n") + kMeasures);
}

}  // namespace rondo::bench

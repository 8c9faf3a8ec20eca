#include "commands.h"

namespace rondo::bench {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

unsigned takenBy(const Benchmark& benchmark) {
  unsigned takes = kTakesMeasuring;
  if (!benchmark.has(kNoData)) takes |= kTakesSizes | kTakesTypes | kTakesDevice;
  if (benchmark.has(kReduces)) takes |= kTakesOps;
  if (benchmark.has(kRooted)) takes |= kTakesRoot;
  if (benchmark.has(kInPlace)) takes |= kTakesInPlace;
  if (benchmark.has(kWindow)) takes |= kTakesWindow;
  if (benchmark.isCollective()) takes |= kTakesGroup;
  return takes;
}

std::string noteOn(const Benchmark& benchmark) {
  std::string note;
  if (*benchmark.size != '\0') note = "Sizes here are those " + std::string(benchmark.size) + ". ";
  if (benchmark.across == AcrossRanks::kFirst) note += "Times are rank 0's. ";
  if (benchmark.across == AcrossRanks::kMax) note += "Times are the slowest rank's. ";
  if (benchmark.has(kWindow)) note += "A time is the window's divided by its messages. ";
  return note;
}

std::vector<Command> makeCommands() {
  std::vector<Command> result;
  for (const Benchmark& benchmark : benchmarks()) {
    result.push_back({benchmark.name, benchmark.summary, noteOn(benchmark), takenBy(benchmark),
                      benchmark.has(kNoData) ? size_t{0} : 4, benchmark.maxBytes, 4, 0.5,
                      runBenchmark});
  }
  result.push_back({"overlap", "How much of a non-blocking collective hides behind computation.",
                    "First the collective alone is timed (usec_comm), then computation that takes "
                    "as long (usec_compute) between its start and its wait (usec_*). overlap_pct "
                    "is 100 - 100 (usec_p50 - usec_compute) / usec_comm, at least 0, as OSU has "
                    "it. Sizes are as in the collective's own command. ",
                    kTakesMeasuring | kTakesSizes | kTakesTypes | kTakesOps | kTakesRoot |
                        kTakesInPlace | kTakesCollective,
                    4, kMiB, 16, 0.5, runOverlap});
  result.push_back({"init", "Creation of communicators over 2, 4, 8, ... and all ranks.",
                    "Rows: init_first, the first communicator of the process; init_later, one made "
                    "and freed again (MPI: MPI_Comm_dup; NCCL: ncclCommInitRank with an id of its "
                    "own); init_split, one made from each half of "
                    "the ranks (MPI: MPI_Comm_split); init_cached, rondoCommFromMPI of an MPI_Comm "
                    "that has one. Times are of the creation alone, on --memory device with each "
                    "rank's CUDA context there already. ",
                    kTakesMeasuring | kTakesMemory, 0, 0, 2, 0.5, runInit});
  result.push_back(
      {"all", "A summary of everything, within two minutes.",
       "Every benchmark at a few sizes, sum; --in-place where it is allowed. With --memory device "
       "those that it has. ",
       kTakesMeasuring | kTakesSizes | kTakesTypes | kTakesDevice | kTakesRoot | kTakesWindow |
           kTakesInPlace,
       8, 2 * kMiB, 64, 0.2, runAll});
  result.push_back({"compare", "The times of two files of --json, row by row.", "", kTakesFiles, 0,
                    0, 2, 0, [](const Options& options) { return runCompare(options.compare); }});
  return result;
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> kCommands = makeCommands();
  return kCommands;
}

}  // namespace rondo::bench

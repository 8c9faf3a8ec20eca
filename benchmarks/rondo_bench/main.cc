// rondo-bench: times Rondo's collectives, checks their results, and compares them with others.

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

#include "base/standard_output.h"
#include "commands.h"
#include "errors.h"
#include "options.h"

namespace {

using namespace rondo::bench;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int rankOf(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// Whether all ranks get here within a few seconds; a rank that does not fail never does.
bool allRanksFail(MPI_Comm control) {
  constexpr auto kPatience = std::chrono::seconds(5);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  MPI_Request request;
  MPI_Ibarrier(control, &request);
  for (int done = 0; std::chrono::steady_clock::now() < end;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// Ends a failed run with its sentence: once and quietly where all ranks failed, else the ranks
/// that wait for this one have to be stopped.
int fail(MPI_Comm control, const std::string& sentence, int status) {
  const int rank = rankOf(control);
  const bool all = allRanksFail(control);
  if (all && rank == 0) std::fprintf(stderr, "rondo-bench: %s\n", sentence.c_str());
  if (!all) {
    std::fprintf(stderr, "rondo-bench: rank %d: %s\n", rank, sentence.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  return status;
}

int runCommand(const Options& options) {
  for (const Command& command : commands()) {
    if (options.command == command.name) return command.run(options);
  }
  throw UsageError("no command " + options.command);
}

int run(int argc, char** argv, MPI_Comm control) {
  try {
    const CommandLine line = parseCommandLine(argc, argv);
    if (!line.text) return runCommand(line.options);
    if (rankOf(control) == 0) std::fputs(line.text->c_str(), stdout);
    return 0;
  } catch (const UsageError& error) {
    return fail(control, error.what(), kUsage);
  } catch (const std::exception& error) {
    return fail(control, error.what(), kFailed);
  }
}

/// Comparing files needs no MPI job: works where mpirun does not, too.
int runAlone(int argc, char** argv) {
  try {
    const CommandLine line = parseCommandLine(argc, argv);
    if (!line.text) return runCommand(line.options);
    std::fputs(line.text->c_str(), stdout);
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "rondo-bench: %s\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rondo-bench: %s\n", error.what());
    return kFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "compare") {
    return rondo::statusOfOutput("rondo-bench", runAlone(argc, argv), kFailed);
  }
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  MPI_Comm control = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  const int status = rondo::statusOfOutput("rondo-bench", run(argc, argv, control), kFailed);
  MPI_Comm_free(&control);
  MPI_Finalize();
  return status;
}

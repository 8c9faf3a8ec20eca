// Times calls on device memory over hosts, in graphs. Apart from what can be tested without a GPU.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "api/rondo.h"
#include "base/error.h"
#include "coll/communicator.h"
#include "coll/device_runner.h"
#include "tune_device_graph.h"
#include "tune_levels.h"
#include "tune_trials.h"

namespace rondo::tune {
namespace {

/// A communicator takes a part of the device for itself, so there is one at a time: first one way,
/// then the other, again and again, so that what disturbs the machine disturbs both.
constexpr int kTurns = 3;
constexpr int kLeastSamples = 2;

int deviceOf(const ForcedComm& comm) {
  int ordinal = RONDO_DEVICE_NONE;
  if (rondoCommCuDevice(comm.handle(), &ordinal) != rondoSuccess || ordinal < 0) {
    throw Error(rondoInternalError, rondoGetLastError(comm.handle()));
  }
  return ordinal;
}

/// Why calls of this communicator have one way only.
std::string onlyOneWay(const Communicator& comm) {
  int most = comm.place().localSize, least = -most;
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (-least != most) {
    return format("some host has %d ranks and some other %d", -least, most);
  }
  if (most == 1) return "every host has one rank";
  return "some host's ranks have no kernels among themselves (RONDO_LOG=info says why)";
}

/// Over a slow network a turn takes long.
void sayTurn(int turn, bool inLevels, double seconds) {
  std::printf("turn %d of %d, %s: %.1f s\n", turn + 1, 2 * kTurns,
              inLevels ? "in levels" : "by way of host memory", seconds);
  std::fflush(stdout);
}

/// `times`: picoseconds, of one turn.
void sayGraph(const LevelsObservation& o, const std::vector<double>& times, const Graph& graph) {
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  std::printf(
      "  %-13s %9llu B %-6s %3zu graphs, us a call: %.2f to %.2f, median %.2f; by the host's "
      "clock at most %.0f us to launch one, %.0f to its end\n",
      collectiveName(o.collective), static_cast<unsigned long long>(o.count * kLevelsElement),
      o.inLevels ? "levels" : "host", times.size(), *least * 1e-6, *most * 1e-6,
      medianOf(times) * 1e-6, graph.host().launch * 1e6, graph.host().whole * 1e6);
  std::fflush(stdout);
}

}  // namespace

LevelsJob levelsJob() {
  const ForcedComm comm("", RONDO_DEVICE_AUTO);
  const DeviceRunner* const runner = comm.impl().deviceRunner();
  if (runner == nullptr) {
    throw Error(rondoInvalidArgument,
                format("--memory is device, but %s; allowed here: host and rondo",
                       comm.impl().whyNoDevice().c_str()));
  }
  if (runner->levels() == nullptr) {
    throw Error(rondoInvalidArgument,
                format("--memory is device, but %s: all calls go by way of host memory there, and "
                       "there is nothing to choose; allowed over several hosts: as many ranks on "
                       "each, two or more, with GPUs that reach each other",
                       onlyOneWay(comm.impl()).c_str()));
  }
  LevelsJob job{*runner->levels(), comm.impl().costsSource()};
  std::erase_if(job.facts.tune, [](const TuneRule& rule) { return rule.device; });
  return job;
}

void timeLevels(std::vector<LevelsObservation>* trials, double seconds, bool verbose) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  uint64_t longest = 0;
  for (const LevelsObservation& o : *trials) {
    longest = std::max(longest, o.count * kLevelsElement * static_cast<uint64_t>(ranks));
  }
  const double each = seconds / kTurns / static_cast<double>(std::max<size_t>(trials->size(), 1));
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceAreas> areas;
  std::vector<std::vector<double>> times(trials->size());
  for (int turn = 0; turn < 2 * kTurns; ++turn) {
    const bool inLevels = turn % 2 != 0;
    const double begin = MPI_Wtime();
    const ForcedComm comm(levelsRules(inLevels), RONDO_DEVICE_AUTO);
    if (device == nullptr) {
      device = std::make_unique<Device>(deviceOf(comm));
      areas = std::make_unique<DeviceAreas>(*device, longest);
    }
    for (size_t i = 0; i < trials->size(); ++i) {
      const LevelsObservation& o = (*trials)[i];
      if (o.inLevels != inLevels) continue;
      const Graph graph(*device, {o.collective, o.count, ranks, false, isRooted(o.collective)},
                        comm.handle(), *areas);
      const std::vector<double> more = timesOf(graph, each, kLeastSamples);
      if (verbose && rank == 0) sayGraph(o, more, graph);
      times[i].insert(times[i].end(), more.begin(), more.end());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) sayTurn(turn, inLevels, MPI_Wtime() - begin);
  }
  for (size_t i = 0; i < trials->size(); ++i) (*trials)[i].picoseconds = medianOf(times[i]);
}

}  // namespace rondo::tune

// Times kernels in graphs. Apart from what can be tested without a GPU.

#include <mpi.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "coll/communicator.h"
#include "coll/device_runner.h"
#include "tune_device.h"
#include "tune_device_graph.h"
#include "tune_trials.h"

namespace rondo::tune {
namespace {

constexpr int kLeastSamples = 12;

/// The same answer on all ranks: a communicator has devices or none.
int deviceOf(const ForcedComm& comm) {
  int ordinal = RONDO_DEVICE_NONE;
  if (rondoCommCuDevice(comm.handle(), &ordinal) != rondoSuccess || ordinal < 0) {
    throw Error(rondoInvalidArgument,
                "--memory is device, but the ranks have no GPUs that reach each other; allowed "
                "here: host and rondo");
  }
  if (comm.impl().deviceRunner()->throughHost()) {
    throw Error(rondoInvalidArgument,
                "--memory is device, but the ranks' GPUs meet in host memory (RONDO_P2P=off, or "
                "they do not reach each other); what is measured is GPUs that do; allowed here: "
                "host and rondo");
  }
  return ordinal;
}

/// Trials that one communicator can be told apart: of a collective and size each has one rule. A
/// communicator takes a part of the device for itself, so there is one at a time.
std::vector<std::vector<size_t>> passesOf(const std::vector<DeviceObservation>& trials) {
  std::vector<std::vector<size_t>> passes;
  for (size_t i = 0; i < trials.size(); ++i) {
    const auto clashes = [&](size_t other) {
      return !trials[i].rules.empty() &&
             trials[other].request.collective == trials[i].request.collective &&
             trials[other].request.count == trials[i].request.count;
    };
    auto pass = std::find_if(passes.begin(), passes.end(), [&](const std::vector<size_t>& mine) {
      return std::none_of(mine.begin(), mine.end(), clashes);
    });
    if (pass == passes.end()) pass = passes.emplace(passes.end());
    pass->push_back(i);
  }
  return passes;
}

}  // namespace

DeviceJob deviceJob() {
  const ForcedComm comm("", RONDO_DEVICE_AUTO);
  deviceOf(comm);
  DeviceJob job{*comm.impl().deviceRunner()->deviceFacts(), comm.impl().costsSource()};
  MPI_Barrier(MPI_COMM_WORLD);
  return job;
}

void timeOnDevices(std::vector<DeviceObservation>* trials, double seconds) {
  uint64_t longest = 0;
  for (const DeviceObservation& o : *trials) {
    const auto ranks = static_cast<uint64_t>(o.facts.ranks);
    longest = std::max<uint64_t>(longest, o.request.count * o.request.elementBytes * ranks);
  }
  const double each = seconds / static_cast<double>(std::max<size_t>(trials->size(), 1));
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceAreas> areas;
  for (const std::vector<size_t>& pass : passesOf(*trials)) {
    std::string rules;
    for (const size_t i : pass) {
      const std::string rule = ruleOf((*trials)[i]);
      if (!rule.empty()) rules += (rules.empty() ? "" : ",") + rule;
    }
    const ForcedComm comm(rules, RONDO_DEVICE_AUTO);
    if (device == nullptr) {
      device = std::make_unique<Device>(deviceOf(comm));
      areas = std::make_unique<DeviceAreas>(*device, longest);
    }
    for (const size_t i : pass) {
      DeviceObservation& trial = (*trials)[i];
      const Graph graph(
          *device,
          {trial.request.collective, trial.request.count, trial.facts.ranks, trial.message},
          comm.handle(), *areas);
      trial.picoseconds = medianOf(timesOf(graph, each, kLeastSamples));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

}  // namespace rondo::tune

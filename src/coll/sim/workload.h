#pragma once
// A training step as SimAI and ASTRA-sim write it down: a line of parallelism, the number of
// layers, and a line for each layer.

#include <cstdint>
#include <string>
#include <vector>

#include "coll/plan.h"
#include "coll/sim/job.h"

namespace rondo::sim {

/// Which ranks a layer's call is made by.
enum class CommGroup : uint8_t { All, Model, Data, Expert, DataExpert };
constexpr int kCommGroups = 5;
const char* commGroupName(CommGroup group);

struct LayerComm {
  bool none = true;
  Collective collective = Collective::AllReduce;
  CommGroup group = CommGroup::All;
  uint64_t bytes = 0;
};

/// Computing is in nanoseconds.
struct Layer {
  std::string name;
  uint64_t forward = 0, inputGradient = 0, weightGradient = 0;
  uint64_t update = 0;  ///< Of the weights, after the weight gradient's call.
  LayerComm forwardComm, inputComm, weightComm;
};

struct Workload {
  std::string policy;  ///< "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
  int model = 1, expert = 1, pipeline = 1, virtualStages = 1, accumulation = 1;
  int ranks = 0;  ///< 0: not said.
  /// Numbers of layers, from 0. Before the backward pass of a layer in `initiates` the layers from
  /// the nearest checkpoint at or before it are computed again, up to it and without it.
  std::vector<int> checkpoints, initiates;
  uint64_t pipelineBytes = 0;
  std::vector<Layer> layers;
  /// By pipeline stage: how many of the layers it has, in their order. Empty: all stages have all.
  std::vector<int> layersOfStages;

  /// A layer's weight gradient comes before its input gradient.
  bool weightFirst() const { return policy == "DATA"; }
  /// The first of the layers that are computed again before layer `i` goes backwards; `i`: none.
  size_t againFrom(size_t i) const;
};

constexpr size_t kMostWorkloadBytes = 64u << 20;
constexpr size_t kMostLayers = 1'000'000;

/// `name` is the file's, for sentences. Throws Error(rondoInvalidArgument): file, line, what stands
/// there, what was expected.
Workload parseWorkload(const std::string& text, const std::string& name);

/// The parts of `ranks` ranks that make a call of `group`: model-parallel ranks follow each other,
/// then data-parallel ones, of which neighbours are an expert group, then pipeline stages. Throws
/// Error(rondoInvalidArgument) if the numbers do not divide `ranks`.
Parts partsOf(const Workload& workload, CommGroup group, int ranks);

}  // namespace rondo::sim

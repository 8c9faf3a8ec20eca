#pragma once
// A training step's time on a machine: computing, calls, and what of the calls nothing hides.

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "coll/sim/pipeline.h"
#include "coll/sim/rehearsal.h"
#include "coll/sim/workload.h"

namespace rondo::sim {

/// Times of a layer's calls, whether hidden or not.
struct LayerTimes {
  Time forwardComm = 0, inputComm = 0, weightComm = 0;
  Time exposed = 0;  ///< For which this layer's calls keep the step waiting.
};

/// A call that layers make, all that are equal once.
struct WorkloadCall {
  CommGroup group;
  CallShape shape;
  int ranks;     ///< Of a part.
  size_t parts;  ///< That make it at the same time.
  size_t times;
  const char* algorithm;
  Time time;
  bool seenFull = true;    ///< As Result::seenFull.
  bool predicted = false;  ///< As Outcome::predicted.
  int fewerHosts = 0;      ///< As Outcome::fewerHosts.
};

struct WorkloadTimes {
  std::vector<LayerTimes> layers;
  std::vector<WorkloadCall> calls;  ///< In the order in which they are met first.
  int ranks = 0;
  uint64_t stageSends = 0;  ///< Messages between a rank and its like in the next stage and back.
  /// Its `send` is of each of them, all ranks at once.
  Pipeline pipeline;
  PipelineRun run;              ///< Of several stages.
  double silentWait = 0;        ///< The part of the time that they would wait without messages.
  Time compute = 0, total = 0;  ///< Computing is a stage's, in the mean where they differ.
  Time again = 0;               ///< Of computing: layers from a checkpoint on.
  Time exposed() const { return total - compute - run.bubble; }
};

/// One step: all layers forwards, then all backwards. Calls of the forward pass and of input
/// gradients are waited for; those of weight gradients run one after the other beside what follows,
/// and are waited for at the end, where each layer's update of its weights is computed once its
/// call is over. Of a pipeline that is what each of pp equal stages does for its ga micro-batches
/// and vpp virtual stages together: each of them takes an equal part of the forward and of the
/// backward pass (Workload::layersOfStages: each stage does its own layers, and the step ends when
/// the last one does), and stages wait for what the one before them sends (runPipeline()), pp_comm
/// bytes forwards and as many backwards; the wait for weight gradients comes after the last one.
/// `ranks` 0: those the workload names, else all places. Throws Error(rondoInvalidArgument) where
/// workload and machine do not fit.
WorkloadTimes timeWorkload(const Workload& workload, const topo::Graph& graph, int ranks,
                           const Settings& settings);

/// A line for each layer and each call, and the sums.
std::string workloadText(const Workload& workload, const WorkloadTimes& times);

}  // namespace rondo::sim

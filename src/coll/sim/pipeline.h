#pragma once
// Stages of a pipeline that wait for each other: when each does what, and when nothing.

#include <cstdint>
#include <string>
#include <vector>

#include "coll/sim/rehearsal.h"

namespace rondo::sim {

/// Of each micro-batch a stage does `chunks` parts of the model (its virtual stages),
/// one after the other, with all other stages in between.
struct Pipeline {
  int stages = 1, chunks = 1, microBatches = 1;
  Time forward = 0, backward = 0;  ///< Of all of a stage's work together.
  Time send = 0;                   ///< A message to a neighbouring stage.
  /// By stage, where they differ: the same of each. Empty: all are equal.
  struct Stage {
    Time forward = 0, backward = 0;
  };
  std::vector<Stage> each = {};
  Stage of(int stage) const {
    return each.empty() ? Stage{forward, backward} : each[static_cast<size_t>(stage)];
  }
};

/// What a stage does without a stop: a micro-batch's way through one of its chunks.
struct StageWork {
  int stage, microBatch, chunk;
  bool forward;
  Time ready, start, end;  ///< It waited from `ready` to `start`.
};

/// What one stage sends another: activations, or their gradients.
struct StageMessage {
  int from, to;
  Time start, end;
};

struct PipelineRun {
  std::vector<StageWork> work;  ///< Of each stage in its order.
  std::vector<StageMessage> messages;
  std::vector<Time> ends;  ///< By stage: of its last work.
  Time end = 0;
  Time bubble = 0;  ///< That a stage waits for others, in the mean over the stages.
  double waitingPart() const {
    return end == 0 ? 0 : static_cast<double>(bubble) / static_cast<double>(end);
  }
};

constexpr uint64_t kMostStageWork = 4'000'000;

/// One forward, one backward, as Megatron-LM orders them: a stage does as many forwards first as
/// keep those behind it busy, then takes turns, then does the backwards that are left; with chunks
/// interleaved, `stages` micro-batches at a time. A stage begins when the message is there and goes
/// on while its own is under way; a pair's messages in one direction follow each other. Throws
/// Error(rondoInvalidArgument) for more than kMostStageWork.
PipelineRun runPipeline(const Pipeline& pipeline);

/// The part of the time in which equal stages wait if messages take none, and micro-batches are a
/// multiple of the stages or there is one chunk: (p - 1) / (m v + p - 1).
double idealBubble(const Pipeline& pipeline);

/// For Perfetto: a process for each stage, a slice for what it does and for what it waits.
std::string traceJson(const PipelineRun& run);

/// The messages between the ranks of stages, `bytes` each, as transfers over the machine's links,
/// with what these carry when;
/// stages are `ranks of on` / stages ranks each, in their order. Throws Error(rondoInvalidArgument)
/// for more than Settings::mostKept.
Result stageTransfers(const Rehearsal& on, const Pipeline& pipeline, const PipelineRun& run,
                      uint64_t bytes);

}  // namespace rondo::sim

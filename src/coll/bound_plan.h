#pragma once
// A plan with everything looked up that can be before a call: ports instead of ranks, bytes instead
// of elements, functions instead of types and operators.

#include <vector>

#include "coll/plan.h"
#include "coll/reduce/reduce.h"
#include "p2p/channels.h"

namespace rondo {

/// A step as the Runner executes it. Signals and waits are gone: posting a message signals, reading
/// one waits.
struct BoundStep {
  StepKind kind;
  uint8_t bits;
  bool toEveryone;
  bool lands;              ///< A Put whose answer a Fetch of the same block brings, and that Fetch.
  bool runs;               ///< May post, or wait for, the messages of many periods at once; a copy
                           ///< from src to dst: may be done in a later period.
  bool keeps;              ///< A Put whose block the next step, which runs, copies from src to dst.
  SendPort* send;          ///< Where the result goes; nullptr: nowhere. Fetch: if it lands, the
                           ///< port of its Put.
  RecvPort* recv;          ///< Move, Fetch.
  RecvPort* recv2;         ///< Move that joins two messages.
  RecvPort* const* peers;  ///< Reduce, Barrier: one port a rank, nullptr at the own one.
  int lo, hi;              ///< Reduce: the ranks it takes.
  int slot;
  uint64_t offset;     ///< Bytes from the period's start, in the slot.
  uint64_t srcOffset;  ///< The same from the period's start in src, with even slots; likewise dst.
  uint64_t dstOffset;
  uint64_t bytes;
  uint64_t count;     ///< Elements.
  int slots;          ///< `bytes` and `count` are those of all of them (see algo::Block).
  uint64_t srcPitch;  ///< Several slots: bytes from one to the next in src; likewise dst.
  uint64_t dstPitch;
};

struct BoundLane {
  std::vector<BoundStep> full;
  std::vector<BoundStep> last;
};

struct BoundPlan {
  const Algorithm* algorithm;
  uint32_t choice = 0xffff;  ///< The algorithm and its lanes, for OpFacts; not known yet.
  int rank;
  int ranks;
  uint32_t stamp;  ///< Hash of what all ranks must have chosen alike: call, algorithm, geometry.
  std::vector<BoundLane> lanes;
  uint64_t fullPeriods;
  uint64_t periodBytes;
  bool slots;           ///< The collective has slots.
  uint64_t totalBytes;  ///< Of the larger buffer.
  uint64_t elementBytes;
  ReduceFn reduce;   ///< nullptr where nothing is reduced.
  uint32_t divisor;  ///< For ReduceArgs: the number of ranks for rondoAvg, else 0.
  bool tree;         ///< See ReduceArgs::tree.
  ScaleFn scale;     ///< For operators that multiply this rank's input; else nullptr.
  CopyFn copy;
  std::vector<SendPort*> drains;  ///< Every port the plan sends on.
};

/// What binding needs besides the plan.
struct BindContext {
  const Channels* channels;
  CpuLevel cpu;
};

/// `op` counts for reductions only.
BoundPlan bindPlan(const Plan& plan, rondoDataType_t type, rondoRedOp_t op,
                   const BindContext& context);

}  // namespace rondo

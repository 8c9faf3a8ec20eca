#include "coll/runner.h"

#include <algorithm>
#include <utility>

#include "coll/runner_short.h"
#include "coll/staging_copy.h"
#include "coll/uneven_part.h"

namespace rondo {
namespace {

/// Answers in place that a reader lets come before it waits for them, and so those that a sender
/// may tell of at once. Fewer than a channel holds, or both would wait.
constexpr uint32_t kMostOwed = 8;

/// How often a short call looks for a message before the wait loop does.
constexpr uint32_t kShortLooks = 100;

/// Blocks of a run, which its readers release as a whole: until then nothing moves at a rank that
/// only waits for them, as config.timeout sees it. Runs of 16 MiB instead of some 256 made the
/// others of a gather of 64 MiB wait until its root had copied its own part (2 cores, busy,
/// 2026-11-30).
constexpr uint64_t kMostRun = 4096;

}  // namespace

Runner::Runner(int ranks, uint32_t* stamp)
    : scratchInputs_(static_cast<size_t>(std::max(ranks, 3))), stamp_(stamp) {
  lanes_.resize(8);
  for (Lane& lane : lanes_) {
    lane.inputs.resize(static_cast<size_t>(ranks));
    lane.landings.resize(static_cast<size_t>(ranks));
  }
}

void Runner::begin(const BoundPlan& plan, const HostCall& call) {
  plan_ = &plan;
  call_ = call;
  *stamp_ = expected_ = call.stamp;
  mismatch_ = false;
  for (size_t l = 0; l < plan.lanes.size(); ++l) {
    Lane& lane = lanes_[l];
    lane.program = &plan.lanes[l];
    lane.period = 0;
    lane.next = 0;
    lane.base = 0;
    lane.seen = 0;
    lane.kept = 0;
    lane.computed = lane.partly = false;
    if (plan.fullPeriods > 1) lane.counts.assign(lane.program->full.size(), 0);
  }
  fullPeriods_ = plan.fullPeriods;
  if (call.uneven != nullptr) {
    const uint64_t period = plan.periodBytes / plan.elementBytes;
    fullPeriods_ = (call.uneven->most + period - 1) / period;
  }
}

bool Runner::poll(bool* moved) {
  bool done = true;
  for (size_t l = 0; l < plan_->lanes.size(); ++l) {
    bool laneDone = false;
    *moved |= advance(lanes_[l], &laneDone);
    done &= laneDone;
  }
  return done && drained(moved);
}

RunResult Runner::run(const BoundPlan& plan, const HostCall& call, const WaitPolicy& policy) {
  size_t done = 0;
  if (const auto* const steps = shortSteps(plan, call)) {
    plan_ = &plan;
    done = runShort(plan, call, stamp_, std::min(policy.spinsBeforeYield, kShortLooks));
    bool moved = false;
    if (done == steps->size() && drained(&moved)) [[likely]] {
      plan_ = nullptr;  // who asks for positions later finds none
      return RunResult::Ok;
    }
  }
  begin(plan, call);
  lanes_.front().next = done;
  return waitUntil(policy, [this](bool* moved) -> std::optional<RunResult> {
    if (poll(moved)) return RunResult::Ok;
    if (mismatch_) [[unlikely]]
      return RunResult::Mismatch;
    return std::nullopt;
  });
}

namespace {

/// Of a step that could not go on: the port that it peeked at in vain.
const RecvPort* missingOf(const BoundStep& step, int seen, int ranks) {
  switch (step.kind) {
    case StepKind::Reduce:
    case StepKind::Barrier:
      return seen < ranks ? step.peers[seen] : nullptr;
    case StepKind::Fetch:
    case StepKind::Move: {
      Message message;
      for (RecvPort* port : {step.recv, step.recv2}) {
        if (port != nullptr && !port->tryPeek(&message)) return port;
      }
      return nullptr;
    }
    default:
      return nullptr;
  }
}

}  // namespace

size_t Runner::positions(std::span<Position> out) const {
  size_t there = 0;
  const size_t lanes = plan_ != nullptr ? plan_->lanes.size() : 0;
  for (size_t i = 0; i < lanes && there < out.size(); ++i) {
    const Lane& lane = lanes_[i];
    if (lane.period > fullPeriods_) continue;
    const auto& steps = lane.period < fullPeriods_ ? lane.program->full : lane.program->last;
    const BoundStep* const at = lane.next < steps.size() ? &steps[lane.next] : nullptr;
    const bool rest = !lane.program->last.empty();
    out[there++] = {static_cast<int>(i),
                    lane.period,
                    fullPeriods_ + (rest ? 1 : 0),
                    lane.next,
                    steps.size(),
                    at,
                    at == nullptr ? nullptr : missingOf(*at, lane.seen, plan_->ranks)};
  }
  return there;
}

/// The next message of `port`, if it is there and belongs to this call.
bool Runner::peek(RecvPort* port, Message* message, uint64_t bytes) {
  if (!port->tryPeek(message)) return false;
  const bool whole = message->bytes == bytes || message->bytes == 0;  // 0: it landed
  if (message->stamp == expected_ && whole) [[likely]]
    return true;
  mismatch_ = true;
  return false;
}

/// `moved` is set if readers have gone on since the last look.
bool Runner::drained(bool* moved) {
  for (SendPort* port : plan_->drains) {
    if (port->drained()) continue;
    *moved |= std::exchange(released_, port->released()) != port->released();
    return false;
  }
  return true;
}

/// Runs the lane until it has to wait or ends; says whether anything was done.
bool Runner::advance(Lane& lane, bool* done) {
  bool moved = false;
  while (lane.period <= fullPeriods_) {
    const auto& steps = lane.period < fullPeriods_ ? lane.program->full : lane.program->last;
    while (lane.next < steps.size()) {
      const BoundStep& step = steps[lane.next];
      const bool ran = call_.uneven == nullptr ? execute(lane, step) : executeUneven(lane, step);
      moved |= ran || std::exchange(lane.partly, false);
      if (!ran) return copyLate(lane) || moved;
      ++lane.next;
      lane.seen = 0;
      lane.computed = lane.partly = false;
    }
    ++lane.period;
    lane.next = 0;
    lane.base += plan_->periodBytes;
    lane.kept >>= 1;
  }
  while (copyLate(lane)) moved = true;
  *done = true;
  return moved;
}

bool Runner::execute(Lane& lane, const BoundStep& step) {
  switch (step.kind) {
    case StepKind::Put:
      return put(lane, step);
    case StepKind::Reduce:
      return reduce(lane, step);
    case StepKind::Fetch:
      return fetch(lane, step);
    case StepKind::Move:
      return move(lane, step);
    case StepKind::Barrier:
      return barrier(lane, step);
    case StepKind::Signal:
    case StepKind::Wait:
      break;
  }
  return true;
}

/// With slots of different lengths: the step's part of its slot, nothing where the slot has ended.
/// Sender and reader know the slot's length both, and leave out the same steps.
bool Runner::executeUneven(Lane& lane, const BoundStep& step) {
  const UnevenPart its =
      unevenPart(step, *call_.uneven, lane.base + step.offset, plan_->elementBytes);
  if (its.ended) return true;
  BoundStep part = step;
  part.count = its.count;
  part.bytes = its.count * plan_->elementBytes;
  part.srcOffset = its.srcOffset;
  part.dstOffset = its.dstOffset;
  part.lands = false;
  *stamp_ = expected_ = stampOf(call_, its.slotCount);
  return execute(lane, part);
}

/// Where in dst the answer to a put may be written by the peer; nullptr where it comes as a
/// message. Put and Fetch of a block ask with the same values and get the same answer.
char* Runner::landing(const BoundStep& step, uint64_t base) const {
  char* dst = call_.dst + base + step.dstOffset;
  const bool usable =
      step.lands && step.bytes >= kLeastInPlace && step.send->reaches(dst, step.bytes);
  return usable ? dst : nullptr;
}

bool Runner::postsDst(const BoundStep& step, const char* dst) const {
  return step.bytes >= kLeastInPlace && step.send->reaches(dst, step.bytes);
}

/// What a step that runs over full periods counts; nullptr where it does not.
uint32_t* Runner::countOf(Lane& lane, const BoundStep& step) const {
  return counts(lane, step) ? &lane.counts[lane.next] : nullptr;
}

bool Runner::counts(const Lane& lane, const BoundStep& step) const {
  return step.runs && lane.period < fullPeriods_ && plan_->fullPeriods > 1 &&
         call_.uneven == nullptr;
}

/// Posts a block, in place those of the full periods behind it too: then their Puts are done.
bool Runner::put(Lane& lane, const BoundStep& step) {
  const char* src = call_.src + lane.base + step.srcOffset;
  char* const answer = landing(step, lane.base);
  uint32_t* const posted = countOf(lane, step);
  if (posted != nullptr && *posted > 0) {
    --*posted;
    return true;
  }
  if (posted != nullptr && call_.announceSrc && step.bytes >= kLeastInPlace) {
    const uint64_t blocks = std::min(fullPeriods_ - lane.period, kMostRun);
    const uint64_t span = (blocks - 1) * plan_->periodBytes + step.bytes;
    if (step.send->reaches(src, span) && (answer == nullptr || step.send->reaches(answer, span))) {
      const Run run{static_cast<uint32_t>(blocks), plan_->periodBytes};
      if (!step.send->tryPostInPlace(src, step.bytes, answer, run)) return false;
      *posted = run.blocks - 1;
      return true;
    }
  }
  if (!putBlock(lane, step, 0, answer)) return false;
  // The next block goes into staging, too, while there is room: its readers find it there when they
  // come, and nothing that this rank waits for meanwhile keeps it from that.
  const bool another = posted != nullptr && lane.period + 1 < fullPeriods_;
  if (another && !step.lands && plan_->lanes.size() == 1) {
    *posted = putBlock(lane, step, 1, nullptr) ? 1 : 0;
  }
  return true;
}

/// Takes the messages that say that blocks have landed, as they come, until at most `most` are
/// owed.
bool Runner::takeLanded(Lane& lane, const BoundStep& step, uint32_t* owed, uint32_t most) {
  Message message;
  while (*owed > 0 && peek(step.recv, &message, step.bytes)) {
    step.recv->release();
    lane.partly = true;
    --*owed;
  }
  return *owed <= most;
}

bool Runner::fetch(Lane& lane, const BoundStep& step) {
  uint32_t* const owed = countOf(lane, step);
  if (owed != nullptr && landing(step, lane.base) != nullptr) {
    if (!std::exchange(lane.computed, true)) ++*owed;
    return takeLanded(lane, step, owed, lane.period + 1 < fullPeriods_ ? kMostOwed - 1 : 0);
  }
  if (owed != nullptr && !takeLanded(lane, step, owed, 0)) return false;
  Message message;
  if (!peek(step.recv, &message, step.bytes)) return false;
  if (landing(step, lane.base) == nullptr) {
    plan_->copy(call_.dst + lane.base + step.dstOffset, nullptr, message.data, step.bytes,
                rondo::toUser(message, call_.stream));
  }
  step.recv->release();
  return true;
}

/// Gathers the addresses of all ranks' contributions, as they come.
bool Runner::collectInputs(Lane& lane, const BoundStep& step) {
  const int n = plan_->ranks;
  if (lane.seen == 0) lane.left = UINT32_MAX;
  for (; lane.seen < n; ++lane.seen) {
    RecvPort* port = step.peers[lane.seen];
    if (port == nullptr) {
      lane.inputs[static_cast<size_t>(lane.seen)] = call_.src + lane.base + step.srcOffset;
      lane.landings[static_cast<size_t>(lane.seen)] = nullptr;
      continue;
    }
    Message message;
    if (!peek(port, &message, step.bytes)) return false;
    lane.inputs[static_cast<size_t>(lane.seen)] = message.data;
    lane.landings[static_cast<size_t>(lane.seen)] = message.landing;
    lane.left = std::min(lane.left, message.left);
  }
  return true;
}

/// A reduction whose result is not kept: it goes to one rank, or there is none and the messages are
/// only taken.
bool Runner::reduceAway(Lane& lane, const BoundStep& step) {
  if (!collectInputs(lane, step)) return false;
  if ((step.bits & algo::kSend) != 0) {
    void* space = step.send->tryAcquire(step.bytes);
    if (space == nullptr) return false;
    reduceInto(nullptr, space, lane.inputs.data() + step.lo, step.hi - step.lo, ownInput(step),
               step, plan_->divisor);
    step.send->post(step.bytes, nullptr);
  }
  releaseInputs(step);
  return true;
}

void Runner::releaseInputs(const BoundStep& step) {
  for (int r = 0; r < plan_->ranks; ++r) {
    if (step.peers[r] != nullptr) step.peers[r]->release();
  }
}

/// Reduces into dst, and hands the result on: straight into the memory of the peers that said
/// where, through a message to the others.
bool Runner::reduce(Lane& lane, const BoundStep& step) {
  if ((step.bits & algo::kDst) == 0) return reduceAway(lane, step);
  char* dst = call_.dst + lane.base + step.dstOffset;
  if ((step.bits & algo::kSend) == 0) {
    if (!collectInputs(lane, step)) return false;
    combine(lane, step, dst, nullptr);
    return true;
  }
  if (lane.computed) return tell(lane, step, dst);
  if (!collectInputs(lane, step)) return false;
  const bool allLand = landingsOf(lane, step) == plan_->ranks - 1;
  if (allLand && countOf(lane, step) != nullptr) {
    combine(lane, step, dst, nullptr);
    lane.computed = lane.partly = true;
    ++*countOf(lane, step);
    return tell(lane, step, dst);
  }
  const bool inPlace = !allLand && postsDst(step, dst);
  const size_t bytes = allLand ? 0 : step.bytes;
  void* space = nullptr;
  if (!inPlace && (space = step.send->tryAcquire(bytes)) == nullptr) return false;
  combine(lane, step, dst, allLand ? nullptr : space);
  if (!inPlace) {
    step.send->post(bytes, nullptr);
    return true;
  }
  lane.computed = lane.partly = true;
  return tell(lane, step, dst);
}

/// Posts a result that lies in dst. Of blocks that have landed the readers are told several at
/// once, but at the latest of their runs' last.
bool Runner::tell(Lane& lane, const BoundStep& step, const char* dst) {
  uint32_t* const landed = countOf(lane, step);
  if (landed == nullptr || *landed == 0) {
    return step.send->tryPostInPlace(dst, step.bytes, nullptr, {});
  }
  if (lane.left > 0 && *landed < kMostOwed) return true;
  if (!step.send->tryPostInPlace(dst, 0, nullptr, {*landed, 0})) return false;
  *landed = 0;
  return true;
}

int Runner::landingsOf(const Lane& lane, const BoundStep& step) const {
  int count = 0;
  for (int r = 0; r < plan_->ranks; ++r) {
    count += step.peers[r] != nullptr && lane.landings[static_cast<size_t>(r)] != nullptr ? 1 : 0;
  }
  return count;
}

bool Runner::move(Lane& lane, const BoundStep& step) {
  if (step.slots > 1) return moveSlots(lane, step);
  const int bits = step.bits;
  if (bits == (algo::kSrc | algo::kSend)) {
    return postSource(step, call_.src + lane.base + step.srcOffset, nullptr);
  }
  if (bits == (algo::kSrc | algo::kDst) && plan_->scale == nullptr) {
    if (uint32_t* const owed = countOf(lane, step)) {
      *owed += 1 - (lane.kept & 1);
      return true;
    }
  }
  char* dst = (bits & algo::kDst) != 0 ? call_.dst + lane.base + step.dstOffset : nullptr;
  if (bits == (algo::kOwn | algo::kSend)) {
    void* space = step.send->tryAcquire(step.bytes);
    if (space == nullptr) return false;
    copyToStaging(plan_->copy, *step.send, space, call_.dst + lane.base + step.dstOffset,
                  step.bytes);
    step.send->post(step.bytes, nullptr);
    return true;
  }
  const bool sends = (bits & algo::kSend) != 0;
  const bool alike = (bits & (algo::kOwn | algo::kBefore)) == 0;  // dst keeps what is sent
  const bool inPlace = sends && dst != nullptr && alike && postsDst(step, dst);
  if (!lane.computed) {
    Message messages[2] = {};
    if ((bits & algo::kRecv) != 0 && !peek(step.recv, &messages[0], step.bytes)) return false;
    if (step.recv2 != nullptr && !peek(step.recv2, &messages[1], step.bytes)) return false;
    void* space = nullptr;
    if (sends && !inPlace && (space = step.send->tryAcquire(step.bytes)) == nullptr) return false;
    compute(lane, step, messages, dst, space);
    if ((bits & algo::kRecv) != 0) step.recv->release();
    if (step.recv2 != nullptr) step.recv2->release();
    lane.computed = lane.partly = true;
  }
  return !inPlace || step.send->tryPostInPlace(dst, step.bytes, nullptr, {});
}

bool Runner::barrier(Lane& lane, const BoundStep& step) {
  if (!lane.computed) {
    if (step.send->tryAcquire(0) == nullptr) return false;
    step.send->post(0, nullptr);
    lane.computed = lane.partly = true;
  }
  for (; lane.seen < plan_->ranks; ++lane.seen) {
    RecvPort* port = step.peers[lane.seen];
    if (port == nullptr) continue;
    Message message;
    if (!peek(port, &message, step.bytes)) return false;
    port->release();
    lane.partly = true;
  }
  return true;
}

}  // namespace rondo

#include "coll/runner.h"

#include <algorithm>
#include <utility>

namespace rondo {
namespace {

/// Below this many bytes a copy costs less than waiting for the readers at the end of the call.
constexpr uint64_t kLeastInPlace = 4096;

/// From this many bytes on a result that goes to staging is made in a scratch and copied from
/// there. 4 MiB of all-reduce in two shots: 0.69 of the time where cores share no cache, else 0.97
/// (2 cores of an EPYC, 2026-11-21). A result for dst alone is made there: through the scratch it
/// took 1.2 x.
constexpr uint64_t kLeastDetour = 4096;

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
    lane.computed = false;
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
  return done && drained();
}

RunResult Runner::run(const BoundPlan& plan, const HostCall& call, const WaitPolicy& policy) {
  begin(plan, call);
  return waitUntil(policy, [this](bool* moved) -> std::optional<RunResult> {
    if (poll(moved)) return RunResult::Ok;
    if (mismatch_) [[unlikely]]
      return RunResult::Mismatch;
    return std::nullopt;
  });
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

bool Runner::drained() const {
  for (SendPort* port : plan_->drains) {
    if (!port->drained()) return false;
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
      if (!ran) return moved;
      ++lane.next;
      lane.seen = 0;
      lane.computed = false;
      moved = true;
    }
    ++lane.period;
    lane.next = 0;
    lane.base += plan_->periodBytes;
  }
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
  const UnevenSlots& slots = *call_.uneven;
  const size_t slot = static_cast<size_t>(step.slot);
  const uint64_t element = plan_->elementBytes;
  const bool arrives = (step.bits & (algo::kDst | algo::kOwn)) != 0 || step.kind == StepKind::Fetch;
  const uint64_t count = arrives ? slots.dstCounts[slot] : slots.srcCounts[slot];
  const uint64_t begin = (lane.base + step.offset) / element;
  if (begin >= count) return true;
  BoundStep part = step;
  part.count = std::min(step.count, count - begin);
  part.bytes = part.count * element;
  part.srcOffset = step.offset + slots.srcDispls[slot] * element;
  part.dstOffset = step.offset + slots.dstDispls[slot] * element;
  part.lands = false;
  // The slot's whole length goes with each message, so that the first one tells of a difference.
  *stamp_ = expected_ = call_.stamp ^ static_cast<uint32_t>(count * 0x9e3779b97f4a7c15u >> 32);
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

/// Posts a block of src: where it is, if the readers can see it there, else a copy.
bool Runner::postSource(const BoundStep& step, const char* src, void* answer) {
  if (call_.announceSrc && step.bytes >= kLeastInPlace && step.send->reaches(src, step.bytes)) {
    return step.send->tryPostInPlace(src, step.bytes, answer);
  }
  void* space = step.send->tryAcquire(step.bytes);
  if (space == nullptr) return false;
  if (plan_->scale != nullptr) [[unlikely]] {
    plan_->scale(space, src, plan_->scalar, step.count);
  } else {
    plan_->copy(space, nullptr, src, step.bytes, CopyTo::kStaging);
  }
  step.send->post(step.bytes, answer);
  return true;
}

bool Runner::postsDst(const BoundStep& step, const char* dst) const {
  return step.bytes >= kLeastInPlace && step.send->reaches(dst, step.bytes);
}

bool Runner::put(const Lane& lane, const BoundStep& step) {
  return postSource(step, call_.src + lane.base + step.srcOffset, landing(step, lane.base));
}

bool Runner::fetch(const Lane& lane, const BoundStep& step) {
  Message message;
  if (!peek(step.recv, &message, step.bytes)) return false;
  if (landing(step, lane.base) == nullptr) {
    plan_->copy(call_.dst + lane.base + step.dstOffset, nullptr, message.data, step.bytes,
                toUser());
  }
  step.recv->release();
  return true;
}

/// Gathers the addresses of all ranks' contributions, as they come.
bool Runner::collectInputs(Lane& lane, const BoundStep& step) {
  const int n = plan_->ranks;
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
  if (lane.computed) return step.send->tryPostInPlace(dst, step.bytes, nullptr);
  if (!collectInputs(lane, step)) return false;
  const bool allLand = landingsOf(lane, step) == plan_->ranks - 1;
  const bool inPlace = !allLand && postsDst(step, dst);
  const size_t bytes = allLand ? 0 : step.bytes;
  void* space = nullptr;
  if (!inPlace && (space = step.send->tryAcquire(bytes)) == nullptr) return false;
  combine(lane, step, dst, allLand ? nullptr : space);
  if (!inPlace) {
    step.send->post(bytes, nullptr);
    return true;
  }
  lane.computed = true;
  return step.send->tryPostInPlace(dst, step.bytes, nullptr);
}

int Runner::landingsOf(const Lane& lane, const BoundStep& step) const {
  int count = 0;
  for (int r = 0; r < plan_->ranks; ++r) {
    count += step.peers[r] != nullptr && lane.landings[static_cast<size_t>(r)] != nullptr ? 1 : 0;
  }
  return count;
}

ReduceArgs Runner::arguments(void* first, void* second, const void* const* inputs, int n, int own,
                             const BoundStep& step, uint32_t divisor, bool stream) const {
  ReduceArgs args{first, second, inputs, n, step.count, divisor, stream};
  args.tree = plan_->tree;
  if (plan_->scale != nullptr) [[unlikely]] {
    args.scaled = own;
    args.scalar = plan_->scalar;
  }
  return args;
}

/// Which input of a Reduce step is this rank's src; -1: none.
int Runner::ownInput(const BoundStep& step) const {
  return step.lo <= plan_->rank && plan_->rank < step.hi ? plan_->rank - step.lo : -1;
}

/// dst (or nullptr) and `space` (or nullptr) = the reduction of the inputs, of which number `own`
/// (-1: none) is this rank's src.
void Runner::reduceInto(char* dst, void* space, const void* const* inputs, int n, int own,
                        const BoundStep& step, uint32_t divisor) {
  if (space != nullptr && step.bytes >= kLeastDetour) {
    return reduceThroughScratch(dst, space, inputs, n, own, step, divisor);
  }
  void* const first = dst == nullptr ? space : dst;
  void* const second = dst == nullptr ? nullptr : space;
  plan_->reduce(
      arguments(first, second, inputs, n, own, step, divisor, call_.stream && space == nullptr));
}

/// Part by part into a scratch that stays in the first cache, and from there to both: a string copy
/// takes lines that another core holds without reading them, a reduction cannot.
void Runner::reduceThroughScratch(char* dst, void* space, const void* const* inputs, int n, int own,
                                  const BoundStep& step, uint32_t divisor) {
  const void** parts = scratchInputs_.data();
  for (uint64_t done = 0; done < step.bytes; done += kScratchBytes) {
    const uint64_t bytes = std::min<uint64_t>(kScratchBytes, step.bytes - done);
    for (int k = 0; k < n; ++k) parts[k] = static_cast<const char*>(inputs[k]) + done;
    BoundStep part = step;
    part.count = bytes / plan_->elementBytes;
    plan_->reduce(arguments(scratch_.bytes, nullptr, parts, n, own, part, divisor, false));
    plan_->copy(static_cast<char*>(space) + done, nullptr, scratch_.bytes, bytes, CopyTo::kStaging);
    if (dst != nullptr) plan_->copy(dst + done, nullptr, scratch_.bytes, bytes, CopyTo::kUser);
  }
}

/// dst and `space` (if any) = all ranks' inputs, in rank order; then the landings; then the inputs'
/// messages are released.
void Runner::combine(Lane& lane, const BoundStep& step, char* dst, void* space) {
  const int n = plan_->ranks;
  const void* const* inputs = lane.inputs.data() + step.lo;
  int landed = 0;  // landings below are done
  if (space == nullptr && call_.stream) {
    void* second = nullptr;
    for (; second == nullptr && landed < n; ++landed) {
      second = lane.landings[static_cast<size_t>(landed)];
    }
    plan_->reduce(arguments(dst, second, inputs, step.hi - step.lo, ownInput(step), step,
                            plan_->divisor, true));
  } else {
    reduceInto(dst, space, inputs, step.hi - step.lo, ownInput(step), step, plan_->divisor);
  }
  for (int r = landed; r < n; ++r) {
    void* landing = lane.landings[static_cast<size_t>(r)];
    if (landing != nullptr) plan_->copy(landing, nullptr, dst, step.bytes, toUser());
  }
  releaseInputs(step);
}

/// What a move does with its messages, if it receives any: into dst and `space`, where not nullptr.
void Runner::compute(Lane& lane, const BoundStep& step, const void* const* received, char* dst,
                     void* space) {
  const int bits = step.bits;
  const char* src = call_.src + lane.base + step.srcOffset;
  if ((bits & algo::kRecv) != 0 && (bits & (algo::kSrc | algo::kOwn)) != 0) {
    const char* own = (bits & algo::kOwn) != 0 ? call_.dst + lane.base + step.dstOffset : src;
    const void* inputs[3] = {received[0], step.recv2 != nullptr ? received[1] : own, own};
    if ((bits & algo::kFirst) != 0) std::swap(inputs[0], inputs[1]);
    const int n = step.recv2 != nullptr ? 3 : 2;
    const uint32_t divisor = (bits & algo::kFinal) != 0 ? plan_->divisor : 0;
    const bool before = (bits & algo::kBefore) != 0;
    const int mine = (bits & algo::kFirst) != 0 ? 0 : n - 1;
    reduceInto(before ? nullptr : dst, space, inputs, n, (bits & algo::kSrc) != 0 ? mine : -1, step,
               divisor);
    if (before) plan_->copy(dst, nullptr, received[0], step.bytes, CopyTo::kUser);
    return;
  }
  const void* from = (bits & algo::kRecv) != 0 ? received[0] : src;
  if (plan_->scale != nullptr && from == src) [[unlikely]] {
    plan_->scale(dst, src, plan_->scalar, step.count);
    from = dst;
  }
  if (dst != nullptr && dst != from) {
    plan_->copy(dst, nullptr, from, step.bytes, space == nullptr ? toUser() : CopyTo::kUser);
  }
  if (space != nullptr) plan_->copy(space, nullptr, from, step.bytes, CopyTo::kStaging);
}

bool Runner::move(Lane& lane, const BoundStep& step) {
  const int bits = step.bits;
  if (bits == (algo::kSrc | algo::kSend)) {
    return postSource(step, call_.src + lane.base + step.srcOffset, nullptr);
  }
  char* dst = (bits & algo::kDst) != 0 ? call_.dst + lane.base + step.dstOffset : nullptr;
  if (bits == (algo::kOwn | algo::kSend)) {
    void* space = step.send->tryAcquire(step.bytes);
    if (space == nullptr) return false;
    plan_->copy(space, nullptr, call_.dst + lane.base + step.dstOffset, step.bytes,
                CopyTo::kStaging);
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
    const void* const received[2] = {messages[0].data, messages[1].data};
    compute(lane, step, received, dst, space);
    if ((bits & algo::kRecv) != 0) step.recv->release();
    if (step.recv2 != nullptr) step.recv2->release();
    if (space != nullptr) step.send->post(step.bytes, nullptr);
    lane.computed = true;
  }
  return !inPlace || step.send->tryPostInPlace(dst, step.bytes, nullptr);
}

bool Runner::barrier(Lane& lane, const BoundStep& step) {
  if (!lane.computed) {
    if (step.send->tryAcquire(0) == nullptr) return false;
    step.send->post(0, nullptr);
    lane.computed = true;
  }
  for (; lane.seen < plan_->ranks; ++lane.seen) {
    RecvPort* port = step.peers[lane.seen];
    if (port == nullptr) continue;
    Message message;
    if (!peek(port, &message, step.bytes)) return false;
    port->release();
  }
  return true;
}

}  // namespace rondo

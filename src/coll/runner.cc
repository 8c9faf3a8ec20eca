#include "coll/runner.h"

#include <algorithm>

namespace rondo {
namespace {

/// Below this many bytes a copy costs less than waiting for the readers at the end of the call.
constexpr uint64_t kLeastInPlace = 4096;

/// From this many bytes on a result that goes to dst and to staging is made in staging and copied
/// from there: a string copy takes dst's lines without reading them, a reduction cannot.
constexpr uint64_t kLeastDetour = 4096;

}  // namespace

Runner::Runner(int ranks) {
  lanes_.resize(8);
  for (Lane& lane : lanes_) {
    lane.inputs.resize(static_cast<size_t>(ranks));
    lane.landings.resize(static_cast<size_t>(ranks));
  }
}

RunResult Runner::run(const BoundPlan& plan, const HostCall& call, const WaitPolicy& policy) {
  plan_ = &plan;
  call_ = call;
  const size_t lanes = plan.lanes.size();
  for (size_t l = 0; l < lanes; ++l) {
    Lane& lane = lanes_[l];
    lane.program = &plan.lanes[l];
    lane.period = 0;
    lane.next = 0;
    lane.base = 0;
    lane.seen = 0;
    lane.computed = false;
  }
  Waiter waiter(policy);
  for (;;) {
    bool moved = false, done = true;
    for (size_t l = 0; l < lanes; ++l) {
      bool laneDone = false;
      moved |= advance(lanes_[l], &laneDone);
      done &= laneDone;
    }
    if (done && drained()) return RunResult::Ok;
    if (moved) {
      waiter.reset();
      continue;
    }
    const RunResult result = waiter.wait();
    if (result != RunResult::Ok) return result;
  }
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
  while (lane.period <= plan_->fullPeriods) {
    const auto& steps = lane.period < plan_->fullPeriods ? lane.program->full : lane.program->last;
    while (lane.next < steps.size()) {
      if (!execute(lane, steps[lane.next])) return moved;
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

/// Where in dst the answer to a put may be written by the peer; nullptr where it comes as a
/// message. Put and Fetch of a block ask with the same values and get the same answer.
char* Runner::landing(const BoundStep& step, uint64_t base) const {
  char* dst = call_.dst + base + step.offset;
  const bool usable =
      step.lands && step.bytes >= kLeastInPlace && plan_->drains.front()->reaches(dst, step.bytes);
  return usable ? dst : nullptr;
}

/// Posts a block of src: where it is, if the readers can see it there, else a copy.
bool Runner::postSource(const BoundStep& step, const char* src, void* answer) {
  if (call_.announceSrc && step.bytes >= kLeastInPlace && step.send->reaches(src, step.bytes)) {
    return step.send->tryPostInPlace(src, step.bytes, answer);
  }
  void* space = step.send->tryAcquire(step.bytes);
  if (space == nullptr) return false;
  plan_->copy(space, nullptr, src, step.bytes, CopyTo::kStaging);
  step.send->post(step.bytes, answer);
  return true;
}

bool Runner::postsDst(const BoundStep& step, const char* dst) const {
  return step.bytes >= kLeastInPlace && step.send->reaches(dst, step.bytes);
}

bool Runner::put(const Lane& lane, const BoundStep& step) {
  return postSource(step, call_.src + lane.base + step.offset, landing(step, lane.base));
}

bool Runner::fetch(const Lane& lane, const BoundStep& step) {
  Message message;
  if (!step.recv->tryPeek(&message)) return false;
  if (landing(step, lane.base) == nullptr) {
    plan_->copy(call_.dst + lane.base + step.offset, nullptr, message.data, step.bytes, toUser());
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
      lane.inputs[static_cast<size_t>(lane.seen)] = call_.src + lane.base + step.offset;
      lane.landings[static_cast<size_t>(lane.seen)] = nullptr;
      continue;
    }
    Message message;
    if (!port->tryPeek(&message)) return false;
    lane.inputs[static_cast<size_t>(lane.seen)] = message.data;
    lane.landings[static_cast<size_t>(lane.seen)] = message.landing;
  }
  return true;
}

/// Reduces into dst, and hands the result on: straight into the memory of the peers that said
/// where, through a message to the others.
bool Runner::reduce(Lane& lane, const BoundStep& step) {
  char* dst = call_.dst + lane.base + step.offset;
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

/// dst (or nullptr) and `space` (or nullptr) = the reduction of the inputs.
void Runner::reduceInto(char* dst, void* space, const void* const* inputs, int n,
                        const BoundStep& step, uint32_t divisor) {
  const bool detour = dst != nullptr && space != nullptr && step.bytes >= kLeastDetour;
  void* const first = dst == nullptr || detour ? space : dst;
  void* const second = dst == nullptr || detour ? nullptr : space;
  plan_->reduce(
      ReduceArgs{first, second, inputs, n, step.count, divisor, call_.stream && space == nullptr});
  if (detour) plan_->copy(dst, nullptr, space, step.bytes, CopyTo::kUser);
}

/// dst and `space` (if any) = all ranks' inputs, in rank order; then the landings; then the inputs'
/// messages are released.
void Runner::combine(Lane& lane, const BoundStep& step, char* dst, void* space) {
  const int n = plan_->ranks;
  int landed = 0;  // landings below are done
  if (space == nullptr && call_.stream) {
    void* second = nullptr;
    for (; second == nullptr && landed < n; ++landed) {
      second = lane.landings[static_cast<size_t>(landed)];
    }
    plan_->reduce(
        ReduceArgs{dst, second, lane.inputs.data(), n, step.count, plan_->divisor, true});
  } else {
    reduceInto(dst, space, lane.inputs.data(), n, step, plan_->divisor);
  }
  for (int r = landed; r < n; ++r) {
    void* landing = lane.landings[static_cast<size_t>(r)];
    if (landing != nullptr) plan_->copy(landing, nullptr, dst, step.bytes, toUser());
  }
  for (int r = 0; r < n; ++r) {
    if (step.peers[r] != nullptr) step.peers[r]->release();
  }
}

bool Runner::move(Lane& lane, const BoundStep& step) {
  const char* src = call_.src + lane.base + step.offset;
  char* dst = call_.dst + lane.base + step.offset;
  const int bits = step.bits;
  if (bits == (algo::kSrc | algo::kSend)) return postSource(step, src, nullptr);

  const bool sends = (bits & algo::kSend) != 0, keeps = (bits & algo::kDst) != 0;
  const bool inPlace = sends && keeps && postsDst(step, dst);
  if (!lane.computed) {
    Message message{src, step.bytes, nullptr};
    if ((bits & algo::kRecv) != 0 && !step.recv->tryPeek(&message)) return false;
    void* space = nullptr;
    if (sends && !inPlace && (space = step.send->tryAcquire(step.bytes)) == nullptr) return false;
    if ((bits & algo::kRecv) != 0 && (bits & algo::kSrc) != 0) {
      const void* inputs[2] = {message.data, src};
      const uint32_t divisor = (bits & algo::kFinal) != 0 ? plan_->divisor : 0;
      reduceInto(keeps ? dst : nullptr, space, inputs, 2, step, divisor);
    } else {
      if (keeps && dst != message.data) {
        plan_->copy(dst, nullptr, message.data, step.bytes,
                    space == nullptr ? toUser() : CopyTo::kUser);
      }
      if (space != nullptr) {
        plan_->copy(space, nullptr, message.data, step.bytes, CopyTo::kStaging);
      }
    }
    if ((bits & algo::kRecv) != 0) step.recv->release();
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
    if (!port->tryPeek(&message)) return false;
    port->release();
  }
  return true;
}

}  // namespace rondo

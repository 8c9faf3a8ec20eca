#include "coll/runner_short.h"

#include <algorithm>

#include "p2p/shm_layout.h"

namespace rondo {
namespace {

/// Of more, the Runner reduces the messages.
constexpr int kMostInputs = 16;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// One call's steps. Each returns whether it was done; before that nothing has changed.
class ShortCall {
 public:
  ShortCall(const BoundPlan& plan, const HostCall& call, uint32_t looks)
      : plan_(plan), call_(call), looks_(looks) {}

  bool run(const BoundStep& step) const {
    if (step.bytes > ShmLayout::kInline) return false;
    switch (step.kind) {
      case StepKind::Put:
        return send(step);
      case StepKind::Fetch:
        return receive(step);
      case StepKind::Reduce:
        return step.bits == (algo::kDst | algo::kFinal) && reduce(step);
      case StepKind::Move:
        if (step.bits == (algo::kSrc | algo::kSend)) return send(step);
        if (step.bits == (algo::kRecv | algo::kDst)) return receive(step);
        return step.bits == (algo::kSrc | algo::kDst) && copy(step);
      default:
        return false;
    }
  }

 private:
  bool send(const BoundStep& step) const {
    void* const space = step.send->tryAcquire(step.bytes);
    if (space == nullptr) return false;
    plan_.copy(space, nullptr, call_.src + step.srcOffset, step.bytes, CopyTo::kStaging);
    step.send->post(step.bytes, nullptr);
    return true;
  }

  bool receive(const BoundStep& step) const {
    Message message;
    if (!peek(step.recv, step.bytes, &message)) return false;
    plan_.copy(call_.dst + step.dstOffset, nullptr, message.data, step.bytes, CopyTo::kUser);
    step.recv->release();
    return true;
  }

  bool copy(const BoundStep& step) const {
    const char* const src = call_.src + step.srcOffset;
    char* const dst = call_.dst + step.dstOffset;
    if (dst != src) plan_.copy(dst, nullptr, src, step.bytes, CopyTo::kUser);
    return true;
  }

  bool reduce(const BoundStep& step) const {
    const void* inputs[kMostInputs];
    if (plan_.ranks > kMostInputs) return false;
    for (int r = 0; r < plan_.ranks; ++r) {
      Message message{call_.src + step.srcOffset, 0, 0, nullptr};
      if (step.peers[r] != nullptr && !peek(step.peers[r], step.bytes, &message)) return false;
      inputs[r] = message.data;
    }
    ReduceArgs args{call_.dst + step.dstOffset,
                    nullptr,
                    inputs + step.lo,
                    step.hi - step.lo,
                    step.count,
                    plan_.divisor,
                    false};
    args.tree = plan_.tree;
    plan_.reduce(args);
    for (int r = 0; r < plan_.ranks; ++r) {
      if (step.peers[r] != nullptr) step.peers[r]->release();
    }
    return true;
  }

  /// The next message, if it comes soon. One of another call is for the Runner to find.
  bool peek(RecvPort* port, uint64_t bytes, Message* message) const {
    for (uint32_t look = 0; !port->tryPeek(message); ++look) {
      if (look == looks_) return false;
      pause();
    }
    return message->stamp == call_.stamp && message->bytes == bytes && message->landing == nullptr;
  }

  const BoundPlan& plan_;
  const HostCall& call_;
  uint32_t looks_;
};

}  // namespace

size_t runShort(const BoundPlan& plan, const HostCall& call, uint32_t looks) {
  const ShortCall shortCall(plan, call, looks);
  const auto& steps = plan.lanes.front().last;
  const auto end = std::find_if_not(steps.begin(), steps.end(),
                                    [&](const BoundStep& step) { return shortCall.run(step); });
  return static_cast<size_t>(end - steps.begin());
}

}  // namespace rondo

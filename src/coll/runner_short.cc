#include "coll/runner_short.h"

#include <algorithm>

#include "coll/staging_copy.h"
#include "coll/uneven_part.h"

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
  ShortCall(const BoundPlan& plan, const HostCall& call, uint32_t* stamp, uint32_t looks)
      : plan_(plan), call_(call), stamp_(stamp), looks_(looks) {}

  bool run(const BoundStep& step) const {
    if (step.slots > 1) return false;
    Piece piece{call_.src + step.srcOffset, call_.dst + step.dstOffset, step.bytes, step.count,
                call_.stamp};
    if (call_.uneven != nullptr && !cut(step, &piece)) return true;
    const bool longer = piece.bytes >= kLeastInPlace;  // may be posted, or land, in place
    if (longer && step.lands) return false;
    switch (step.kind) {
      case StepKind::Put:
        return send(step, piece);
      case StepKind::Fetch:
        return receive(step, piece);
      case StepKind::Reduce:
        return step.bits == (algo::kDst | algo::kFinal) && reduce(step, piece);
      case StepKind::Move:
        if (step.bits == (algo::kSrc | algo::kSend)) return send(step, piece);
        if (step.bits == (algo::kRecv | algo::kDst)) return receive(step, piece);
        if (step.bits == (algo::kSrc | algo::kDst | algo::kSend)) {
          return !(longer && step.send->reaches(piece.dst, piece.bytes)) && send(step, piece) &&
                 copy(piece);
        }
        return step.bits == (algo::kSrc | algo::kDst) && copy(piece);
      default:
        return false;
    }
  }

 private:
  /// What a step works on, and the stamp of its messages.
  struct Piece {
    const char* src;
    char* dst;
    uint64_t bytes, count;
    uint32_t stamp;
  };

  /// Makes it the step's part of its slot; false where the slot has ended.
  bool cut(const BoundStep& step, Piece* piece) const {
    const UnevenPart part = unevenPart(step, *call_.uneven, step.offset, plan_.elementBytes);
    *piece = {call_.src + part.srcOffset, call_.dst + part.dstOffset,
              part.count * plan_.elementBytes, part.count, stampOf(call_, part.slotCount)};
    return !part.ended;
  }

  bool send(const BoundStep& step, const Piece& piece) const {
    if (call_.announceSrc && piece.bytes >= kLeastInPlace &&
        step.send->reaches(piece.src, piece.bytes)) {
      return false;
    }
    void* const space = step.send->tryAcquire(piece.bytes);
    if (space == nullptr) return false;
    copyToStaging(plan_.copy, *step.send, space, piece.src, piece.bytes);
    *stamp_ = piece.stamp;
    step.send->post(piece.bytes, nullptr);
    return true;
  }

  bool receive(const BoundStep& step, const Piece& piece) const {
    Message message;
    if (!peek(step.recv, piece, &message)) return false;
    plan_.copy(piece.dst, nullptr, message.data, piece.bytes, toUser(message, false));
    step.recv->release();
    return true;
  }

  bool copy(const Piece& piece) const {
    if (piece.dst != piece.src) {
      plan_.copy(piece.dst, nullptr, piece.src, piece.bytes, CopyTo::kUser);
    }
    return true;
  }

  bool reduce(const BoundStep& step, const Piece& piece) const {
    const void* inputs[kMostInputs];
    if (plan_.ranks > kMostInputs) return false;
    for (int r = 0; r < plan_.ranks; ++r) {
      Message message{piece.src, 0, 0, nullptr};
      if (step.peers[r] != nullptr && !peek(step.peers[r], piece, &message)) return false;
      inputs[r] = message.data;
    }
    ReduceArgs args{piece.dst,     nullptr, inputs + step.lo, step.hi - step.lo, piece.count,
                    plan_.divisor, false};
    args.tree = plan_.tree;
    plan_.reduce(args);
    for (int r = 0; r < plan_.ranks; ++r) {
      if (step.peers[r] != nullptr) step.peers[r]->release();
    }
    return true;
  }

  /// The next message, if it comes soon. One of another call is for the Runner to find.
  bool peek(RecvPort* port, const Piece& piece, Message* message) const {
    for (uint32_t look = 0; !port->tryPeek(message); ++look) {
      if (look == looks_) return false;
      pause();
    }
    return message->stamp == piece.stamp && message->bytes == piece.bytes &&
           message->landing == nullptr;
  }

  const BoundPlan& plan_;
  const HostCall& call_;
  uint32_t* stamp_;
  uint32_t looks_;
};

}  // namespace

size_t runShort(const BoundPlan& plan, const HostCall& call, uint32_t* stamp, uint32_t looks) {
  const ShortCall shortCall(plan, call, stamp, looks);
  const auto& steps = call.uneven == nullptr ? plan.lanes.front().last : plan.lanes.front().full;
  const auto end = std::find_if_not(steps.begin(), steps.end(),
                                    [&](const BoundStep& step) { return shortCall.run(step); });
  return static_cast<size_t>(end - steps.begin());
}

}  // namespace rondo

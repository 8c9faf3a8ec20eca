#include "coll/bound_plan.h"

#include <algorithm>

#include "api/types.h"
#include "coll/registry.h"

namespace rondo {
namespace {

/// Binds the steps of one lane.
class Binder {
 public:
  Binder(const Plan& plan, int lane, size_t elementBytes, const Channels& channels)
      : plan_(plan),
        lane_(lane),
        elementBytes_(elementBytes),
        channels_(channels),
        use_(slotUse(plan.algorithm->collective, plan.group.rank, plan.group.root)) {}

  std::vector<BoundStep> bind(const std::vector<Step>& steps) const {
    std::vector<BoundStep> bound;
    bound.reserve(steps.size());
    for (const Step& step : steps) {
      if (step.kind == StepKind::Signal || step.kind == StepKind::Wait) continue;
      bound.push_back(bind(step));
      bound.back().lands = lands(step, steps);
      // The port of the put tells where its answer can land.
      if (bound.back().lands && step.kind == StepKind::Fetch) {
        bound.back().send = sendPort(step.from);
      }
    }
    if (channels_.far.empty()) findRuns(&bound);
    return bound;
  }

 private:
  /// A block that is put to one rank and comes back from it, reduced, can come straight into dst.
  bool lands(const Step& step, const std::vector<Step>& steps) const {
    const bool put = step.kind == StepKind::Put && step.to >= 0;
    const bool fetch = step.kind == StepKind::Fetch && step.room == Room::All;
    if (!put && !fetch) return false;
    if (channels_.isFar(put ? step.to : step.from)) return false;
    for (const Step& other : steps) {
      const bool same =
          other.offset == step.offset && other.count == step.count && other.slot == step.slot;
      if (put && same && other.kind == StepKind::Fetch && other.from == step.to) return true;
      if (fetch && same && other.kind == StepKind::Put && other.to == step.from) return true;
    }
    return false;
  }

  /// Steps whose messages have their channel for themselves, so that those of later periods may
  /// come next. A Fetch whose block has landed can wait later if no step reads it from dst; a Put
  /// that asks for such answers needs that of its Fetch.
  void findRuns(std::vector<BoundStep>* steps) const {
    bool readsDst = false;
    for (const BoundStep& step : *steps) readsDst |= (step.bits & algo::kOwn) != 0;
    for (BoundStep& step : *steps) {
      if (step.kind == StepKind::Move) step.runs = !readsDst && copiesAlone(step, *steps);
      if (step.kind == StepKind::Fetch) step.runs = !readsDst && readersOf(step.recv, *steps) == 1;
      if (step.kind == StepKind::Reduce) step.runs = sendersOn(step.send, *steps) == 1;
    }
    for (BoundStep& step : *steps) {
      if (step.kind != StepKind::Put) continue;
      step.runs = sendersOn(step.send, *steps) == 1;
      for (const BoundStep& other : *steps) {
        const bool answer = other.kind == StepKind::Fetch && other.dstOffset == step.dstOffset;
        if (step.lands && answer) step.runs &= other.runs;
      }
    }
    findKept(steps);
  }
  /// Puts of blocks that their rank keeps, too.
  static void findKept(std::vector<BoundStep>* steps) {
    for (size_t i = 0; i + 1 < steps->size(); ++i) {
      BoundStep& put = (*steps)[i];
      const BoundStep& copy = (*steps)[i + 1];
      put.keeps = put.kind == StepKind::Put && put.runs && !put.lands &&
                  copy.kind == StepKind::Move && copy.bits == (algo::kSrc | algo::kDst) &&
                  copy.runs && copy.srcOffset == put.srcOffset && copy.dstOffset == put.dstOffset &&
                  copy.bytes == put.bytes;
    }
  }
  /// A copy from src to dst that can wait, because no other step writes there.
  static bool copiesAlone(const BoundStep& step, const std::vector<BoundStep>& steps) {
    if (step.bits != (algo::kSrc | algo::kDst) || step.slots > 1) return false;
    return std::none_of(steps.begin(), steps.end(), [&](const BoundStep& other) {
      const bool writes = other.kind == StepKind::Fetch || (other.bits & algo::kDst) != 0;
      return &other != &step && writes && other.dstOffset < step.dstOffset + step.bytes &&
             step.dstOffset < dstEnd(other);
    });
  }
  static uint64_t dstEnd(const BoundStep& step) {
    const auto slots = static_cast<uint64_t>(step.slots);
    return step.dstOffset + (slots - 1) * step.dstPitch + step.bytes / slots;
  }
  static ptrdiff_t sendersOn(const SendPort* port, const std::vector<BoundStep>& steps) {
    return std::count_if(steps.begin(), steps.end(), [port](const BoundStep& step) {
      return step.kind != StepKind::Fetch && step.send == port;
    });
  }
  ptrdiff_t readersOf(const RecvPort* port, const std::vector<BoundStep>& steps) const {
    return std::count_if(steps.begin(), steps.end(), [&](const BoundStep& step) {
      const bool among =
          step.peers != nullptr &&
          std::find(step.peers, step.peers + channels_.ranks, port) != step.peers + channels_.ranks;
      return among || step.recv == port || step.recv2 == port;
    });
  }

  BoundStep bind(const Step& step) const {
    BoundStep out{};
    out.kind = step.kind;
    out.bits = step.bits;
    out.slot = step.slot;
    out.offset = step.offset * elementBytes_;
    out.srcOffset = out.offset + slotOffset(use_.src, step.slot);
    out.dstOffset = out.offset + slotOffset(use_.dst, step.slot);
    out.lo = step.from;
    out.hi = step.from2;
    out.bytes = elementsOf(step) * elementBytes_;
    out.count = elementsOf(step);
    out.slots = step.slots;
    out.srcPitch = slotOffset(use_.src, step.stride);
    out.dstPitch = slotOffset(use_.dst, step.stride);
    if ((step.bits & algo::kSend) != 0 || step.kind == StepKind::Barrier) {
      out.toEveryone = step.kind != StepKind::Move && step.to == algo::kEveryone;
      out.send = sendPort(out.toEveryone ? plan_.group.rank : step.to);
    }
    if (step.kind == StepKind::Reduce || step.kind == StepKind::Barrier) {
      const auto& room = step.room == Room::All ? channels_.allRecvs : channels_.pairRecvs;
      out.peers = reinterpret_cast<RecvPort* const*>(&room[channels_.index(lane_, 0)]);
    } else if (step.from >= 0) {
      const auto& room = step.room == Room::All ? channels_.allRecvs : channels_.pairRecvs;
      out.recv = room[channels_.index(lane_, step.from)].get();
      if (step.kind == StepKind::Move && step.from2 >= 0) {
        out.recv2 = room[channels_.index(lane_, step.from2)].get();
      }
    }
    return out;
  }

  uint64_t slotOffset(Slots use, int slot) const {
    return use == Slots::All ? static_cast<uint64_t>(slot) * plan_.geometry.count * elementBytes_
                             : 0;
  }

  SendPort* sendPort(int to) const { return channels_.sends[channels_.index(lane_, to)].get(); }

  const Plan& plan_;
  int lane_;
  size_t elementBytes_;
  const Channels& channels_;
  SlotUse use_;
};

}  // namespace

BoundPlan bindPlan(const Plan& plan, rondoDataType_t type, rondoRedOp_t op,
                   const BindContext& context) {
  const size_t elementBytes = typeSize(type);
  BoundPlan bound{};
  bound.algorithm = plan.algorithm;
  bound.rank = plan.group.rank;
  bound.ranks = plan.group.size;
  bound.fullPeriods = plan.geometry.fullPeriods();
  bound.periodBytes = plan.geometry.period() * elementBytes;
  bound.elementBytes = elementBytes;
  bound.slots = hasSlots(plan.algorithm->collective);
  bound.totalBytes = plan.geometry.count * elementBytes *
                     (bound.slots ? static_cast<uint64_t>(plan.group.size) : 1);
  bound.copy = findCopy(context.cpu);
  bound.reduce = findReduce(type, op, context.cpu);
  bound.divisor = op == rondoAvg ? static_cast<uint32_t>(plan.group.size) : 0;
  for (int lane = 0; lane < plan.geometry.lanes; ++lane) {
    const Binder binder(plan, lane, elementBytes, *context.channels);
    const LaneProgram& program = plan.lanes[static_cast<size_t>(lane)];
    bound.lanes.push_back({binder.bind(program.full), binder.bind(program.last)});
  }
  for (const BoundLane& lane : bound.lanes) {
    for (const auto* steps : {&lane.full, &lane.last}) {
      for (const BoundStep& step : *steps) {
        if (step.send != nullptr) bound.drains.push_back(step.send);
      }
    }
  }
  std::sort(bound.drains.begin(), bound.drains.end());
  bound.drains.erase(std::unique(bound.drains.begin(), bound.drains.end()), bound.drains.end());
  return bound;
}

}  // namespace rondo

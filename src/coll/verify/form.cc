#include "coll/verify/form.h"

#include "base/error.h"
#include "coll/step_text.h"

namespace rondo::verify {
namespace {

const char* nameOf(Program program) {
  return program == Program::Full ? "full period" : "last period";
}

bool carriesElements(const Step& step) {
  return step.kind != StepKind::Signal && step.kind != StepKind::Wait &&
         step.kind != StepKind::Barrier && !isNotice(step);
}

/// What is wrong with a move's bits and peers; nullptr: nothing.
const char* moveFault(const Step& step) {
  const int bits = step.bits;
  const bool receives = (bits & algo::kRecv) != 0, sends = (bits & algo::kSend) != 0;
  const bool reads = (bits & (algo::kSrc | algo::kOwn)) != 0;
  if (isNotice(step)) {
    if (step.from2 >= 0) return "it hears from one rank";
  } else if (!receives && !reads) {
    return "it has no input";
  }
  if ((bits & algo::kSrc) != 0 && (bits & algo::kOwn) != 0) return "Src and Own exclude each other";
  if (!sends && (bits & algo::kDst) == 0 && !isNotice(step)) return "it has no output";
  if ((bits & algo::kFinal) != 0 && (!receives || !reads)) return "Final needs a reduction";
  if ((bits & algo::kOwn) != 0 && !receives && (bits & algo::kDst) != 0) {
    return "dst is not copied to itself";
  }
  if ((bits & algo::kBefore) != 0 &&
      (bits | algo::kBefore) !=
          (algo::kRecv | algo::kSrc | algo::kDst | algo::kSend | algo::kBefore)) {
    return "Before needs a reduction with src that is sent and something kept";
  }
  if ((bits & algo::kFirst) != 0 && (!receives || !reads || step.from2 >= 0)) {
    return "First needs a reduction of two operands";
  }
  if (step.from2 >= 0 && !receives) return "Recv and `from2` do not agree";
  if (step.from2 >= 0 && step.from2 == step.from) return "it joins two messages of one rank";
  if (receives != (step.from >= 0)) return "Recv and `from` do not agree";
  if (sends != (step.to >= 0)) return "Send and `to` do not agree";
  if (step.room != Room::Pair) return "a move uses no room but Pair";
  return nullptr;
}

const char* reduceFault(const Step& step, int ranks) {
  const int bits = step.bits;
  if (step.from < 0 || step.from2 < step.from || step.from2 > ranks) {
    return "a reduce takes a range of ranks";
  }
  if (step.from == step.from2) {
    return bits == 0 && step.to == -1 ? nullptr : "a reduce that takes nothing has no output";
  }
  if (bits == (algo::kDst | algo::kFinal)) {
    return step.to == -1 ? nullptr : "a reduce goes to nobody without Send";
  }
  if (bits == (algo::kDst | algo::kFinal | algo::kSend)) {
    return step.to == algo::kEveryone ? nullptr
                                      : "a result that is kept goes to everyone if at all";
  }
  if (bits == (algo::kFinal | algo::kSend)) {
    return step.to >= 0 ? nullptr : "a result that is not kept goes to one rank";
  }
  return "a reduce has the bits Dst and Final, and may have Send; or Final and Send; or none";
}

const char* windowFault(const Step& step) {
  const bool toAll = step.to == algo::kEveryone;
  switch (step.kind) {
    case StepKind::Put:
      if (step.bits != (algo::kSrc | algo::kSend)) return "a put has the bits Src and Send";
      if (step.from != -1) return "a put comes from nobody";
      return (step.room == Room::All) == toAll ? nullptr : "room and `to` do not agree";
    case StepKind::Signal:
      if (step.bits != 0 || step.from != -1) return "a signal has no bits and comes from nobody";
      return (step.room == Room::All) == toAll ? nullptr : "room and `to` do not agree";
    case StepKind::Wait:
      if (step.bits != 0 || step.to != -1) return "a wait has no bits and goes to nobody";
      return step.from >= 0 ? nullptr : "a wait is for one rank";
    case StepKind::Fetch:
      if (step.bits != algo::kDst || step.to != -1) return "a fetch has the bit Dst and no `to`";
      return step.from >= 0 ? nullptr : "a fetch is from one rank";
    case StepKind::Barrier:
      if (step.bits != 0 || step.from != -1 || step.to != -1)
        return "a barrier has no bits or peers";
      return step.room == Room::All ? nullptr : "a barrier uses room All";
    case StepKind::Reduce:
    case StepKind::Move:
      break;
  }
  return "its kind is unknown";
}

bool usesSlot(Slots use, int slot, int rank) {
  return use == Slots::All || (use == Slots::One && slot == 0) ||
         (use == Slots::Mine && slot == rank);
}

/// What is wrong with a step on several slots; nullptr: nothing.
const char* slotsFault(const Step& step, int slots) {
  constexpr int kCopy = algo::kSrc | algo::kDst, kSent = algo::kSrc | algo::kSend;
  constexpr int kOwnSent = algo::kOwn | algo::kSend, kTaken = algo::kRecv | algo::kDst;
  const int bits = step.bits;
  const bool plain = bits == kCopy || bits == kSent || bits == kOwnSent || bits == kTaken;
  if (step.kind != StepKind::Move || !plain || step.from2 >= 0) {
    return "several slots are only copied, sent and received";
  }
  if (step.stride < 1 || step.stride > slots || step.slots > slots) {
    return "its slots do not lie in the collective's";
  }
  return nullptr;
}

/// What is wrong with the slots; empty: nothing.
std::string slotFault(const Step& step, const Plan& plan) {
  const int rank = plan.group.rank;
  const Collective collective = plan.algorithm->collective;
  const int slots = verify::slotsOf(plan);
  if (step.slots < 1 || (step.slots == 1 && step.stride != 1)) {
    return "one slot has the stride 1, and a step at least one slot";
  }
  if (step.slots > 1) {
    if (const char* fault = slotsFault(step, slots)) return fault;
  }
  const int last = step.slot + (step.slots - 1) * step.stride;
  if (step.slot < 0 || last >= slots) {
    return format("slot %d does not exist", step.slot < 0 ? step.slot : last);
  }
  const SlotUse use = slotUse(collective, rank, plan.group.root);
  if (step.slots > 1) {
    const bool all = ((step.bits & algo::kSrc) == 0 || use.src == Slots::All) &&
                     ((step.bits & (algo::kDst | algo::kOwn)) == 0 || use.dst == Slots::All);
    if (!all) return "this rank has not all of its slots";
  }
  const bool mine = step.kind == StepKind::Reduce && step.from <= rank && rank < step.from2;
  if (((step.bits & algo::kSrc) != 0 || mine) && !usesSlot(use.src, step.slot, rank)) {
    return format("this rank's src has no slot %d", step.slot);
  }
  if ((step.bits & (algo::kDst | algo::kOwn)) != 0 && !usesSlot(use.dst, step.slot, rank)) {
    return format("this rank's dst has no slot %d", step.slot);
  }
  return "";
}

std::string stepFault(const Step& step, const Plan& plan, Count length) {
  const int n = plan.group.size, rank = plan.group.rank;
  const bool reduce = step.kind == StepKind::Reduce;
  if (const char* fault = step.kind == StepKind::Move ? moveFault(step)
                          : reduce                    ? reduceFault(step, n)
                                                      : windowFault(step)) {
    return fault;
  }
  for (const int peer : {reduce ? -1 : step.from, step.to, reduce ? -1 : step.from2}) {
    if (peer < -1 || peer >= n) return format("rank %d does not exist", peer);
    if (peer == rank) return "a rank does not talk to itself";
  }
  if (auto fault = slotFault(step, plan); !fault.empty()) return fault;
  if (!carriesElements(step)) {
    return step.offset == 0 && step.count == 0 ? "" : "it carries no elements";
  }
  if (step.count == 0) return "empty blocks are not recorded";
  if (step.offset >= length || step.count > length - step.offset) {
    return format("it leaves the period's %llu elements", length);
  }
  const bool message = (step.bits & (algo::kSend | algo::kRecv)) != 0 ||
                       step.kind == StepKind::Fetch || (step.kind == StepKind::Reduce && n > 1);
  if (message && elementsOf(step) > plan.geometry.chunk) {
    return format("its %llu elements do not fit a slot of %llu", elementsOf(step),
                  plan.geometry.chunk);
  }
  return "";
}

bool sameCall(const Plan& a, const Plan& b) {
  const algo::Geometry &x = a.geometry, &y = b.geometry;
  return a.algorithm == b.algorithm && a.group.size == b.group.size &&
         a.group.root == b.group.root && a.lanes.size() == b.lanes.size() && x.count == y.count &&
         x.lanes == y.lanes && x.blocks == y.blocks && x.chunk == y.chunk && x.align == y.align;
}

}  // namespace

int slotsOf(const Plan& plan) { return hasSlots(plan.algorithm->collective) ? plan.group.size : 1; }

Count lengthOf(const algo::Geometry& geometry, Program program) {
  if (program == Program::Full) return geometry.period();
  return geometry.count - geometry.fullPeriods() * geometry.period();
}

bool has(const algo::Geometry& geometry, Program program) {
  if (program == Program::Full) return geometry.fullPeriods() > 0;
  return geometry.count == 0 || lengthOf(geometry, Program::Last) > 0;
}

std::string placeText(int rank, int lane, Program program, size_t index, const Step& step) {
  return format("rank %d, lane %d, %s, step %zu (%s)", rank, lane, nameOf(program), index + 1,
                describeStep(step).c_str());
}

Findings formFindings(const std::vector<Plan>& plans) {
  if (plans.empty()) return {"there are no plans"};
  const algo::Geometry& g = plans[0].geometry;
  if (g.lanes < 1 || g.blocks < 1 || g.chunk < 1 || g.align < 1) {
    return {"lanes, blocks, chunk and align of a geometry are at least 1"};
  }
  Findings out;
  for (size_t r = 0; r < plans.size(); ++r) {
    const Plan& plan = plans[r];
    if (plan.group.rank != static_cast<int>(r) ||
        plan.group.size != static_cast<int>(plans.size()) || !sameCall(plan, plans[0]) ||
        plan.lanes.size() != static_cast<size_t>(g.lanes)) {
      return {format("plan %zu is not that of rank %zu in the same call as plan 0", r, r)};
    }
    for (int lane = 0; lane < g.lanes; ++lane) {
      for (const Program program : {Program::Full, Program::Last}) {
        const auto& steps = stepsOf(plan, lane, program);
        const Count length = has(g, program) ? lengthOf(g, program) : 0;
        for (size_t i = 0; i < steps.size(); ++i) {
          const std::string fault = stepFault(steps[i], plan, length);
          if (fault.empty()) continue;
          out.push_back(placeText(static_cast<int>(r), lane, program, i, steps[i]) + ": " + fault);
        }
      }
    }
  }
  return out;
}

}  // namespace rondo::verify

#include "coll/verify/form.h"

#include "base/error.h"
#include "coll/step_text.h"

namespace rondo::verify {
namespace {

const char* nameOf(Program program) {
  return program == Program::Full ? "full period" : "last period";
}

bool carriesElements(StepKind kind) {
  return kind != StepKind::Signal && kind != StepKind::Wait && kind != StepKind::Barrier;
}

/// What is wrong with a move's bits and peers; nullptr: nothing.
const char* moveFault(const Step& step) {
  const int bits = step.bits;
  const bool receives = (bits & algo::kRecv) != 0, sends = (bits & algo::kSend) != 0;
  if (bits >= 32) return "it has bits that algo::Bits does not know";
  if (!receives && (bits & algo::kSrc) == 0) return "it has no input";
  if (!sends && (bits & algo::kDst) == 0) return "it has no output";
  if ((bits & algo::kFinal) != 0 && (!receives || (bits & algo::kSrc) == 0)) {
    return "Final needs a reduction";
  }
  if (receives != (step.from >= 0)) return "Recv and `from` do not agree";
  if (sends != (step.to >= 0)) return "Send and `to` do not agree";
  if (step.room != Room::Pair) return "a move uses no room but Pair";
  return nullptr;
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
    case StepKind::Reduce:
      if ((step.bits & ~algo::kSend) != (algo::kDst | algo::kFinal)) {
        return "a reduce has the bits Dst and Final, and may have Send";
      }
      return step.from == -1 && toAll ? nullptr : "a reduce is from all, and to everyone if at all";
    case StepKind::Barrier:
      if (step.bits != 0 || step.from != -1 || step.to != -1)
        return "a barrier has no bits or peers";
      return step.room == Room::All ? nullptr : "a barrier uses room All";
    case StepKind::Move:
      break;
  }
  return "its kind is unknown";
}

std::string stepFault(const Step& step, const Plan& plan, Count length) {
  const int n = plan.group.size, rank = plan.group.rank;
  if (const char* fault = step.kind == StepKind::Move ? moveFault(step) : windowFault(step)) {
    return fault;
  }
  for (const int peer : {step.from, step.to}) {
    if (peer < -1 || peer >= n) return format("rank %d does not exist", peer);
    if (peer == rank) return "a rank does not talk to itself";
  }
  if (!carriesElements(step.kind)) {
    return step.offset == 0 && step.count == 0 ? "" : "it carries no elements";
  }
  if (step.count == 0) return "empty blocks are not recorded";
  if (step.offset >= length || step.count > length - step.offset) {
    return format("it leaves the period's %llu elements", length);
  }
  const bool message = (step.bits & (algo::kSend | algo::kRecv)) != 0 ||
                       step.kind == StepKind::Fetch || (step.kind == StepKind::Reduce && n > 1);
  if (message && step.count > plan.geometry.chunk) {
    return format("its %llu elements do not fit a slot of %llu", step.count, plan.geometry.chunk);
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

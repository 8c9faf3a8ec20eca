// The machine's findings in words: where a rank is, and what it waits for.

#include "base/error.h"
#include "coll/verify/machine.h"

namespace rondo::verify {

Machine::Outcome Machine::fail(int rank, const std::string& what) {
  findings_.push_back(place(rank) + ": " + what);
  return Outcome::Failed;
}

std::string Machine::place(int rank) const {
  return place(rank, ranks_[at(rank)].round, current(rank));
}

std::string Machine::place(int rank, size_t round, const Step& step) const {
  const Round& in = job_.rounds[round];
  const auto index = static_cast<size_t>(&step - program(rank, in.program).data());
  return format("call %d, period %llu, %s", in.call + 1, in.period,
                placeText(rank, job_.lane, in.program, index, step).c_str());
}

std::string Machine::reason(int rank) const {
  const Step& step = current(rank);
  if (step.kind == StepKind::Wait) return format("for a signal of rank %d", step.from);
  if (step.kind == StepKind::Barrier) return "for the others at the barrier";
  if (!hasSlot(rank, step)) {
    return step.to < 0 ? "for a slot of its queue to everyone"
                       : format("for a slot to rank %d", step.to);
  }
  return format("for a message of rank %d", step.from);
}

std::string Machine::deadlock() const {
  std::string out = format("lane %d: deadlock", job_.lane);
  for (int r = 0; r < n_; ++r) {
    out += r == 0 ? ": " : "; ";
    out += finished(r) ? format("rank %d has finished", r) : place(r) + " waits " + reason(r);
  }
  return out;
}

}  // namespace rondo::verify

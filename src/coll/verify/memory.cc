// A rank's own buffers: every element of dst once, and src read before dst when they are the same.

#include <algorithm>

#include "base/error.h"
#include "coll/step_text.h"
#include "coll/verify/form.h"

namespace rondo::verify {
namespace {

/// One step's use of elements of src or dst.
struct Access {
  Count begin;
  Count end;
  int lane;
  size_t step;
};

bool readsSrc(const Step& step) {
  return (step.bits & algo::kSrc) != 0 || step.kind == StepKind::Reduce;
}

bool writesDst(const Step& step) { return (step.bits & algo::kDst) != 0; }

/// In place such a step writes what is there already.
bool onlyCopies(const Step& step) {
  return step.kind == StepKind::Move && (step.bits & algo::kRecv) == 0;
}

class RankMemory {
 public:
  RankMemory(const Plan& plan, Program program, Findings& out)
      : plan_(plan), program_(program), out_(out) {
    for (int lane = 0; lane < plan.geometry.lanes; ++lane) {
      const auto& steps = stepsOf(plan, lane, program);
      for (size_t i = 0; i < steps.size(); ++i) collect(lane, i, steps[i]);
    }
    const auto byBegin = [](const Access& a, const Access& b) { return a.begin < b.begin; };
    std::sort(writes_.begin(), writes_.end(), byBegin);
  }

  void checkCover() {
    if (plan_.algorithm->collective == Collective::Barrier) {
      if (!writes_.empty()) out_.push_back(place(writes_[0]) + ": a barrier writes nothing");
      return;
    }
    Count next = 0;
    for (const Access& write : writes_) {
      if (write.begin > next) missing(next, write.begin);
      if (write.begin < next) {
        out_.push_back(place(write) + ": elements " +
                       rangeText(write.begin, std::min(next, write.end) - write.begin) +
                       " of dst are written more than once");
      }
      next = std::max(next, write.end);
    }
    const Count length = lengthOf(plan_.geometry, program_);
    if (next < length) missing(next, length);
  }

  void checkInPlace() {
    for (const Access& read : reads_) {
      auto write = std::upper_bound(writes_.begin(), writes_.end(), read.begin,
                                    [](Count at, const Access& w) { return at < w.end; });
      for (; write != writes_.end() && write->begin < read.end; ++write) check(read, *write);
    }
  }

 private:
  const Step& stepAt(const Access& a) const { return stepsOf(plan_, a.lane, program_)[a.step]; }
  std::string place(const Access& a) const {
    return placeText(plan_.group.rank, a.lane, program_, a.step, stepAt(a));
  }

  void collect(int lane, size_t index, const Step& step) {
    const Access access{step.offset, step.offset + step.count, lane, index};
    if (readsSrc(step)) reads_.push_back(access);
    if (writesDst(step)) writes_.push_back(access);
  }

  void missing(Count begin, Count end) {
    out_.push_back(format("rank %d, %s period: elements %s of dst are never written",
                          plan_.group.rank, program_ == Program::Full ? "full" : "last",
                          rangeText(begin, end - begin).c_str()));
  }

  void check(const Access& read, const Access& write) {
    if (onlyCopies(stepAt(write)) || (read.lane == write.lane && read.step <= write.step)) return;
    out_.push_back(place(read) + ": reads src where " + place(write) +
                   (read.lane == write.lane ? " has" : " may have") +
                   " overwritten it, if src and dst are the same");
  }

  const Plan& plan_;
  Program program_;
  Findings& out_;
  std::vector<Access> reads_, writes_;
};

}  // namespace

Findings memoryFindings(const std::vector<Plan>& plans) {
  Findings out;
  for (const Plan& plan : plans) {
    for (const Program program : {Program::Full, Program::Last}) {
      if (!has(plan.geometry, program)) continue;
      RankMemory memory(plan, program, out);
      memory.checkCover();
      // With elements written twice or never, the order of reads and writes means little.
      if (out.empty()) memory.checkInPlace();
    }
  }
  return out;
}

}  // namespace rondo::verify

// A rank's own buffers: every element of dst once, and src read before dst when they are the same.

#include <algorithm>

#include "base/error.h"
#include "coll/step_text.h"
#include "coll/verify/form.h"

namespace rondo::verify {
namespace {

/// One step's use of elements of src or dst; slots follow each other.
struct Access {
  Count begin;
  Count end;
  int lane;
  size_t step;
};

bool readsSrc(const Step& step, int rank) {
  const bool mine = step.kind == StepKind::Reduce && step.from <= rank && rank < step.from2;
  return (step.bits & algo::kSrc) != 0 || mine;
}

bool writesDst(const Step& step) { return (step.bits & algo::kDst) != 0; }

bool postsDst(const Step& step) {
  const bool apart = (step.bits & (algo::kOwn | algo::kBefore)) != 0;
  return writesDst(step) && (step.bits & algo::kSend) != 0 && !apart;
}

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
      for (const Step& step : steps) rewrites_ |= (step.bits & algo::kOwn) != 0;
    }
    const auto byBegin = [](const Access& a, const Access& b) { return a.begin < b.begin; };
    std::sort(writes_.begin(), writes_.end(), byBegin);
  }

  void checkCover() {
    if (plan_.algorithm->collective == Collective::Barrier) {
      if (!writes_.empty()) out_.push_back(place(writes_[0]) + ": a barrier writes nothing");
      return;
    }
    const int rank = plan_.group.rank;
    const Slots use = slotUse(plan_.algorithm->collective, rank, plan_.group.root).dst;
    const auto has = [this](int slot) {
      return plan_.ended.empty() || !plan_.ended[static_cast<size_t>(slot)];
    };
    if (use == Slots::One) checkSlot(0);
    if (use == Slots::Mine && has(rank)) checkSlot(rank);
    for (int slot = 0; use == Slots::All && slot < plan_.group.size; ++slot) {
      if (has(slot)) checkSlot(slot);
    }
  }

  /// What a step sends and keeps may be posted where it stands in dst, src apart or not, and is
  /// read there at any time until the call ends.
  void checkPosted() {
    for (const Access& posted : writes_) {
      if (!rewrites_ || !postsDst(stepAt(posted))) continue;
      for (const Access& write : writes_) {
        const bool later = write.lane == posted.lane && write.step > posted.step;
        if (!later || write.begin >= posted.end || posted.begin >= write.end) continue;
        out_.push_back(place(write) + ": overwrites dst that " + place(posted) +
                       " has posted where it stands");
      }
    }
  }

  void checkInPlace() {
    for (const Access& read : reads_) {
      auto write = rewrites_
                       ? writes_.begin()
                       : std::upper_bound(writes_.begin(), writes_.end(), read.begin,
                                          [](Count at, const Access& w) { return at < w.end; });
      for (; write != writes_.end() && write->begin < read.end; ++write) {
        if (write->end > read.begin) check(read, *write);
      }
    }
  }

 private:
  void checkSlot(int slot) {
    const Count length = lengthOf(plan_.geometry, program_);
    Count next = static_cast<Count>(slot) * length;
    const Count end = next + length;
    for (const Access& write : writes_) {
      if (write.end <= next || write.begin >= end) {
        if (write.end <= next && write.begin >= end - length && !rewrites_) twice(write, write.end);
        continue;
      }
      if (write.begin > next) missing(next, write.begin);
      // Partial results are overwritten by better ones; whether the last one is right, the machine
      // sees.
      if (write.begin < next && !rewrites_) twice(write, next);
      next = std::max(next, write.end);
    }
    if (next < end) missing(next, end);
  }

  void twice(const Access& write, Count known) {
    out_.push_back(place(write) + ": elements " +
                   rangeText(write.begin, std::min(known, write.end) - write.begin) +
                   " of dst are written more than once");
  }

  const Step& stepAt(const Access& a) const { return stepsOf(plan_, a.lane, program_)[a.step]; }
  std::string place(const Access& a) const {
    return placeText(plan_.group.rank, a.lane, program_, a.step, stepAt(a));
  }

  void collect(int lane, size_t index, const Step& step) {
    for (int k = 0; k < step.slots; ++k) {
      const Count slot =
          static_cast<Count>(step.slot + k * step.stride) * lengthOf(plan_.geometry, program_);
      const Access access{slot + step.offset, slot + step.offset + step.count, lane, index};
      if (readsSrc(step, plan_.group.rank)) reads_.push_back(access);
      if (writesDst(step)) writes_.push_back(access);
    }
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
  bool rewrites_ = false;  ///< The plan reads what it has written.
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
      if (out.empty()) memory.checkPosted();
      if (out.empty()) memory.checkInPlace();
    }
  }
  return out;
}

}  // namespace rondo::verify

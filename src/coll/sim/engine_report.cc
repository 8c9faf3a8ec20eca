// What the event loop says at its end: time, bytes, and who waits for whom if nobody can go on.

#include <algorithm>

#include "base/error.h"
#include "coll/sim/engine.h"
#include "coll/verify/form.h"

namespace rondo::sim {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

std::string Engine::reason(int32_t process) const {
  const CompactStep& step = *current(process);
  if (processes_[at(process)].phase == Phase::AtBarrier) return "for the others at the barrier";
  if (step.kind == StepKind::Wait) {
    return format("for a signal of rank %d", plans_.channels[at(step.in)].from);
  }
  std::string out;
  const auto input = [&](int32_t index) {
    if (!out.empty() || channels_[at(index)].arrived > channels_[at(index)].taken) return;
    out = format("for a message of rank %d", plans_.channels[at(index)].from);
  };
  forInputs(step, input);
  if (!out.empty()) return out;
  const auto output = [&](int32_t index) {
    const ChannelState& channel = channels_[at(index)];
    const bool full =
        channel.posted - channel.freed >= static_cast<uint32_t>(std::max(job_.depth, 0));
    if (!out.empty() || !full) return;
    out = format("for a slot to rank %d (%u of %d in use)", plans_.channels[at(index)].to,
                 channel.posted - channel.freed, job_.depth);
  };
  forOutputs(step, output);
  return out.empty() ? "for its rank's thread" : out;
}

std::vector<std::string> Engine::blockedSteps() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < processes_.size(); ++i) {
    const Process& p = processes_[i];
    if (p.phase == Phase::Finished) continue;
    const auto process = static_cast<int32_t>(i);
    const int rank = rankOf(process), lane = process % plans_.lanes;
    const Plan plan = job_.plan(rank);
    const auto program = inFull(p) ? verify::Program::Full : verify::Program::Last;
    const std::vector<Step>& steps = verify::stepsOf(plan, lane, program);
    const std::string place = verify::placeText(rank, lane, program, p.step, steps[p.step]);
    out.push_back(format("period %llu, %s: waits %s", static_cast<unsigned long long>(p.period),
                         place.c_str(), reason(process).c_str()));
  }
  return out;
}

/// Notes how long the later half of a row took.
void Engine::measure(int32_t process) {
  Process& p = processes_[at(process)];
  const auto lane = at(process % plans_.lanes);
  const std::vector<Run>& runs = (inFull(p) ? plans_.fullRuns : plans_.lastRuns)[lane];
  for (size_t r = 0; r < runs.size(); ++r) {
    if (p.step == runs[r].half) p.half = now_;
    if (p.step != runs[r].end) continue;
    Time& longest = (inFull(p) ? fullHalves_ : lastHalves_)[lane][r];
    longest = std::max(longest, now_ - p.half);
  }
}

/// What the steps that are left out of one period's rows take.
Engine::Wide Engine::leftOut(const std::vector<std::vector<Run>>& runs,
                             const std::vector<std::vector<Time>>& longest) const {
  Wide most = 0;
  for (size_t lane = 0; lane < runs.size(); ++lane) {
    Wide time = 0;
    for (size_t r = 0; r < runs[lane].size(); ++r) {
      const Run& run = runs[lane][r];
      time += Wide{longest[lane][r]} * run.left / (run.end - run.half);
    }
    most = std::max(most, time);
  }
  return most;
}

Result Engine::report() {
  result_.blocked = blockedSteps();
  result_.periods = plans_.fullPeriods;
  result_.simulatedPeriods = periods_;
  result_.arcBytes = lastBytes_;
  for (size_t arc = 0; arc < fullBytes_.size() && periods_ > 0; ++arc) {
    // Every full period moves the same.
    result_.arcBytes[arc] += fullBytes_[arc] / periods_ * plans_.fullPeriods;
  }
  const Count left = plans_.fullPeriods - periods_;
  result_.seenFull = left == 0 || times_.seenFull();
  Wide time = result_.picoseconds;
  if (left > 0 && result_.blocked.empty()) {
    time += times_.further(left, result_.picoseconds, job_.stepsToFull > 0);
  }
  time += leftOut(plans_.lastRuns, lastHalves_) +
          leftOut(plans_.fullRuns, fullHalves_) * plans_.fullPeriods;
  if (time > kMostTime) refuseTime("the call");
  result_.courses = links_.courses();
  result_.leftOutTime = static_cast<Time>(time) - result_.picoseconds;
  result_.picoseconds = static_cast<Time>(time);
  for (const Route& route : routes_.all()) {
    if (job_.record) result_.routes.emplace_back(route.ends, route.arcs);
  }
  return std::move(result_);
}

}  // namespace rondo::sim

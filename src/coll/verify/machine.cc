#include "coll/verify/machine.h"

#include <algorithm>

#include "base/error.h"
#include "coll/step_text.h"

namespace rondo::verify {
namespace {

size_t numberOf(Program program) { return program == Program::Full ? 0 : 1; }

bool takesFromOne(const Step& step) {
  return step.kind == StepKind::Fetch || (step.bits & algo::kRecv) != 0;
}

}  // namespace

Machine::Machine(const Job& job)
    : job_(job),
      n_(static_cast<int>(job.plans->size())),
      plan_(job.plans->front()),
      slots_(slotsOf(plan_)),
      queues_(n_),
      clocks_(n_, job.clocks),
      expressions_(n_, slots_, job.rounds.empty() ? 1 : job.rounds.back().call + 1),
      ranks_(static_cast<size_t>(n_)) {
  for (const Program p : {Program::Full, Program::Last}) cutIntoAtoms(p);
  for (const Round& round : job_.rounds) {
    results_.emplace_back(cuts_[numberOf(round.program)].size());
    entered_.resize(static_cast<size_t>(round.call) + 1, std::vector<uint32_t>(at(n_)));
  }
}

/// Cuts the period of a slot at every step's ends, so that a step's elements are whole atoms and
/// one expression stands for all elements of an atom.
void Machine::cutIntoAtoms(Program p) {
  auto& cuts = cuts_[numberOf(p)];
  for (int r = 0; r < n_; ++r) {
    for (const Step& step : program(r, p)) {
      if (step.count == 0) continue;
      cuts.push_back(step.offset);
      cuts.push_back(step.offset + step.count);
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const auto find = [&cuts](Count element) {
    return static_cast<uint32_t>(std::lower_bound(cuts.begin(), cuts.end(), element) -
                                 cuts.begin());
  };
  for (int r = 0; r < n_; ++r) {
    auto& atoms = atoms_[numberOf(p)].emplace_back();
    for (const Step& step : program(r, p)) {
      const uint32_t first = step.count == 0 ? 0 : find(step.offset);
      const uint32_t last = step.count == 0 ? 0 : find(step.offset + step.count);
      atoms.push_back(Atoms{first, last - first});
    }
  }
}

const std::vector<Step>& Machine::program(int rank, Program p) const {
  return stepsOf((*job_.plans)[at(rank)], job_.lane, p);
}

const Step& Machine::current(int rank) const {
  const RankState& state = ranks_[at(rank)];
  return program(rank, job_.rounds[state.round].program)[state.step];
}

Findings Machine::run() {
  for (bool moved = true; moved && findings_.empty();) {
    moved = false;
    for (int r = 0; r < n_ && findings_.empty(); ++r) moved |= advance(r);
  }
  if (!findings_.empty()) return findings_;
  for (int r = 0; r < n_; ++r) {
    if (!finished(r)) return {deadlock()};
  }
  return {};
}

/// Runs a rank until it is blocked or done; says whether it got anywhere.
bool Machine::advance(int rank) {
  RankState& state = ranks_[at(rank)];
  bool moved = false;
  while (!finished(rank)) {
    const Round& round = job_.rounds[state.round];
    if (state.call != round.call) enterCall(rank);
    if (state.step == program(rank, round.program).size()) {
      checkRound(rank);
      if (!findings_.empty()) return true;
      state.step = 0;
      ++state.round;
      if (finished(rank) || job_.rounds[state.round].call != round.call) {
        leaveCall(rank, round.call);
      }
      moved = true;
      continue;
    }
    if (execute(rank, current(rank)) != Outcome::Done) return moved;
    ++state.step;
    moved = true;
  }
  return moved;
}

void Machine::enterCall(int rank) {
  RankState& state = ranks_[at(rank)];
  state.call = job_.rounds[state.round].call;
  clocks_.tick(rank);
  entered_[at(state.call)][at(rank)] = clocks_.own(rank);
}

/// A barrier promises that nobody leaves before everybody has entered.
void Machine::leaveCall(int rank, int call) {
  if (plan_.algorithm->collective != Collective::Barrier || !clocks_.on()) return;
  for (int q = 0; q < n_; ++q) {
    const uint32_t entry = entered_[at(call)][at(q)];
    if (q == rank || (entry != 0 && clocks_.known(rank, q) >= entry)) continue;
    findings_.push_back(
        format("rank %d, lane %d, call %d: leaves the barrier though rank %d may not "
               "have entered it",
               rank, job_.lane, call + 1, q));
    return;
  }
}

Machine::Outcome Machine::execute(int rank, const Step& step) {
  switch (step.kind) {
    case StepKind::Wait:
      return wait(rank, step);
    case StepKind::Barrier:
      return barrier(rank);
    case StepKind::Signal:
      clocks_.tick(rank);
      signal(rank, step);
      return Outcome::Done;
    default:
      return transfer(rank, step);
  }
}

Machine::Outcome Machine::wait(int rank, const Step& step) {
  const Queue& queue = queues_.source(step.from, rank, step.room);
  Reader& reader = queues_.reader(step.from, rank, step.room);
  if (reader.signals == queue.signals.size()) return Outcome::Blocked;
  const SignalMark& mark = queue.signals[reader.signals++];
  reader.visible = mark.visible;
  clocks_.tick(rank);
  clocks_.join(rank, mark.clock);
  RankState& state = ranks_[at(rank)];
  state.hops = std::max(state.hops, mark.hops + 1);
  return Outcome::Done;
}

void Machine::signal(int rank, const Step& step) {
  Queue& queue = queues_.queue(rank, step.to);
  queue.signals.push_back(
      SignalMark{queue.messages.size(), clocks_.save(rank), ranks_[at(rank)].hops});
}

Machine::Outcome Machine::barrier(int rank) {
  RankState& state = ranks_[at(rank)];
  if (barriers_.size() <= state.barriers) barriers_.resize(state.barriers + 1);
  BarrierState& here = barriers_[state.barriers];
  here.clock.resize(at(n_));
  if (!state.arrived) {
    state.arrived = true;
    clocks_.tick(rank);
    ++here.arrived;
    here.hops = std::max(here.hops, state.hops + 1);
    for (int q = 0; q < n_ && clocks_.on(); ++q) {
      here.clock[at(q)] = std::max(here.clock[at(q)], clocks_.known(rank, q));
    }
  }
  if (here.arrived < n_) return Outcome::Blocked;
  clocks_.join(rank, here.clock);
  state.hops = std::max(state.hops, here.hops);
  state.arrived = false;
  ++state.barriers;
  return Outcome::Done;
}

bool Machine::hasSlot(int rank, const Step& step) const {
  if ((step.bits & algo::kSend) == 0 || n_ == 1) return true;
  if (job_.staging == Staging::Strict && step.kind != StepKind::Move) return true;
  return queues_.used(rank, step.to) < static_cast<size_t>(job_.depth);
}

/// Whether the step's inputs are there, and a slot for its output.
bool Machine::ready(int rank, const Step& step) const {
  const auto waiting = [&](int from) {
    return queues_.source(from, rank, step.room).messages.size() >
           queues_.reader(from, rank, step.room).messages;
  };
  if (step.kind == StepKind::Move && takesFromOne(step)) {
    if (!waiting(step.from) || (step.from2 >= 0 && !waiting(step.from2))) return false;
  }
  return hasSlot(rank, step);
}

/// What is wrong with taking the next message of `from` by this step; empty: nothing.
std::string Machine::readFault(int rank, const Step& step, int from) const {
  const Queue& queue = queues_.source(from, rank, step.room);
  const Reader& reader = queues_.reader(from, rank, step.room);
  if (step.kind != StepKind::Move && reader.messages >= reader.visible) {
    return format("reads what rank %d puts without having waited for its signal", from);
  }
  const Message& message = queue.messages[reader.messages];
  if ((message.step->kind == StepKind::Move) != (step.kind == StepKind::Move)) {
    return format("takes what rank %d sent by %s", from, verbName(*message.step).c_str());
  }
  const Round &mine = job_.rounds[ranks_[at(rank)].round], &theirs = job_.rounds[message.round];
  // All-to-all: what lies in the reader's slot at its sender comes into the sender's slot here.
  const bool crossed = plan_.algorithm->collective == Collective::AllToAll;
  // By way of a third rank it comes from and into others; whether the values are right in the end,
  // checkRound() sees.
  const bool direct = message.step->slot == (crossed ? rank : step.slot) &&
                      step.slot == (crossed ? from : step.slot) &&
                      message.step->stride == step.stride;
  const bool relayed = crossed && !plan_.algorithm->uneven;
  const bool slotsMeet = message.step->slots == step.slots && (direct || relayed);
  if (!slotsMeet || message.step->offset != step.offset || message.step->count != step.count ||
      mine.call != theirs.call || mine.period != theirs.period) {
    return format("takes rank %d's next message, which holds elements %s%s of call %d, period %llu",
                  from, rangeText(message.step->offset, message.step->count).c_str(),
                  slots_ > 1 ? format(" of slot %d", message.step->slot).c_str() : "",
                  theirs.call + 1, theirs.period);
  }
  return "";
}

/// Operand `number` of several joins what the ones before it make.
Expr Machine::fold(Expr before, Expr operand, int number) {
  if (number == 0) return operand;
  return number == 1 ? expressions_.join(before, operand) : expressions_.chain(before, operand);
}

/// Takes the next message of `from` and folds it into the step's inputs, as operand `number`.
void Machine::consume(int rank, const Step& step, int from, std::vector<Expr>& into, int number) {
  Reader& reader = queues_.reader(from, rank, step.room);
  const Message& message = queues_.source(from, rank, step.room).messages[reader.messages++];
  for (size_t i = 0; i < into.size(); ++i) {
    const Expr value = queues_.values[message.values + i];
    into[i] = fold(into[i], value, number);
  }
  if (step.kind == StepKind::Move) {
    clocks_.join(rank, message.clock);
    RankState& state = ranks_[at(rank)];
    state.hops = std::max(state.hops, message.hops + 1);
  }
  reader.times.push_back(clocks_.own(rank));
  reader.by.push_back(&step);
}

/// The inputs become what dst holds by now.
bool Machine::takeOwn(int rank, const Step& step) {
  const RankState& state = ranks_[at(rank)];
  const Program p = job_.rounds[state.round].program;
  const Atoms atoms = atoms_[numberOf(p)][at(rank)][state.step];
  for (size_t i = 0; i < valuesOf(step, atoms); ++i) {
    if (state.dst.empty()) break;
    const Cell& own = state.dst[cell(step, p, atoms, i)];
    if (own.writer == nullptr) {
      fail(rank, "reads dst where it has not written yet");
      return false;
    }
    inputs_[i] = own.value;
  }
  if (!state.dst.empty()) return true;
  fail(rank, "reads dst where it has not written yet");
  return false;
}

/// Takes every rank's message, and folds those of the step's range in rank order.
void Machine::reduceRange(int rank, const Step& step) {
  const Expr mine = inputs_.empty() ? 0 : inputs_[0];
  std::vector<Expr> dropped(inputs_.size());
  for (int from = 0; from < n_; ++from) {
    const bool inRange = step.from <= from && from < step.from2;
    if (from == rank) {
      for (Expr& value : inputs_) {
        if (inRange) value = fold(value, mine, from - step.from);
      }
      continue;
    }
    if (const auto fault = readFault(rank, step, from); !fault.empty()) {
      fail(rank, fault);
      return;
    }
    consume(rank, step, from, inRange ? inputs_ : dropped, inRange ? from - step.from : 0);
  }
}

/// Brings what the step makes of its inputs into inputs_; false after a finding.
bool Machine::combine(int rank, const Step& step) {
  if (step.kind == StepKind::Reduce) {
    reduceRange(rank, step);
    return findings_.empty();
  }
  std::vector<Expr> own = inputs_;
  if ((step.bits & algo::kOwn) != 0) {
    if (!takeOwn(rank, step)) return false;
    own = inputs_;
  }
  if (!takesFromOne(step)) return true;
  for (const int from : {step.from, step.kind == StepKind::Move ? step.from2 : -1}) {
    if (from < 0) continue;
    const auto fault = readFault(rank, step, from);
    if (!fault.empty()) return fail(rank, fault) == Outcome::Done;
    consume(rank, step, from, inputs_, from == step.from ? 0 : 1);
  }
  before_ = inputs_;
  if ((step.bits & (algo::kSrc | algo::kOwn)) == 0) return true;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if ((step.bits & algo::kFirst) != 0) std::swap(inputs_[i], own[i]);
    inputs_[i] = step.from2 >= 0 ? expressions_.chain(inputs_[i], own[i])
                                 : expressions_.reduce(inputs_[i], own[i]);
  }
  return true;
}

/// Move, Put, Reduce and Fetch: takes inputs, combines, keeps and sends.
Machine::Outcome Machine::transfer(int rank, const Step& step) {
  if (!ready(rank, step)) return Outcome::Blocked;
  const RankState& state = ranks_[at(rank)];
  const Round& round = job_.rounds[state.round];
  const Atoms atoms = atoms_[numberOf(round.program)][at(rank)][state.step];
  inputs_.clear();
  for (int k = 0; k < step.slots; ++k) {
    inputs_.insert(inputs_.end(), atoms.count,
                   expressions_.leaf(round.call, rank, step.slot + k * step.stride));
  }
  clocks_.tick(rank);
  if (!combine(rank, step)) return Outcome::Failed;
  if ((step.bits & algo::kFinal) != 0) {
    for (Expr& value : inputs_) value = expressions_.final(value);
  }
  if ((step.bits & algo::kDst) != 0) {
    keep(rank, step, (step.bits & algo::kBefore) != 0 ? before_ : inputs_);
  }
  if ((step.bits & algo::kSend) != 0) post(rank, step, inputs_);
  return findings_.empty() ? Outcome::Done : Outcome::Failed;
}

void Machine::keep(int rank, const Step& step, const std::vector<Expr>& values) {
  RankState& state = ranks_[at(rank)];
  const Program p = job_.rounds[state.round].program;
  const Atoms atoms = atoms_[numberOf(p)][at(rank)][state.step];
  const size_t cells = static_cast<size_t>(slots_) * cuts_[numberOf(p)].size();
  if (state.dst.size() != cells) state.dst.assign(cells, Cell{0, nullptr});
  for (size_t i = 0; i < valuesOf(step, atoms); ++i) {
    state.dst[cell(step, p, atoms, i)] = Cell{values[i], &step};
  }
  if (clocks_.on()) dstWrites_.push_back({rank, state.round, &step, clocks_.save(rank)});
}

/// What keeps `value` from being what the collective promises there; empty: nothing.
std::string Machine::resultFault(int rank, int slot, Expr value, int call) {
  const auto leaf = [&](int of, int at) { return expressions_.leaf(call, of, at); };
  const auto reduction = [&](int lo, int hi, bool final) {
    return expressions_.reductionFault(value, {call, slot, lo, hi, final});
  };
  switch (plan_.algorithm->collective) {
    case Collective::Broadcast:
    case Collective::Scatter:
      return expressions_.copyFault(value, leaf(plan_.group.root, slot));
    case Collective::AllGather:
    case Collective::Gather:
      return expressions_.copyFault(value, leaf(slot, slot));
    case Collective::AllToAll:
      return expressions_.copyFault(value, leaf(slot, rank));
    case Collective::Scan:
      return reduction(0, rank + 1, false);
    case Collective::Exscan:
      return reduction(0, rank, false);
    case Collective::AllReduce:
    case Collective::Reduce:
    case Collective::ReduceScatter:
    case Collective::Barrier:
      break;
  }
  return reduction(0, n_, true);
}

/// At a round's end: dst holds what the collective promises, and what other ranks have.
void Machine::checkRound(int rank) {
  RankState& state = ranks_[at(rank)];
  const Round& round = job_.rounds[state.round];
  const size_t atoms = cuts_[numberOf(round.program)].size();
  for (size_t i = 0; i < state.dst.size(); ++i) {
    const Cell& own = state.dst[i];
    if (own.writer == nullptr) continue;
    const auto where = [&] { return place(rank, state.round, *own.writer); };
    const int slot = static_cast<int>(i / atoms);
    const std::string fault = resultFault(rank, slot, own.value, round.call);
    if (!fault.empty()) {
      findings_.push_back(where() + ": writes a wrong value into dst: " + fault);
      return;
    }
    const Roundings roundings = expressions_.roundings(own.value);
    roundings_.wide = std::max(roundings_.wide, roundings.wide);
    roundings_.narrow = std::max(roundings_.narrow, roundings.narrow);
    if (plan_.algorithm->collective != Collective::AllReduce) continue;
    auto& result = results_[state.round][i];
    if (!result) result = own.value;
    if (*result != own.value) {
      findings_.push_back(where() +
                          ": its result is associated otherwise than another rank's: not "
                          "the same bits");
      return;
    }
  }
  state.dst.clear();
}

void Machine::post(int rank, const Step& step, const std::vector<Expr>& values) {
  if (n_ == 1) return;
  const RankState& state = ranks_[at(rank)];
  queues_.queue(rank, step.to)
      .messages.push_back(
          Message{&step, state.round, queues_.values.size(), clocks_.save(rank), state.hops});
  queues_.values.insert(queues_.values.end(), values.begin(), values.end());
}

int Machine::hops() const {
  int most = 0;
  for (const RankState& state : ranks_) most = std::max(most, state.hops);
  return most;
}

}  // namespace rondo::verify

// Questions about order, answered from the clocks of a finished run.

#include "base/error.h"
#include "coll/step_text.h"
#include "coll/verify/machine.h"

namespace rondo::verify {
namespace {

bool has(const Step& step, int slot) {
  const int after = slot - step.slot;
  return after >= 0 && after % step.stride == 0 && after / step.stride < step.slots;
}

bool overlap(const Step& a, const Step& b) {
  if (a.offset >= b.offset + b.count || b.offset >= a.offset + a.count) return false;
  for (int k = 0; k < a.slots; ++k) {
    if (has(b, a.slot + k * a.stride)) return true;
  }
  return false;
}

/// In place a pure copy writes what is there already.
bool onlyCopies(const Step& step) {
  return step.kind == StepKind::Move && (step.bits & algo::kRecv) == 0;
}

/// Whether the step's message can be an address: what it posts lies in src or dst.
bool announces(const Step& step) {
  if (step.kind != StepKind::Move) return true;
  if ((step.bits & (algo::kOwn | algo::kBefore)) != 0) return false;
  const bool computes = (step.bits & algo::kRecv) != 0;
  return !computes || (step.bits & algo::kDst) != 0;
}

}  // namespace

template <class Visit>
void Machine::forReaders(const Message& message, int writer, Visit visit) const {
  for (int reader = 0; reader < n_; ++reader) {
    if (reader == writer || (message.step->to >= 0 && message.step->to != reader)) continue;
    visit(reader, queues_.reader(writer, reader, message.step->to < 0 ? Room::All : Room::Pair));
  }
}

/// A place is (reader, room, lane, writer, parity of the round, elements). Message j may overwrite
/// the place of an earlier message i only if i's reading happened before j's put.
Findings Machine::races() const {
  Findings out;
  const auto check = [&](int writer, const Queue& queue, size_t i, size_t j) {
    const Message &before = queue.messages[i], &after = queue.messages[j];
    if (before.step->kind == StepKind::Move || after.step->kind == StepKind::Move) return;
    if ((before.round & 1) != (after.round & 1) || !overlap(*before.step, *after.step)) return;
    forReaders(after, writer, [&](int reader, const Reader& state) {
      if (!out.empty() || clocks_.known(after.clock, reader) >= state.times[i]) return;
      out.push_back(place(writer, after.round, *after.step) +
                    format(": may overwrite what rank %d has still to read, put in call %d, period "
                           "%llu",
                           reader, job_.rounds[before.round].call + 1,
                           job_.rounds[before.round].period));
    });
  };
  for (int from = 0; from < n_; ++from) {
    for (int to = 0; to < n_; ++to) {
      const Queue& queue = queues_.queue(from, to);
      for (size_t j = 1; j < queue.messages.size() && out.empty(); ++j) {
        for (size_t i = 0; i < j; ++i) check(from, queue, i, j);
      }
    }
  }
  return out;
}

Findings Machine::overwrites() const {
  Findings out;
  const auto check = [&](const Message& message, size_t index, const DstWrite& write) {
    if (write.round != message.round || write.step == message.step || onlyCopies(*write.step) ||
        !announces(*message.step) || !overlap(*message.step, *write.step)) {
      return;
    }
    const uint32_t posted = clocks_.known(message.clock, write.rank);
    if (clocks_.known(write.clock, write.rank) < posted) return;  // the write came first
    forReaders(message, write.rank, [&](int reader, const Reader& state) {
      if (!out.empty() || clocks_.known(write.clock, reader) >= state.times[index]) return;
      out.push_back(place(write.rank, write.round, *write.step) +
                    format(": may overwrite what rank %d has still to read, announced by %s",
                           reader, describeStep(*message.step).c_str()));
    });
  };
  for (const DstWrite& write : dstWrites_) {
    for (int to = 0; to < n_ && out.empty(); ++to) {
      const auto& messages = queues_.queue(write.rank, to).messages;
      for (size_t i = 0; i < messages.size(); ++i) check(messages[i], i, write);
    }
  }
  return out;
}

Findings Machine::straights() const {
  for (int from = 0; from < n_; ++from) {
    for (int to = 0; to < n_; ++to) {
      const auto& messages = queues_.queue(from, to).messages;
      const auto& takers = queues_.reader(from, to, Room::Pair).by;
      for (size_t i = 0; from != to && i < takers.size(); ++i) {
        const Step& step = *messages[i].step;
        if (algo::sendsKept(step.bits) == algo::takesKept(takers[i]->bits)) continue;
        return {place(from, messages[i].round, step) +
                format(": rank %d takes it by %s, and one of them alone keeps what is sent", to,
                       describeStep(*takers[i]).c_str())};
      }
    }
  }
  return {};
}

}  // namespace rondo::verify

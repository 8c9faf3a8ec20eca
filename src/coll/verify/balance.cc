// Messages and signals add up, program by program.

#include "base/error.h"
#include "coll/verify/form.h"

namespace rondo::verify {
namespace {

/// One lane's program: counts per ordered pair (what a sender did for a reader, and what the reader
/// took), and per (sender, reader) of the sender's All room.
class Balance {
 public:
  Balance(const std::vector<Plan>& plans, int lane, Program program)
      : n_(static_cast<int>(plans.size())), lane_(lane), program_(program) {
    for (auto* counts : {&messages_, &signals_}) counts->resize(2 * plans.size() * plans.size());
    barriers_.resize(plans.size());
    for (const Plan& plan : plans) {
      for (const Step& step : stepsOf(plan, lane, program)) add(step, plan.group.rank);
    }
  }

  void report(Findings& out) const {
    const char* period = program_ == Program::Full ? "full" : "last";
    for (int from = 0; from < n_; ++from) {
      for (int to = 0; to < n_; ++to) {
        for (const Room room : {Room::Pair, Room::All}) {
          const size_t at = index(room, from, to);
          const char* name = room == Room::All ? "All" : "Pair";
          if (const int d = messages_[at]; d != 0) {
            out.push_back(
                format("lane %d, %s period: rank %d puts %d message%s %s than rank %d reads "
                       "into their %s room or queue",
                       lane_, period, from, d < 0 ? -d : d, d * d == 1 ? "" : "s",
                       d > 0 ? "more" : "fewer", to, name));
          }
          if (const int d = signals_[at]; d != 0) {
            out.push_back(
                format("lane %d, %s period: rank %d gives %d %s-room signal%s %s than rank "
                       "%d waits for",
                       lane_, period, from, d < 0 ? -d : d, name, d * d == 1 ? "" : "s",
                       d > 0 ? "more" : "fewer", to));
          }
        }
      }
      if (const int d = barriers_[static_cast<size_t>(from)] - barriers_[0]; d != 0) {
        out.push_back(format("lane %d, %s period: rank %d enters %d barrier%s %s than rank 0",
                             lane_, period, from, d < 0 ? -d : d, d * d == 1 ? "" : "s",
                             d > 0 ? "more" : "fewer"));
      }
    }
  }

 private:
  size_t index(Room room, int from, int to) const {
    const int at = (room == Room::All ? n_ * n_ : 0) + from * n_ + to;
    return static_cast<size_t>(at);
  }
  void count(std::vector<int>& counts, Room room, int from, int to, int by) {
    for (int peer = 0; peer < n_; ++peer) {
      if (from >= 0 && to < 0 && peer != from) counts[index(room, from, peer)] += by;
      if (from < 0 && peer != to) counts[index(room, peer, to)] += by;
    }
    if (from >= 0 && to >= 0) counts[index(room, from, to)] += by;
  }
  void add(const Step& step, int rank) {
    const Room toRoom = step.to < 0 ? Room::All : Room::Pair;
    if (step.kind == StepKind::Signal) return count(signals_, toRoom, rank, step.to, 1);
    if (step.kind == StepKind::Wait) return count(signals_, step.room, step.from, rank, -1);
    if (step.kind == StepKind::Barrier) {
      ++barriers_[static_cast<size_t>(rank)];
      return;
    }
    if ((step.bits & algo::kSend) != 0) count(messages_, toRoom, rank, step.to, 1);
    if ((step.bits & algo::kRecv) != 0 || step.kind == StepKind::Fetch ||
        step.kind == StepKind::Reduce) {
      count(messages_, step.room, step.kind == StepKind::Reduce ? -1 : step.from, rank, -1);
    }
    if (step.kind == StepKind::Move && step.from2 >= 0) {
      count(messages_, step.room, step.from2, rank, -1);
    }
  }

  int n_, lane_;
  Program program_;
  std::vector<int> messages_, signals_, barriers_;
};

}  // namespace

Findings balanceFindings(const std::vector<Plan>& plans) {
  Findings out;
  for (int lane = 0; lane < plans[0].geometry.lanes; ++lane) {
    for (const Program program : {Program::Full, Program::Last}) {
      if (has(plans[0].geometry, program)) Balance(plans, lane, program).report(out);
    }
  }
  return out;
}

}  // namespace rondo::verify

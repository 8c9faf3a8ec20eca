#include "coll/wait_cycle.h"

#include <algorithm>

#include "base/error.h"

namespace rondo {
namespace {

/// A rank that is inside a collective call.
struct Waiter {
  const FlightProcess* process;
  const FlightComm* comm;
  uint32_t sequence;
};

/// In a call that holds its caller until it has ended; requests and groups go on beside others.
bool blocks(const FlightComm& comm) {
  const FlightOp* const last = comm.last();
  return comm.alive && comm.broken.empty() && last != nullptr && last->running() &&
         last->facts.origin == OpOrigin::Call && !last->facts.isTransfers();
}

class Search {
 public:
  Search(const std::vector<FlightProcess>& processes, uint64_t id, int rank) {
    for (const FlightProcess& process : processes) {
      for (const FlightComm& comm : process.comms) {
        if (!comm.alive) continue;
        members_.push_back({&process, &comm, 0});
        if (!blocks(comm)) continue;
        waiters_.push_back({&process, &comm, comm.last()->facts.sequence});
        if (comm.id == id && comm.rank == rank) path_.push_back(waiters_.back());
      }
    }
    if (!path_.empty()) found_ = walk();
  }
  /// Each waits for the next, the last for the first; empty: there is no cycle.
  std::vector<Waiter> path() const { return found_ ? path_ : std::vector<Waiter>{}; }

 private:
  static bool missing(const FlightComm& member, const Waiter& waiter) {
    if (member.id != waiter.comm->id || member.rank == waiter.comm->rank) return false;
    const FlightOp* const last = member.lastCollective();
    return last == nullptr || last->facts.sequence < waiter.sequence;
  }
  /// From the last of the path on.
  bool walk() {
    const Waiter waiter = path_.back();
    for (const Waiter& member : members_) {
      if (!missing(*member.comm, waiter)) continue;
      for (const Waiter& next : waiters_) {
        if (next.process != member.process || next.comm->id == waiter.comm->id) continue;
        if (next.comm == path_.front().comm) return true;
        const bool seen = std::any_of(tried_.begin(), tried_.end(),
                                      [&](const FlightComm* each) { return each == next.comm; });
        if (seen) continue;
        tried_.push_back(next.comm);
        path_.push_back(next);
        if (walk()) return true;
        path_.pop_back();
      }
    }
    return false;
  }

  std::vector<Waiter> members_, waiters_, path_;
  std::vector<const FlightComm*> tried_;
  bool found_ = false;
};

std::string waiterText(const Waiter& waiter) {
  return format("rank %d of communicator \"%s\" (pid %d) in its collective %u, %s",
                waiter.comm->rank, waiter.comm->name.c_str(), waiter.process->pid, waiter.sequence,
                flightText(waiter.comm->last()->facts).c_str());
}

}  // namespace

std::string waitCycleText(const std::vector<FlightProcess>& processes, uint64_t id, int rank) {
  const std::vector<Waiter> path = Search(processes, id, rank).path();
  if (path.empty()) return "";
  std::string out;
  for (const Waiter& waiter : path) out += waiterText(waiter) + ", waits for ";
  return out +
         "the first to make that call; allowed: the same order of calls on all ranks, or calls "
         "that do not block (rondoGroupEndAsync)";
}

}  // namespace rondo

#include "coll/wait_cycle.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace rondo {
namespace {

/// A rank of a communicator.
struct Member {
  const FlightProcess* process;
  const FlightComm* comm;
  bool far;
};

/// Whom a call of sends and receives waits for, and what for.
struct Awaited {
  int rank;
  bool sends;  ///< This rank sends to it.
};

/// In a call that holds its caller until it has ended. The operations of a group do so together;
/// those of a request go on by themselves.
bool blocks(const FlightComm& comm) {
  const FlightOp* const last = comm.last();
  return comm.alive && comm.broken.empty() && last != nullptr && last->running() &&
         (last->facts.origin == OpOrigin::Call || last->facts.origin == OpOrigin::Group);
}

/// Nobody can leave it before everybody has entered it.
bool needsAll(const OpFacts& facts) {
  switch (static_cast<Collective>(facts.collective)) {
    case Collective::Barrier:
    case Collective::AllReduce:
    case Collective::AllGather:
    case Collective::AllToAll:
      return !facts.isTransfers();
    default:
      return false;
  }
}

/// What is outstanding of sends and receives; false if that is not known whole. Of one it is the
/// call itself, of several WaitText says it.
bool readAwaited(const FlightComm& comm, std::vector<Awaited>* out) {
  const FlightOp& op = *comm.last();
  if (op.facts.transfers == 1) {
    out->push_back({op.facts.root, op.facts.sends});
    return true;
  }
  if (comm.waits.empty() || comm.waitsSeen < op.started) return false;
  for (const char* at = comm.waits.c_str(); at != nullptr;) {
    int rank = 0;
    char what[6] = {};
    if (std::sscanf(at, "rank %d has not %5s", &rank, what) != 2) return false;
    out->push_back({rank, std::strcmp(what, "taken") == 0});
    at = std::strstr(at, "; ");
    if (at != nullptr) at += 2;
  }
  return true;
}

/// Whether `member`, which `waiter` sends to (or receives from), does its part of that, or may.
bool takesPart(const Member& member, const Member& waiter, bool sends) {
  if (member.far) return false;  // it waits in what it told of
  const FlightOp* const last = member.comm->last();
  if (last == nullptr || !last->running() || !last->facts.isTransfers()) return false;
  std::vector<Awaited> theirs;
  if (!readAwaited(*member.comm, &theirs)) return true;
  return std::any_of(theirs.begin(), theirs.end(), [&](const Awaited& each) {
    return each.rank == waiter.comm->rank && each.sends != sends;
  });
}

class Search {
 public:
  Search(const std::vector<FlightProcess>& near, const std::vector<FlightProcess>& far, uint64_t id,
         int rank) {
    add(near, false);
    add(far, true);
    const auto first = std::find_if(waiters_.begin(), waiters_.end(), [&](const Member& each) {
      return !each.far && each.comm->id == id && each.comm->rank == rank;
    });
    if (first == waiters_.end()) return;
    path_.push_back(*first);
    found_ = walk();
  }
  /// Each waits for the next, the last for the first; empty: there is no cycle.
  std::vector<Member> path() const { return found_ ? path_ : std::vector<Member>{}; }

 private:
  void add(const std::vector<FlightProcess>& processes, bool far) {
    for (const FlightProcess& process : processes) {
      for (const FlightComm& comm : process.comms) {
        if (!comm.alive) continue;
        members_.push_back({&process, &comm, far});
        if (blocks(comm) && (!far || needsAll(comm.last()->facts))) {
          waiters_.push_back(members_.back());
        }
      }
    }
  }

  /// Whether the waiter's call needs what `member` has not called.
  static bool missing(const Member& member, const Member& waiter) {
    if (member.comm->id != waiter.comm->id || member.comm->rank == waiter.comm->rank) return false;
    const FlightOp& call = *waiter.comm->last();
    if (call.facts.isTransfers()) {
      std::vector<Awaited> awaited;
      if (!readAwaited(*waiter.comm, &awaited)) return false;
      return std::any_of(awaited.begin(), awaited.end(), [&](const Awaited& each) {
        return each.rank == member.comm->rank && !takesPart(member, waiter, each.sends);
      });
    }
    // Who is far says what it waits in; what it went through without a wait it does not say.
    if ((member.far || waiter.far) && !needsAll(call.facts)) return false;
    const FlightOp* const last = member.comm->lastCollective();
    return last == nullptr || last->facts.sequence < call.facts.sequence;
  }

  /// Whether `next` is in the way of the call that is missing of `member`, a rank of its process.
  static bool holds(const Member& next, const Member& member) {
    if (next.process != member.process) return false;
    const FlightOp* const last = member.comm->last();
    // Calls of a group go on without their caller, on each communicator one after the other.
    const bool byItself =
        last != nullptr && last->running() && last->facts.origin != OpOrigin::Call;
    return !byItself || next.comm == member.comm;
  }

  /// From the last of the path on.
  bool walk() {
    const Member waiter = path_.back();
    for (const Member& member : members_) {
      if (!missing(member, waiter)) continue;
      for (const Member& next : waiters_) {
        if (next.comm == waiter.comm || !holds(next, member)) continue;
        if (next.comm == path_.front().comm) return true;
        if (std::find(tried_.begin(), tried_.end(), next.comm) != tried_.end()) continue;
        tried_.push_back(next.comm);
        path_.push_back(next);
        if (walk()) return true;
        path_.pop_back();
      }
    }
    return false;
  }

  std::vector<Member> members_, waiters_, path_;
  std::vector<const FlightComm*> tried_;
  bool found_ = false;
};

std::string memberText(const Member& waiter) {
  const FlightOp& op = *waiter.comm->last();
  const std::string host =
      waiter.far ? format("host \"%s\", ", waiter.process->host.c_str()) : std::string();
  return format("rank %d of communicator \"%s\" (%spid %d) in its %s %u, %s", waiter.comm->rank,
                waiter.comm->name.c_str(), host.c_str(), waiter.process->pid,
                op.facts.isTransfers() ? "exchange" : "collective", op.facts.sequence,
                flightText(op.facts).c_str());
}

}  // namespace

std::string waitCycleText(const std::vector<FlightProcess>& near,
                          const std::vector<FlightProcess>& far, uint64_t id, int rank) {
  const std::vector<Member> path = Search(near, far, id, rank).path();
  if (path.empty()) return "";
  std::string out;
  bool transfers = false;
  for (const Member& waiter : path) {
    out += memberText(waiter) + ", waits for ";
    transfers = transfers || waiter.comm->last()->facts.isTransfers();
  }
  return out + "the first to make that call; allowed: the same order of calls on all ranks, " +
         (transfers ? "sends and receives that wait for each other in one group "
                      "(rondoGroupStart), "
                    : "") +
         "or calls that do not block (rondoGroupEndAsync)";
}

}  // namespace rondo

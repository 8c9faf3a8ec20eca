#include "coll/wait_links.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace rondo {
namespace {

/// In a call that holds its caller until it has ended. The operations of a group do so together;
/// those of a request go on by themselves.
bool blocks(const FlightComm& comm) {
  const FlightOp* const last = comm.last();
  return comm.alive && comm.broken.empty() && last != nullptr && last->running() &&
         (last->facts.origin == OpOrigin::Call || last->facts.origin == OpOrigin::Group);
}

/// Calls of a group go on without their caller, on each communicator one after the other.
bool goesOn(const FlightComm& comm) {
  const FlightOp* const last = comm.last();
  return comm.alive && last != nullptr && last->running() && last->facts.origin != OpOrigin::Call;
}

bool knowsWhat(const FlightComm& comm) {
  return !comm.waits.empty() && comm.waitsSeen >= comm.last()->started;
}

void copyText(const std::string& from, char* to, size_t bytes) {
  std::memset(to, 0, bytes);
  std::memcpy(to, from.data(), std::min(from.size(), bytes - 1));
}

class Links {
 public:
  Links(const std::vector<FlightProcess>& near, const std::vector<FlightProcess>& far, int64_t now)
      : near_(near), far_(far), now_(now) {}

  std::vector<WaitNote> all() {
    for (const FlightProcess& process : near_) {
      for (const FlightComm& comm : process.comms) {
        if (blocks(comm)) out_.push_back(noteOf(process, comm));
      }
    }
    const size_t seen = out_.size();
    for (const FlightProcess& process : near_) {
      for (const WaitNote& note : process.notes) addHeard(note, seen);
    }
    return std::move(out_);
  }

 private:
  WaitNote noteOf(const FlightProcess& process, const FlightComm& comm) const {
    const FlightOp& op = *comm.last();
    WaitNote note{};
    note.process = keyOf(process);
    note.comm = comm.id;
    note.call = op.facts.words();
    note.started = op.started;
    note.seen = now_;
    note.rank = comm.rank;
    note.pid = process.pid;
    copyText(comm.name, note.name, sizeof note.name);
    const auto own = static_cast<size_t>(comm.rank);
    copyText(own < comm.members.size() ? comm.members[own].host : process.host, note.host,
             sizeof note.host);
    addFree(process, &note);
    note.whole = 1;
    if (op.facts.isTransfers()) {
      addTransfers(comm, &note);
    } else if (needsAll(op.facts)) {
      addAbsent(comm, &note);
    } else {
      addSenders(comm, &note);
    }
    return note;
  }

  static void addFree(const FlightProcess& process, WaitNote* note) {
    uint32_t used = 0;
    for (const FlightComm& comm : process.comms) {
      if (!goesOn(comm)) continue;
      // Too many to tell: nobody is said to wait for this process.
      if (used == WaitNote::kMostFree) note->process = 0;
      if (used < WaitNote::kMostFree) note->free[used++] = comm.id;
    }
  }

  void add(const FlightComm& comm, int rank, bool sends, WaitNote* note) const {
    if (note->awaited == WaitNote::kMostAwaited) {
      note->whole = 0;
      return;
    }
    note->whom[note->awaited++] = {keyOfMember(comm, rank), rank, sends ? 1u : 0u};
  }

  /// Of one it is the call itself, of several WaitText says what is outstanding.
  void addTransfers(const FlightComm& comm, WaitNote* note) const {
    const OpFacts& facts = comm.last()->facts;
    if (facts.transfers == 1) return add(comm, facts.root, facts.sends, note);
    note->whole = knowsWhat(comm) ? 1 : 0;
    for (const char* at = comm.waits.c_str(); note->whole != 0 && at != nullptr;) {
      int rank = 0;
      char what[6] = {};
      if (std::sscanf(at, "rank %d has not %5s", &rank, what) != 2) {
        note->whole = note->awaited = 0;
        return;
      }
      add(comm, rank, std::strcmp(what, "taken") == 0, note);
      at = std::strstr(at, "; ");
      if (at != nullptr) at += 2;
    }
  }

  /// Those whose messages its steps wait for: others may be late, and not be waited for.
  void addSenders(const FlightComm& comm, WaitNote* note) const {
    constexpr std::string_view kWords = "has no message of rank ";
    if (!knowsWhat(comm)) return;
    for (size_t at = comm.waits.find(kWords); at != std::string::npos;
         at = comm.waits.find(kWords, at + 1)) {
      int rank = 0;
      if (std::sscanf(comm.waits.c_str() + at + kWords.size(), "%d", &rank) == 1) {
        add(comm, rank, false, note);
      }
    }
  }

  void addAbsent(const FlightComm& comm, WaitNote* note) const {
    const uint64_t sequence = comm.last()->facts.sequence;
    for (const std::vector<FlightProcess>* const some : {&near_, &far_}) {
      for (const FlightProcess& process : *some) {
        for (const FlightComm& each : process.comms) {
          if (!each.alive || each.id != comm.id || each.rank == comm.rank) continue;
          if (each.collectives() >= sequence) continue;
          add(comm, each.rank, false, note);
        }
      }
    }
  }

  uint64_t keyOfMember(const FlightComm& comm, int rank) const {
    for (const std::vector<FlightProcess>* const some : {&near_, &far_}) {
      for (const FlightProcess& process : *some) {
        for (const FlightComm& each : process.comms) {
          if (each.id == comm.id && each.rank == rank) return keyOf(process);
        }
      }
    }
    const auto at = static_cast<size_t>(rank);
    if (rank < 0 || at >= comm.members.size() || comm.members[at].host == "?") return 0;
    return WaitNote::keyOf(comm.members[at].host, comm.members[at].pid);
  }

  /// What a near process waits in is seen here; its note may know better for whom.
  void addHeard(const WaitNote& note, size_t seen) {
    const bool near = std::any_of(near_.begin(), near_.end(), [&](const FlightProcess& each) {
      return keyOf(each) == note.process;
    });
    if (!near) return out_.push_back(note);
    for (size_t i = 0; i < seen; ++i) {
      if (!out_[i].sameCall(note) || out_[i].awaited >= note.awaited) continue;
      const int64_t now = out_[i].seen;
      out_[i] = note;
      out_[i].seen = now;
    }
  }

  const std::vector<FlightProcess>&near_, &far_;
  const int64_t now_;
  std::vector<WaitNote> out_;
};

}  // namespace

uint64_t keyOf(const FlightProcess& process) {
  for (const FlightComm& comm : process.comms) {
    const auto own = static_cast<size_t>(comm.rank);
    if (own >= comm.members.size() || comm.members[own].host == "?") continue;
    return WaitNote::keyOf(comm.members[own].host, comm.members[own].pid);
  }
  return WaitNote::keyOf(process.host, process.pid);
}

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

std::vector<WaitNote> waitLinks(const std::vector<FlightProcess>& near,
                                const std::vector<FlightProcess>& far, int64_t now) {
  return Links(near, far, now).all();
}

}  // namespace rondo

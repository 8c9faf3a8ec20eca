#pragma once
// A program that is rehearsed as one rank of a machine: its calls one after the other, each planned
// and timed, none of them moving anything.

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coll/sim/exchange_job.h"
#include "coll/sim/rehearsal.h"
#include "topo/graph.h"

namespace rondo::sim {

class ProgramComm;

/// One call as it happened.
struct ProgramCall {
  std::string name;  ///< "rondoAllReduce"
  uint64_t bytes;
  const char* algorithm;  ///< "p2p": sends and receives.
  Time start, time;
  const ProgramComm* comm;
};

/// The ranks of a communicator, and of those that were made with it and call when it does.
struct Members {
  /// The communicator first; each in the order of its ranks, numbered as on the machine. All of
  /// them have as many.
  std::vector<std::vector<int>> parts;
  int rank = 0;  ///< Which of the first part the program is.
};

/// A communicator that the program has.
class ProgramComm {
 public:
  ProgramComm(const topo::Graph& graph, std::string name, Members members,
              const std::vector<int>& places, bool keeps);

  const std::string& name() const { return name_; }
  const Members& members() const { return members_; }
  int rank() const { return members_.rank; }
  int ranks() const { return static_cast<int>(members_.parts[0].size()); }
  /// By rank: its host.
  std::vector<int> hosts() const;
  /// Its calls, and their time one after the other.
  uint64_t calls() const { return calls_; }
  Time time() const { return time_; }
  const ProgramCall& last() const { return last_; }  ///< Where there are calls.

  std::atomic<uint64_t> planning{0};  ///< Real nanoseconds that its calls took here.

 private:
  friend class Program;
  struct Exchanged {
    std::vector<int> ranks;
    Result result;
    Job job;  ///< Without plans.
  };

  std::string name_;
  Members members_;
  std::vector<int> numbers_;  ///< By rank of on_: its number on the machine.
  Rehearsal on_;
  std::map<std::vector<PeerTransfer>, Exchanged> exchanges_;
  uint64_t calls_ = 0;
  Time time_ = 0;
  ProgramCall last_{};
};

class Program {
 public:
  /// The first communicator is that of the machine's `ranks` first places; 0: of all. `keeps`:
  /// flows may be written later. Throws Error(rondoInvalidArgument).
  Program(topo::Graph graph, const std::string& name, int ranks, int rank, bool keeps);

  ProgramComm* first() { return comms_.front().get(); }
  /// A further one; it lives as long as this.
  ProgramComm* add(const std::string& name, Members members);
  /// Numbers for ranks that come later: first places of the machine where nobody has been, then of
  /// those that left. Throws Error(rondoInvalidArgument): fewer than `count` are free.
  std::vector<int> come(size_t count);
  /// These have left a communicator, and nobody says that they are elsewhere.
  void leave(const std::vector<int>& ranks);
  /// Of ranks as the machine numbers them.
  std::vector<int> hostsOf(const std::vector<int>& ranks) const;

  /// All ranks of the communicator make the call when this one does, and those of its like beside
  /// it. Returns its predicted time.
  Time collective(ProgramComm* comm, const std::string& name, const CallShape& shape);
  /// Peers meet this rank's sends and receives, and do nothing else meanwhile.
  Time exchange(ProgramComm* comm, const std::string& name,
                const std::vector<PeerTransfer>& transfers);
  /// What either would take, without being one of the program's calls.
  static Time foretell(ProgramComm* comm, const CallShape& shape);
  Time foretell(ProgramComm* comm, const std::vector<PeerTransfer>& transfers) const;

  const std::vector<ProgramCall>& calls() const { return calls_; }
  Time now() const { return now_; }

  /// A line a call: number, name, bytes, algorithm, start, time and communicator.
  std::string callsCsv() const;
  /// A timeline of this rank for Perfetto, with a row for each communicator.
  std::string traceJson() const;
  /// Every transfer of every call (flowsHead(), and the communicator), between ranks as the machine
  /// numbers them, as many calls as there is room for; *left: calls without their flows.
  std::string flowsCsv(size_t* left) const;

 private:
  /// What a call's flows are: a collective's, or an exchange's.
  struct Source {
    const Outcome* outcome;
    int root;
    const ProgramComm::Exchanged* exchanged;
  };
  const ProgramComm::Exchanged& exchanged(ProgramComm* comm,
                                          const std::vector<PeerTransfer>& transfers) const;
  void note(ProgramComm* comm, const std::string& name, uint64_t bytes, const char* algorithm,
            Time time, const Source& source);
  std::string flowsOf(const ProgramCall& call, const Source& source, uint64_t first) const;

  topo::Graph graph_;
  bool keeps_;
  std::vector<std::unique_ptr<ProgramComm>> comms_;
  std::vector<int> places_;  ///< By rank of the machine, those included that nobody is on.
  size_t used_;              ///< The first of them where nobody has been.
  std::vector<int> left_;    ///< In their order.
  std::vector<ProgramCall> calls_;
  std::vector<Source> sources_;  // of calls_
  Time now_ = 0;
};

}  // namespace rondo::sim

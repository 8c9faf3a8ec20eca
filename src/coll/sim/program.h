#pragma once
// A program that is rehearsed as one rank of a machine: its calls one after the other, each planned
// and timed, none of them moving anything.

#include <map>
#include <string>
#include <vector>

#include "coll/sim/exchange_job.h"
#include "coll/sim/rehearsal.h"
#include "topo/graph.h"

namespace rondo::sim {

/// One call as it happened.
struct ProgramCall {
  std::string name;  ///< "rondoAllReduce"
  uint64_t bytes;
  const char* algorithm;  ///< "p2p": sends and receives.
  Time start, time;
};

class Program {
 public:
  /// `keeps`: flows may be written later. Throws Error(rondoInvalidArgument).
  Program(topo::Graph graph, int ranks, int rank, bool keeps);

  const Rehearsal& on() const { return on_; }
  int rank() const { return rank_; }

  /// All ranks make the call when this one does. Returns its predicted time.
  Time collective(const std::string& name, const CallShape& shape);
  /// Peers meet this rank's sends and receives, and do nothing else meanwhile.
  Time exchange(const std::string& name, const std::vector<PeerTransfer>& transfers);

  const std::vector<ProgramCall>& calls() const { return calls_; }
  Time now() const { return now_; }

  /// A line a call: number, name, bytes, algorithm, start and time.
  std::string callsCsv() const;
  /// A timeline of this rank for Perfetto.
  std::string traceJson() const;
  /// Every transfer of every call (flowsHead()), as many calls as there is room for; *left: calls
  /// without their flows.
  std::string flowsCsv(size_t* left) const;

 private:
  struct Exchanged {
    std::vector<int> ranks;
    Result result;
    Job job;  ///< Without plans.
  };
  /// What a call's flows are: a collective's, or an exchange's.
  struct Source {
    const Outcome* outcome;
    int root;
    const Exchanged* exchanged;
  };
  void note(const std::string& name, uint64_t bytes, const char* algorithm, Time time,
            const Source& source);

  topo::Graph graph_;
  int rank_;
  Rehearsal on_;
  bool keeps_;
  std::map<std::vector<PeerTransfer>, Exchanged> exchanges_;
  std::vector<ProgramCall> calls_;
  std::vector<Source> sources_;  // of calls_
  Time now_ = 0;
};

}  // namespace rondo::sim

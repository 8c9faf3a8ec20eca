#pragma once
// Executes one lane of all ranks' plans on symbols instead of data.

#include <optional>
#include <string>
#include <vector>

#include "coll/verify/expressions.h"
#include "coll/verify/form.h"
#include "coll/verify/queues.h"

namespace rondo::verify {

/// One period of one call.
struct Round {
  int call;
  Count period;
  Program program;
};

struct Job {
  const std::vector<Plan>* plans;  ///< With no formFindings.
  int lane;
  Staging staging;
  int depth;
  std::vector<Round> rounds;  ///< In the order they run.
  bool clocks;                ///< Keep vector clocks, for the questions about order.
};

/// Every rank runs its steps in order; a step waits until what it needs is there and takes it. What
/// it needs, once there, stays until this rank takes it: every queue has one writer, every reader
/// has its own place in it, and slots are only taken by the rank that waits for them. So any order
/// of the ranks' steps leads to the same values and to the same end, and running one order tells of
/// all of them (a Kahn network with bounded queues).
class Machine {
 public:
  explicit Machine(const Job& job);

  /// Runs to the end or to the first finding; all of them end a lane, because what follows would be
  /// its consequence only.
  Findings run();

  /// After run(): puts that overwrite a place before it is known to have been read.
  Findings races() const;
  /// After run(): writes of dst before the peers are known to have read that block where it is.
  Findings overwrites() const;
  /// After run(): messages that one side alone keeps (straightFindings()).
  Findings straights() const;
  /// After run(): the longest chain of messages.
  int hops() const;
  /// After run(): of the results.
  Roundings roundings() const { return roundings_; }

 private:
  enum class Outcome { Done, Blocked, Failed };
  struct Atoms {
    uint32_t first;
    uint32_t count;
  };
  /// What a rank has written into an atom of dst in its round.
  struct Cell {
    Expr value;
    const Step* writer;  ///< nullptr: nothing yet.
  };
  /// A write of dst, for overwrites().
  struct DstWrite {
    int rank;
    size_t round;
    const Step* step;
    Snapshot clock;
  };
  struct RankState {
    size_t round = 0;
    size_t step = 0;
    int hops = 0;
    bool arrived = false;   // at the barrier it stands before
    size_t barriers = 0;    // passed
    int call = -1;          // entered
    std::vector<Cell> dst;  // [slot][atom], of the round
  };
  struct BarrierState {
    int arrived = 0;
    int hops = 0;
    std::vector<uint32_t> clock;
  };

  void cutIntoAtoms(Program program);
  const std::vector<Step>& program(int rank, Program p) const;
  const Step& current(int rank) const;
  bool finished(int rank) const { return ranks_[at(rank)].round == job_.rounds.size(); }
  static size_t at(int rank) { return static_cast<size_t>(rank); }

  bool advance(int rank);
  void enterCall(int rank);
  void leaveCall(int rank, int call);
  Outcome execute(int rank, const Step& step);
  Outcome wait(int rank, const Step& step);
  Outcome barrier(int rank);
  Outcome transfer(int rank, const Step& step);
  bool ready(int rank, const Step& step) const;
  bool hasSlot(int rank, const Step& step) const;
  std::string readFault(int rank, const Step& step, int from) const;
  Expr fold(Expr before, Expr operand, int number);
  void consume(int rank, const Step& step, int from, std::vector<Expr>& into, int number);
  void keep(int rank, const Step& step, const std::vector<Expr>& values);
  bool combine(int rank, const Step& step);
  bool takeOwn(int rank, const Step& step);
  void reduceRange(int rank, const Step& step);
  void checkRound(int rank);
  std::string resultFault(int rank, int slot, Expr value, int call);
  /// Of the i-th of the step's values, which go slot by slot.
  size_t cell(const Step& step, Program p, Atoms atoms, size_t i) const {
    const int slot = step.slot + static_cast<int>(i / atoms.count) * step.stride;
    return static_cast<size_t>(slot) * cuts_[p == Program::Full ? 0 : 1].size() + atoms.first +
           i % atoms.count;
  }
  static size_t valuesOf(const Step& step, Atoms atoms) {
    return static_cast<size_t>(atoms.count) * static_cast<size_t>(step.slots);
  }
  void signal(int rank, const Step& step);
  void post(int rank, const Step& step, const std::vector<Expr>& values);

  Outcome fail(int rank, const std::string& what);
  std::string place(int rank) const;
  std::string place(int rank, size_t round, const Step& step) const;
  std::string deadlock() const;
  std::string reason(int rank) const;
  template <class Visit>
  void forReaders(const Message& message, int writer, Visit visit) const;

  Job job_;
  int n_;
  const Plan& plan_;  // rank 0's, for what all share
  int slots_;
  std::vector<Count> cuts_[2];
  std::vector<std::vector<Atoms>> atoms_[2];  // [program][rank][step]
  Queues queues_;
  Clocks clocks_;
  Expressions expressions_;
  std::vector<RankState> ranks_;
  std::vector<BarrierState> barriers_;
  std::vector<std::vector<std::optional<Expr>>>
      results_;               // [round][atom], as the first rank has it
  std::vector<Expr> inputs_;  // of the step at work
  std::vector<Expr> before_;  // what a move with Before keeps
  std::vector<DstWrite> dstWrites_;
  std::vector<std::vector<uint32_t>> entered_;  // [call][rank]: the rank's own time
  Roundings roundings_{0, 0};
  Findings findings_;
};

}  // namespace rondo::verify

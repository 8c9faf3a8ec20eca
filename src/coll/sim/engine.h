#pragma once
// The event loop: processes (a lane of a rank each) that run their steps, channels between them,
// and links below.

#include <deque>
#include <queue>
#include <string>
#include <vector>

#include "coll/sim/compact.h"
#include "coll/sim/fair_links.h"
#include "coll/sim/period_times.h"
#include "coll/sim/routes.h"

namespace rondo::sim {

class Engine {
 public:
  Engine(const Job& job, const Compact& plans);
  Result run();
  /// After run(): the last two full periods took the same time, so that more of them would say
  /// nothing new.
  bool steady() const { return times_.lastAlike(); }

 private:
  using Wide = unsigned __int128;
  /// What a channel carries, in order: messages with bytes, and signals.
  struct Item {
    uint32_t bytes;
    bool signal;
    int32_t sender;  ///< Process that waits until its bytes are gone; -1: none.
    bool fullPeriod;
    int64_t transfer;  ///< Number in Result::transfers; -1: not kept.
    uint32_t times;    ///< Messages that it stands for.
  };
  struct ChannelState {
    std::deque<Item> waiting;  ///< The first one is under way if `busy`.
    bool busy = false;
    uint32_t posted = 0;   ///< Messages...
    uint32_t arrived = 0;  ///< ... that the reader can see,
    uint32_t taken = 0;    ///< has taken,
    uint32_t freed = 0;    ///< and whose slots the writer knows to be free.
    uint32_t signals = 0, signalsTaken = 0;
    int32_t route = -1;
    std::deque<int64_t> transfers;  ///< Of arrived messages, if they are kept.
  };
  enum class Phase : uint8_t { Ready, Working, Sending, AtBarrier, Finished };
  struct Process {
    Count period = 0;
    uint32_t step = 0;
    Phase phase = Phase::Ready;
    uint32_t unsent = 0;  ///< Items whose bytes must be gone before the step ends.
    Time ready = 0;       ///< When it came to its step.
    Time start = 0;
    int64_t took = -1;  ///< Transfer that the step has taken.
    Time half = 0;      ///< When it was at the half of what is left of a row (Run).
  };
  struct Rank {
    int worker = -1;             ///< Process that has its thread; -1: none.
    std::vector<int32_t> queue;  ///< Processes that want it.
  };
  enum class What : uint8_t { Work, Arrival, SignalArrival, Credit, Post, Barrier };
  struct Event {
    Time time;
    uint64_t order;
    What what;
    int32_t index;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  const std::vector<CompactStep>& program(const Process& p, size_t index) const {
    const auto& all = inFull(p) ? plans_.full : plans_.last;
    return all[index];
  }
  bool inFull(const Process& p) const { return p.period < periods_; }
  const CompactStep* current(int32_t process) const;
  int rankOf(int32_t process) const { return process / plans_.lanes; }
  void push(Time time, What what, int32_t index) { events_.push({time, order_++, what, index}); }

  void handle(const Event& event);
  void wake(int32_t process);
  void advance(int32_t process);
  void leavePeriod(int32_t process);
  bool ready(const CompactStep& step) const;
  bool hasSlot(const CompactStep& step) const;
  void begin(int32_t process, const CompactStep& step);
  void take(int32_t process, const CompactStep& step);
  void release(const CompactStep& step);
  void postAll(int32_t process, const CompactStep& step);
  void post(int32_t channel, const Item& item);
  void next(int32_t channel);
  void sent(int32_t channel);
  void finish(int32_t process);
  void measure(int32_t process);
  Wide leftOut(const std::vector<std::vector<Run>>& runs,
               const std::vector<std::vector<Time>>& longest) const;
  void letGo(int32_t process);
  void barrier(int32_t process);
  Time work(const CompactStep& step) const;
  Time fixedWork(const CompactStep& step) const;
  /// The channels that a step takes a message of.
  template <class Visit>
  void forInputs(const CompactStep& step, Visit visit) const {
    const bool all = step.kind == StepKind::Reduce;
    for (int i = 0; all && i < plans_.partRanks - 1; ++i) {
      visit(plans_.groups[static_cast<size_t>(step.in + i)]);
    }
    if (!all && step.in >= 0) visit(step.in);
    if (!all && step.in2 >= 0) visit(step.in2);
  }
  template <class Visit>
  void forOutputs(const CompactStep& step, Visit visit) const {
    if (step.out < 0) return;
    if (!step.toAll) return visit(step.out);
    for (int i = 0; i < plans_.partRanks - 1; ++i) {
      visit(plans_.groups[static_cast<size_t>(step.out + i)]);
    }
  }
  std::vector<std::string> blockedSteps() const;
  std::string reason(int32_t process) const;
  Result report();

  const Job& job_;
  const Compact& plans_;
  Count periods_;          ///< Full ones that are simulated...
  Count mostPeriods_ = 0;  ///< ... and as many as they may become.
  Routes routes_;
  FairLinks links_;
  std::vector<ChannelState> channels_;
  std::vector<Process> processes_;
  std::vector<Rank> ranks_;
  std::vector<int> arrivedAtBarrier_;  // by part x lanes + lane
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t order_ = 0;
  Time now_ = 0;
  PeriodTimes times_;
  bool closed_ = false;  ///< A process has left the last full period, so that none are added.
  /// By lane and run: the longest that a rank took for the later half of it.
  std::vector<std::vector<Time>> fullHalves_, lastHalves_;
  std::vector<uint64_t> fullBytes_, lastBytes_;  // by arc
  Result result_;
};

}  // namespace rondo::sim

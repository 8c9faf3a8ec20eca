#pragma once
// Runs a random program (support/storm_plan.h) on one rank, and looks at what comes of it.

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/storm_held.h"
#include "support/storm_plan.h"
#include "support/storm_watch.h"

namespace rondo::testing {

/// What the ranks of a storm share.
struct StormShared {
  const StormPlan& plan;
  StormWatch& watch;
  std::deque<PretendedHost> childHosts[2];  ///< By color.
  std::atomic<int> shown{0};                ///< Failures so far.
};

class StormRank {
 public:
  StormRank(StormShared& shared, const FarRank& me);
  ~StormRank();
  StormRank(const StormRank&) = delete;
  StormRank& operator=(const StormRank&) = delete;
  void run();

 private:
  using Comm = StormComm;

  void begin();
  void makeChild();
  bool alone(const StormStep& step);
  bool group(const StormStep& step);
  void leaveGroup(const std::vector<StormHeld*>& all);
  bool graph(const StormStep& step);
  void dawdle();
  void join(Comm& comm, std::vector<int> streams);

  StormHeld& hold(std::deque<StormHeld>& held, const StormCall& call);
  void check(std::deque<StormHeld>& held);
  bool finish();

  bool good(rondoResult_t result, const StormHeld& held);
  rondoResult_t issue(StormHeld& held, StormStep::How how);
  rondoResult_t issueMessages(StormHeld& held, bool grouped, bool severalStreams);
  rondoResult_t issueMessagesOnHost(StormHeld& held);
  rondoResult_t issueUneven(StormHeld& held, rondoStream_t stream);
  rondoResult_t issueCollective(StormHeld& held, rondoStream_t stream);
  PretendedStream& stream(int number) { return number == 0 ? me_.stream : me_.other; }
  Comm& commOf(const StormCall& call) { return comms_[call.comm]; }
  std::vector<int> streamsOf(const StormHeld& held, bool grouped) const;

  StormShared& shared_;
  const StormPlan& plan_;
  const FarRank& me_;
  std::mt19937 own_;
  Comm comms_[2];
  std::deque<StormHeld> held_;
  bool failed_ = false;
};

}  // namespace rondo::testing

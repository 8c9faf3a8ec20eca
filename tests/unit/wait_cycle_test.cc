// Ranks that wait for each other on different communicators, by what their processes wrote down.

#include "coll/wait_cycle.h"

#include <gtest/gtest.h>

#include "api/types.h"

namespace rondo {
namespace {

enum class At { In, After, InGroup };

/// Process `pid`'s rank of communicator `id`, whose last collective was number `sequence`.
FlightComm member(uint64_t id, int rank, At at, uint32_t sequence) {
  FlightComm comm;
  comm.id = id;
  comm.name = "c" + std::to_string(id);
  comm.rank = rank;
  comm.size = 3;
  if (sequence == 0) return comm;
  FlightOp op;
  op.facts.collective = static_cast<uint8_t>(Collective::Barrier);
  op.facts.sequence = sequence;
  op.facts.origin = at == At::InGroup ? OpOrigin::Async : OpOrigin::Call;
  op.started = 10;
  op.ended = at == At::After ? 20 : -1;
  comm.host.push_back(op);
  return comm;
}

FlightProcess process(int pid, std::vector<FlightComm> comms) {
  FlightProcess out;
  out.pid = pid;
  out.comms = std::move(comms);
  return out;
}

TEST(WaitCycle, TwoRanksThatCallInSwappedOrder) {
  const std::vector<FlightProcess> both = {
      process(11, {member(1, 0, At::In, 5), member(2, 0, At::After, 2)}),
      process(12, {member(1, 1, At::After, 4), member(2, 1, At::In, 3)})};
  const std::string first =
      "rank 0 of communicator \"c1\" (pid 11) in its collective 5, barrier, waits for ";
  const std::string second =
      "rank 1 of communicator \"c2\" (pid 12) in its collective 3, barrier, waits for ";
  const std::string end =
      "the first to make that call; allowed: the same order of calls on all ranks, or calls that "
      "do not block (rondoGroupEndAsync)";
  EXPECT_EQ(waitCycleText(both, 1, 0), first + second + end);
  EXPECT_EQ(waitCycleText(both, 2, 1), second + first + end);
  EXPECT_EQ(waitCycleText(both, 1, 1), "") << "it waits in no call there";
  EXPECT_EQ(waitCycleText({}, 1, 0), "");
}

TEST(WaitCycle, ThreeRanksOnThreeCommunicators) {
  std::vector<FlightProcess> all = {
      process(11, {member(1, 0, At::In, 1), member(3, 0, At::After, 0)}),
      process(12, {member(1, 1, At::After, 0), member(2, 1, At::In, 1)}),
      process(13, {member(2, 2, At::After, 0), member(3, 2, At::In, 1)})};
  const std::string text = waitCycleText(all, 1, 0);
  EXPECT_LT(text.find("(pid 11)"), text.find("(pid 12)"));
  EXPECT_LT(text.find("(pid 12)"), text.find("(pid 13)"));
  EXPECT_NE(text.find("(pid 13) in its collective 1, barrier, waits for the first"),
            std::string::npos)
      << text;
  all[2].comms[1].host.back().ended = 20;  // it computes, and may come
  EXPECT_EQ(waitCycleText(all, 1, 0), "");
}

TEST(WaitCycle, NoneWhereSomebodyIsOnlyLateOrDoesNotBlock) {
  // The other is in the same call, and a third is missing.
  EXPECT_EQ(waitCycleText({process(11, {member(1, 0, At::In, 5)}),
                           process(12, {member(1, 1, At::In, 5), member(2, 1, At::After, 1)}),
                           process(13, {member(1, 2, At::After, 4)})},
                          1, 0),
            "");
  // Rank 1 waits elsewhere, but for one that is not among them.
  EXPECT_EQ(waitCycleText({process(11, {member(1, 0, At::In, 5)}),
                           process(12, {member(1, 1, At::After, 4), member(2, 1, At::In, 3)}),
                           process(13, {member(2, 2, At::After, 2)})},
                          1, 0),
            "");
  // A group that runs by itself leaves its caller free.
  EXPECT_EQ(waitCycleText({process(11, {member(1, 0, At::In, 5), member(2, 0, At::After, 2)}),
                           process(12, {member(1, 1, At::After, 4), member(2, 1, At::InGroup, 3)})},
                          1, 0),
            "");
}

}  // namespace
}  // namespace rondo

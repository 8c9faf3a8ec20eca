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
  EXPECT_EQ(waitCycleText(both, {}, 1, 0), first + second + end);
  EXPECT_EQ(waitCycleText(both, {}, 2, 1), second + first + end);
  EXPECT_EQ(waitCycleText(both, {}, 1, 1), "") << "it waits in no call there";
  EXPECT_EQ(waitCycleText({}, {}, 1, 0), "");
}

TEST(WaitCycle, ThreeRanksOnThreeCommunicators) {
  std::vector<FlightProcess> all = {
      process(11, {member(1, 0, At::In, 1), member(3, 0, At::After, 0)}),
      process(12, {member(1, 1, At::After, 0), member(2, 1, At::In, 1)}),
      process(13, {member(2, 2, At::After, 0), member(3, 2, At::In, 1)})};
  const std::string text = waitCycleText(all, {}, 1, 0);
  EXPECT_LT(text.find("(pid 11)"), text.find("(pid 12)"));
  EXPECT_LT(text.find("(pid 12)"), text.find("(pid 13)"));
  EXPECT_NE(text.find("(pid 13) in its collective 1, barrier, waits for the first"),
            std::string::npos)
      << text;
  all[2].comms[1].host.back().ended = 20;  // it computes, and may come
  EXPECT_EQ(waitCycleText(all, {}, 1, 0), "");
}

/// In a send to `peer` or a receive from it; `at` as above.
FlightComm transferring(uint64_t id, int rank, bool sends, int peer, At at = At::In) {
  FlightComm comm = member(id, rank, at, 1);
  OpFacts& facts = comm.host.back().facts;
  facts.collective = OpFacts::kTransfers;
  facts.transfers = 1;
  facts.sends = sends;
  facts.root = peer;
  return comm;
}

/// In several transfers, of which the wait's text names those that are outstanding.
FlightComm exchanging(uint64_t id, int rank, const std::string& waits, At at = At::In) {
  FlightComm comm = transferring(id, rank, true, 0, at);
  comm.host.back().facts.transfers = 3;
  comm.waits = waits;
  comm.waitsSeen = 11;
  return comm;
}

TEST(WaitCycle, SendsAndReceivesThatWaitForEachOther) {
  const auto text = [](FlightComm a, FlightComm b) {
    return waitCycleText({process(11, {std::move(a)}), process(12, {std::move(b)})}, {}, 1, 0);
  };
  for (const bool sends : {false, true}) {
    EXPECT_NE(text(transferring(1, 0, sends, 1), transferring(1, 1, sends, 0)), "");
    EXPECT_EQ(text(transferring(1, 0, sends, 1), transferring(1, 1, !sends, 0)), "")
        << "they belong together";
  }
  EXPECT_NE(text(member(1, 0, At::In, 1), transferring(1, 1, false, 0)), "");
  EXPECT_EQ(text(transferring(1, 0, true, 1), transferring(1, 1, true, 0, At::After)), "");
  EXPECT_EQ(text(transferring(1, 0, true, 1), transferring(1, 1, true, 0, At::InGroup)), "");
  EXPECT_EQ(text(transferring(1, 0, true, 1), transferring(1, 1, true, 2)), "")
      << "it waits for somebody else";
}

TEST(WaitCycle, GroupsByWhatIsOutstanding) {
  const auto text = [](const char* a, const char* b) {
    return waitCycleText({process(11, {exchanging(1, 0, a)}), process(12, {exchanging(1, 1, b)})},
                         {}, 1, 0);
  };
  const char* const sends = "rank 1 has not taken 8 of 16 bytes";
  const char* const both = "rank 2 has not sent 8 of 8 bytes; rank 0 has not sent 1 of 16 bytes";
  EXPECT_EQ(text(sends, both), "") << "rank 1 receives it";
  EXPECT_EQ(text(sends, ""), "") << "not known";
  EXPECT_EQ(text(sends, "rank 2 has not sent 8 of 8 bytes; and 3 more"), "") << "not known whole";
  EXPECT_NE(text(sends, "rank 0 has not taken 16 of 16 bytes"), "");
  EXPECT_NE(text("rank 2 has not taken 1 of 2 bytes; rank 1 has not sent 8 of 8 bytes",
                 "rank 0 has not sent 8 of 8 bytes"),
            "");
}

TEST(WaitCycle, RanksOfOtherHostsByWhatTheyTold) {
  const std::vector<FlightProcess> near = {
      process(11, {member(1, 0, At::In, 5), member(2, 0, At::After, 2)})};
  std::vector<FlightProcess> far = {
      process(12, {member(1, 1, At::In, 4), member(2, 1, At::In, 3)})};
  far[0].host = "b";
  const std::string text = waitCycleText(near, far, 1, 0);
  EXPECT_NE(text.find("waits for rank 1 of communicator \"c2\" (host \"b\", pid 12) in its "
                      "collective 3, barrier, waits for the first"),
            std::string::npos)
      << text;
  // What a rank may have left again though not all have entered it proves nothing.
  far[0].comms[1].host.back().facts.collective = static_cast<uint8_t>(Collective::Broadcast);
  EXPECT_EQ(waitCycleText(near, far, 1, 0), "");
  far[0].comms[1] = member(2, 1, At::In, 2);
  EXPECT_EQ(waitCycleText(near, far, 1, 0), "") << "this rank has made that call";
}

TEST(WaitCycle, NoneWhereSomebodyIsOnlyLateOrDoesNotBlock) {
  // The other is in the same call, and a third is missing.
  EXPECT_EQ(waitCycleText({process(11, {member(1, 0, At::In, 5)}),
                           process(12, {member(1, 1, At::In, 5), member(2, 1, At::After, 1)}),
                           process(13, {member(1, 2, At::After, 4)})},
                          {}, 1, 0),
            "");
  // Rank 1 waits elsewhere, but for one that is not among them.
  EXPECT_EQ(waitCycleText({process(11, {member(1, 0, At::In, 5)}),
                           process(12, {member(1, 1, At::After, 4), member(2, 1, At::In, 3)}),
                           process(13, {member(2, 2, At::After, 2)})},
                          {}, 1, 0),
            "");
  // A group that runs by itself leaves its caller free.
  EXPECT_EQ(waitCycleText({process(11, {member(1, 0, At::In, 5), member(2, 0, At::After, 2)}),
                           process(12, {member(1, 1, At::After, 4), member(2, 1, At::InGroup, 3)})},
                          {}, 1, 0),
            "");
}

}  // namespace
}  // namespace rondo

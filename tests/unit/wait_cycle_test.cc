// Ranks that wait for each other on different communicators, by what their processes wrote down.

#include "coll/wait_cycle.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "api/types.h"
#include "coll/status_report.h"

namespace rondo {
namespace {

enum class At { In, After, InGroup };

/// Process `pid`'s rank of communicator `id`, whose last collective was number `sequence`.
FlightComm member(uint64_t id, int rank, At at, uint64_t sequence) {
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

/// After some hours of short calls.
TEST(WaitCycle, NumbersGoOnBeyondFourBillion) {
  constexpr uint64_t kLast = 0xffffffff;
  std::vector<FlightProcess> both = {
      process(11, {member(1, 0, At::In, kLast + 1), member(2, 0, At::After, kLast)}),
      process(12, {member(1, 1, At::After, kLast), member(2, 1, At::In, kLast + 1)})};
  EXPECT_NE(waitCycleText(both, {}, 1, 0).find("in its collective 4294967296, barrier, waits for"),
            std::string::npos);
  // Both are in the same call, and nobody is in another one.
  both[1].comms = {member(1, 1, At::In, kLast + 1), member(2, 1, At::After, kLast)};
  EXPECT_EQ(waitCycleText(both, {}, 1, 0), "");
  // It has come, and is ahead.
  both[0].comms[0] = member(1, 0, At::In, kLast);
  EXPECT_EQ(waitCycleText(both, {}, 1, 0), "");
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

struct Whom {
  std::string host;
  int pid, rank;
};
/// What `process` says of its rank of communicator `id`, which was in its call until `seen`.
WaitNote noteOf(const FlightProcess& process, uint64_t id, int rank, int64_t seen,
                const std::vector<Whom>& whom) {
  WaitNote note{};
  note.process = WaitNote::keyOf(process.host, process.pid);
  note.comm = id;
  note.rank = rank;
  note.pid = process.pid;
  note.started = 10;
  note.seen = seen;
  note.whole = 1;
  for (const FlightComm& comm : process.comms) {
    if (comm.id == id) note.call = comm.last()->facts.words();
  }
  std::snprintf(note.name, sizeof note.name, "c%d", static_cast<int>(id));
  std::snprintf(note.host, sizeof note.host, "%s", process.host.c_str());
  for (const Whom& each : whom) {
    note.whom[note.awaited++] = {WaitNote::keyOf(each.host, each.pid), each.rank, 0};
  }
  return note;
}

TEST(WaitCycle, RanksOfOtherHostsByWhatTheyTold) {
  const std::vector<FlightProcess> near = {
      process(11, {member(1, 0, At::In, 5), member(2, 0, At::After, 2)})};
  std::vector<FlightProcess> far = {
      process(12, {member(1, 1, At::In, 4), member(2, 1, At::In, 3)})};
  far[0].host = "b";
  EXPECT_EQ(waitCycleText(near, far, 1, 0), "") << "it has not said whom it waits for";
  std::vector<FlightProcess> told = near;
  told[0].notes = {noteOf(far[0], 2, 1, 20, {{"", 11, 0}})};
  const std::string text = waitCycleText(told, far, 1, 0);
  EXPECT_NE(text.find("waits for rank 1 of communicator \"c2\" (host \"b\", pid 12) in its "
                      "collective 3, barrier, waits for the first"),
            std::string::npos)
      << text;
  far[0].comms[0].host.back().facts.sequence = 5;
  EXPECT_EQ(waitCycleText(told, far, 1, 0), "") << "it has come";
  far[0].comms[0].host.back().facts.sequence = 4;
  told[0].notes[0].seen = 9;
  EXPECT_EQ(waitCycleText(told, far, 1, 0), "") << "that was before this rank began to wait";
}

/// Each of three hosts sees one link.
TEST(WaitCycle, OverHostsOfWhichNoneSeesTheWhole) {
  std::vector<FlightProcess> all = {
      process(11, {member(1, 0, At::In, 1), member(3, 0, At::After, 0)}),
      process(12, {member(1, 1, At::After, 0), member(2, 1, At::In, 1)}),
      process(13, {member(2, 2, At::After, 0), member(3, 2, At::In, 1)})};
  for (size_t k = 0; k < 3; ++k) all[k].host = std::string(1, static_cast<char>('a' + k));
  std::vector<FlightProcess> near = {all[0]};
  near[0].notes = {noteOf(all[1], 2, 1, 20, {{"c", 13, 2}}),
                   noteOf(all[2], 3, 2, 20, {{"a", 11, 0}})};
  const std::vector<FlightProcess> far = {all[1], all[2]};
  const std::string text = waitCycleText(near, far, 1, 0);
  EXPECT_NE(text.find("rank 1 of communicator \"c2\" (host \"b\", pid 12) in its collective 1, "
                      "barrier, waits for rank 2 of communicator \"c3\" (host \"c\", pid 13)"),
            std::string::npos)
      << text;
  // rondo-status knows of other hosts what the process was told.
  near[0].notes.push_back(noteOf(all[0], 1, 0, 20, {{"b", 12, 1}}));
  const Report report = reportOn(11, {{11, {}, near[0]}}, 30);
  EXPECT_NE(report.text.find("  A cycle of waits: rank 0 of communicator \"c1\" (pid 11) in its"),
            std::string::npos)
      << report.text;
  EXPECT_TRUE(report.trouble);
  near[0].notes[1].free[0] = 2;
  EXPECT_EQ(waitCycleText(near, far, 1, 0), "") << "its calls on c2 go on by themselves";
  near[0].notes.erase(near[0].notes.begin() + 1);
  EXPECT_EQ(waitCycleText(near, far, 1, 0), "") << "a link is missing";
  near[0].notes = {};
  EXPECT_EQ(waitCycleText(near, far, 1, 0), "");
}

/// The first message comes at a time at which nobody could know how it ends.
TEST(WaitCycle, SendsAndReceivesOverHosts) {
  const auto text = [](bool first, bool second) {
    FlightProcess a = process(11, {transferring(1, 0, first, 1)});
    FlightProcess b = process(12, {transferring(1, 1, second, 0)});
    a.comms[0].members = {{"a", 11}, {"b", 12}};
    a.host = "a";
    b.host = "b";
    WaitNote note = noteOf(b, 1, 1, 20, {{"a", 11, 0}});
    note.whom[0].sends = second ? 1 : 0;
    a.notes = {note};
    return waitCycleText({a}, {}, 1, 0);
  };
  EXPECT_NE(text(false, false), "");
  EXPECT_NE(text(true, true), "");
  EXPECT_EQ(text(true, false), "") << "they belong together";
}

/// Who is late for a broadcast is waited for only by those to whom it brings something.
TEST(WaitCycle, OfRootedCollectivesByTheirSteps) {
  const auto text = [](const char* waits) {
    FlightComm broadcast = member(1, 1, At::In, 1);
    broadcast.host.back().facts.collective = static_cast<uint8_t>(Collective::Broadcast);
    broadcast.waits = waits;
    broadcast.waitsSeen = 11;
    return waitCycleText({process(10, {member(1, 0, At::After, 0)}), process(11, {broadcast}),
                          process(12, {transferring(1, 2, false, 1)})},
                         {}, 1, 1);
  };
  EXPECT_EQ(text("lane 0: period 1 of 1, step 1 of 1 (recv) has no message of rank 0"), "");
  EXPECT_NE(text("lane 0: period 1 of 1, step 1 of 1 (recv) has no message of rank 2"), "");
  EXPECT_EQ(text(""), "");
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

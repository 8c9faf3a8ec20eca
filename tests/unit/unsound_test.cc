// Algorithms with one mistake each, and the sentence the verifier has for it.

#include "coll/recorder.h"
#include "plan_helpers.h"

namespace rondo {
namespace {

using namespace test;
using algo::Group;
using algo::kEveryone;
using algo::Part;

int oneBlock(int) { return 1; }
int blockPerRank(int ranks) { return ranks; }
int noFill(int) { return 0; }

using Record = void (*)(Recorder&, const Group&, const Part&);

Algorithm make(Collective collective, int (*blocks)(int), Record record, bool device = false) {
  return {"wrong", collective, blocks, record, false, noFill, device, ""};
}

Findings findingsOf(const Algorithm& algorithm, int ranks, const algo::Geometry& geometry,
                    const VerifyOptions& options = {}) {
  return verifyPlans(recordAllRanks(algorithm, ranks, 0, geometry), options);
}

::testing::AssertionResult says(const Findings& findings, const std::string& words) {
  for (const std::string& finding : findings) {
    if (finding.find(words) != std::string::npos) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "none says \"" << words << "\": " << text(findings);
}

/// Everyone sends its block round the ring and keeps what came, as an "all-reduce".
void shift(Recorder& p, const Group& g, const Part& part) {
  p.send(part.whole(), g.next());
  p.recv(part.whole(), g.prev());
}

TEST(Unsound, MissingContributions) {
  const Algorithm wrong = make(Collective::AllReduce, oneBlock, shift);
  const Findings found = findingsOf(wrong, 3, {5, 1, 0, 5, 1});
  EXPECT_TRUE(says(found, "rank 1's contribution is missing")) << text(found);
  EXPECT_TRUE(says(found, "call 1, period 0, rank 1, lane 0, full period, step 2 (recv 0> [0,5))"));
}

TEST(Unsound, ReceivingBeforeSendingIsADeadlockThatNamesEveryRank) {
  const Algorithm wrong = make(Collective::AllReduce, oneBlock, [](auto& p, auto& g, auto& part) {
    p.recvReduceCopy(part.whole(), g.prev());
    p.send(part.whole(), g.next());
  });
  // The send is also an in-place mistake, which would be told first: keep src apart.
  const auto plans = recordAllRanks(wrong, 2, 0, {4, 1, 0, 4, 1});
  EXPECT_TRUE(says(verifyPlans(plans), "reads src where rank 0, lane 0, full period, step 1"));

  const Algorithm crossed =
      make(Collective::AllReduce, blockPerRank, [](auto& p, auto& g, auto& part) {
        p.recvReduceCopySend(part.at(g.rank), g.prev(), g.next());
        p.send(part.at(g.next()), g.next());
        p.recv(part.at(g.next()), g.prev());
      });
  const Findings found = findingsOf(crossed, 2, {4, 1, 0, 2, 1});
  EXPECT_TRUE(says(found, "lane 0: deadlock: call 1, period 0, rank 0"));
  EXPECT_TRUE(says(found, "waits for a message of rank 1; call 1, period 0, rank 1"));
}

/// Everyone puts all its blocks, then reads: as many slots as blocks are needed.
void putAllFirst(Recorder& w, const Group& g, const Part& part) {
  for (int b = 0; b < g.size; ++b) {
    w.put(part.at(b), kEveryone);
    w.signal(kEveryone);
  }
  for (int b = 0; b < g.size; ++b) {
    for (int k = 1; k < g.size; ++k) w.wait(g.after(k), Room::All);
    w.reduce(part.at(b), Room::All);
  }
}

TEST(Unsound, MoreMessagesThanSlotsIsADeadlockOfThatDepthOnly) {
  const Algorithm greedy = make(Collective::AllReduce, blockPerRank, putAllFirst);
  const algo::Geometry geometry{9, 1, 0, 3, 1};
  EXPECT_TRUE(says(findingsOf(greedy, 3, geometry), "waits for a slot of its queue to everyone"));
  VerifyOptions deep;
  deep.depth = 3;
  EXPECT_TRUE(findingsOf(greedy, 3, geometry, deep).empty());
}

TEST(Unsound, EachRankReducingInItsOwnOrderIsNotTheSameBits) {
  const Algorithm wrong = make(Collective::AllReduce, oneBlock, [](auto& p, auto& g, auto& part) {
    p.send(part.whole(), g.next());
    p.recvReduceCopy(part.whole(), g.prev());
  });
  EXPECT_TRUE(says(findingsOf(wrong, 2, {4, 1, 0, 4, 1}), "not the same bits"));
}

/// Recursive doubling for four ranks, what comes first always: both of a pair have it otherwise.
TEST(Unsound, BothOfAPairNeedTheSameOrder) {
  const Algorithm wrong = make(Collective::AllReduce, oneBlock, [](auto& p, auto& g, auto& part) {
    p.send(part.whole(), g.rank ^ 1);
    p.recvReduceKeep(part.whole(), g.rank ^ 1);
    p.sendOwn(part.whole(), g.rank ^ 2);
    p.recvReduceOwnFinal(part.whole(), g.rank ^ 2);
  });
  EXPECT_TRUE(says(findingsOf(wrong, 4, {4, 1, 0, 4, 1}), "not the same bits"));
  EXPECT_TRUE(verifyPlans(recordAllRanks(*findAlgorithm(Collective::AllReduce, "doubling"), 4, 0,
                                         {4, 1, 0, 4, 1}))
                  .empty());
}

/// The same, sending the partial result in the step that makes it: the peer may read it in dst
/// while the next step overwrites it.
TEST(Unsound, PartialResultsThatArePostedWhereTheyStand) {
  const Algorithm wrong = make(Collective::Scan, oneBlock, [](auto& p, auto& g, auto& part) {
    const algo::Block b = part.whole();
    if (g.rank == 0) return p.copySend(b, 1);
    if (g.rank == 1) return p.recvReduceKeepSend(b, 0, 2);
    p.recvReduceKeep(b, 1);
  });
  EXPECT_TRUE(findingsOf(wrong, 3, {4, 1, 0, 4, 1}).empty());
  const Algorithm rewrites =
      make(Collective::AllGather, oneBlock, [](auto& p, auto& g, auto& part) {
        p.copySend(part.slot(g.rank), 1 - g.rank);
        p.recv(part.slot(1 - g.rank), 1 - g.rank);
        p.sendOwn(part.slot(g.rank), 1 - g.rank);
        p.recv(part.slot(1 - g.rank), 1 - g.rank);
        p.copy(part.slot(g.rank));
      });
  EXPECT_TRUE(says(findingsOf(rewrites, 2, {4, 1, 0, 4, 1}),
                   "step 5 (copy [0,4)): overwrites dst that rank 0, lane 0, full period, step 1 "
                   "(copySend [0,4) >1) has posted where it stands"));
}

/// Two ranks that give each other both slots at once.
TEST(Unsound, BlocksOfSeveralSlots) {
  const auto swap = [](Collective collective, Record record) {
    return findingsOf(make(collective, oneBlock, record), 2, {2, 1, 0, 3, 1});
  };
  const auto reduced = swap(Collective::ReduceScatter, [](auto& p, auto& g, auto& part) {
    p.send({part.offset, 1, 0, 2}, 1 - g.rank);
    p.recvReduceCopy({part.offset, 1, 0, 2}, 1 - g.rank);
  });
  EXPECT_TRUE(says(reduced, "several slots are only copied, sent and received"));
  const auto gathered = swap(Collective::AllGather, [](auto& p, auto& g, auto& part) {
    p.send({part.offset, 1, 0, 2}, 1 - g.rank);
    p.recv({part.offset, 1, 0, 2}, 1 - g.rank);
  });
  EXPECT_TRUE(says(gathered, "this rank has not all of its slots"));
  const auto beyond = swap(Collective::AllToAll, [](auto& p, auto& g, auto& part) {
    p.send({part.offset, 1, 1, 2}, 1 - g.rank);
    p.recv({part.offset, 1, 0, 2, 3}, 1 - g.rank);
  });
  EXPECT_TRUE(says(beyond, "slot 2 does not exist"));
  EXPECT_TRUE(says(beyond, "its slots do not lie in the collective's"));
  const auto tooLong = swap(Collective::AllToAll, [](auto& p, auto& g, auto& part) {
    p.send({part.offset, part.count, 0, 2}, 1 - g.rank);
    p.recv({part.offset, part.count, 0, 2}, 1 - g.rank);
  });
  EXPECT_TRUE(says(tooLong, "its 4 elements do not fit a slot of 3"));
}

TEST(Unsound, FirstNeedsTwoOperands) {
  auto plans = recordAllRanks(*findAlgorithm(Collective::AllReduce, "tree"), 3, 0, {4, 1, 0, 4, 1});
  plans[1].lanes[0].full[0].bits |= algo::kFirst;  // joins three
  plans[0].lanes[0].full[0].bits |= algo::kFirst;  // sends
  const Findings found = verifyPlans(plans);
  ASSERT_EQ(found.size(), 2u) << text(found);
  for (const std::string& finding : found) {
    EXPECT_NE(finding.find("First needs a reduction of two operands"), std::string::npos);
  }
}

TEST(Unsound, FinalTooEarlyOrNotAtAll) {
  const Algorithm* ring = findAlgorithm(Collective::AllReduce, "ring");
  auto plans = recordAllRanks(*ring, 3, 0, {6, 1, 0, 2, 1});
  for (Plan& plan : plans) plan.lanes[0].full[1].bits |= algo::kFinal;
  EXPECT_TRUE(says(verifyPlans(plans), "Final is applied before the end"));
  for (Plan& plan : plans) {
    plan.lanes[0].full[1].bits &= static_cast<uint8_t>(~algo::kFinal);
    plan.lanes[0].full[2].bits &= static_cast<uint8_t>(~algo::kFinal);
  }
  EXPECT_TRUE(says(verifyPlans(plans), "it does not end in a Final reduction"));
}

TEST(Unsound, ReadingWithoutAWait) {
  const Algorithm wrong = make(Collective::Broadcast, oneBlock, [](auto& w, auto& g, auto& part) {
    if (g.rank == g.root) {
      w.put(part.whole(), kEveryone);
      return w.copy(part.whole());
    }
    w.fetch(part.whole(), g.root, Room::All);
  });
  EXPECT_TRUE(says(findingsOf(wrong, 3, {4, 1, 0, 4, 1}), "without having waited for its signal"));
}

TEST(Unsound, MessagesNobodyReads) {
  const Algorithm wrong = make(Collective::Broadcast, oneBlock, [](auto& w, auto& g, auto& part) {
    if (g.rank == g.root) w.put(part.whole(), kEveryone);
    if (g.rank == g.root) w.signal(kEveryone);
    if (g.rank == g.root) return w.copy(part.whole());
    w.wait(g.root, Room::All);
    w.fetch(part.whole(), g.root, Room::All);
    w.fetch(part.whole(), g.root, Room::All);
  });
  EXPECT_TRUE(
      says(findingsOf(wrong, 2, {4, 1, 0, 4, 1}), "puts 1 message fewer than rank 1 reads"));
}

TEST(Unsound, LanesThatTouchEachOthersElements) {
  const Algorithm* ring = findAlgorithm(Collective::Broadcast, "ring");
  auto plans = recordAllRanks(*ring, 2, 0, {8, 2, 0, 4, 1});
  for (Plan& plan : plans) plan.lanes[1].full[0].offset = 3;
  const Findings found = verifyPlans(plans);
  EXPECT_TRUE(says(found, "elements [3,4) of dst are written more than once"));
  EXPECT_TRUE(says(found, "elements [7,8) of dst are never written"));
}

TEST(Unsound, ABarrierThatOnlyTellsTheNextRank) {
  const Algorithm wrong =
      make(Collective::Barrier, oneBlock, [](auto& w, auto& g, auto&) { w.signal(g.next()); });
  auto plans = recordAllRanks(wrong, 3, 0, {0, 1, 0, 1, 1});
  for (Plan& plan : plans) {
    plan.lanes[0].last.push_back(Step{StepKind::Wait, 0, Room::Pair, plan.group.prev(), -1, 0, 0});
  }
  EXPECT_TRUE(says(verifyPlans(plans), "leaves the barrier though rank"));
}

/// A broadcast whose root never hears back: fine with credits, a race without.
TEST(Unsound, OneShotBroadcastIsARaceWithoutCredits) {
  Algorithm algorithm = *findAlgorithm(Collective::Broadcast, "oneshot");
  EXPECT_TRUE(algorithm.deviceMeets);
  EXPECT_TRUE(findingsOf(algorithm, 3, {4, 1, 0, 4, 1}).empty());
  algorithm.device = true;
  algorithm.deviceMeets = false;
  EXPECT_TRUE(says(findingsOf(algorithm, 3, {4, 1, 0, 4, 1}),
                   "call 3, period 0, rank 0, lane 0, full period, step 1 (put [0,4) >*): may "
                   "overwrite what rank 1 has still to read, put in call 1, period 0"));
}

}  // namespace
}  // namespace rondo

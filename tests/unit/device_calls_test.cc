// Who is behind with calls on device memory, and whose calls differ: from records alone.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "coll/device_calls.h"
#include "coll/patrol.h"
#include "coll/progress.h"
#include "coll/registry.h"

namespace rondo {
namespace {

constexpr int64_t kSecond = 1000000000;

FlightOp call(uint64_t sequence, Collective collective, uint64_t count, int64_t started) {
  FlightOp op;
  op.facts.collective = static_cast<uint8_t>(collective);
  op.facts.origin = OpOrigin::Device;
  op.facts.type = rondoFloat32;
  op.facts.op = rondoSum;
  op.facts.count = count;
  op.facts.sequence = sequence;
  op.started = op.ended = started;
  return op;
}

/// Three ranks that have made two calls each, after others.
std::vector<DeviceCalls> threeRanks(uint64_t before = 0) {
  std::vector<DeviceCalls> all(3);
  for (int r = 0; r < 3; ++r) {
    DeviceCalls& each = all[static_cast<size_t>(r)];
    each.rank = r;
    each.who = "rank " + std::to_string(r) + " (host \"a\", pid 1)";
    each.ops = {call(before + 1, Collective::AllReduce, 8, kSecond),
                call(before + 2, Collective::AllGather, 4, 2 * kSecond)};
  }
  return all;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(DeviceCalls, EqualOnesAreNoMismatch) {
  std::vector<DeviceCalls> all = threeRanks();
  EXPECT_EQ(deviceMismatch(all, "dp"), "");
  all[1].ops.pop_back();                  // it is late
  all[2].ops.erase(all[2].ops.begin());   // it has made so many that the first is gone
  all[0].ops.back().facts.op = rondoMax;  // gathers have no operator
  EXPECT_EQ(deviceMismatch(all, "dp"), "");
}

TEST(DeviceCalls, TheFirstDifferenceIsNamed) {
  std::vector<DeviceCalls> all = threeRanks();
  all[1].ops[1].facts.count = 5;
  EXPECT_EQ(deviceMismatch(all, "dp"),
            "rank 0 calls allgather with count 4, datatype float32 where rank 1 calls allgather "
            "with count 5, datatype float32: both are collective 2 on device memory of "
            "communicator \"dp\"; allowed: the same call on every rank");
  all[2].ops[0].facts.op = rondoMax;
  EXPECT_TRUE(has(deviceMismatch(all, "dp"), "op sum where rank 2 calls allreduce"))
      << deviceMismatch(all, "dp");
  all[0].ops[0].facts.op = 1024;  // made ones, each with its rank's number
  all[1].ops[0].facts.op = 1025;
  all[2].ops[0].facts.op = 1026;
  EXPECT_TRUE(has(deviceMismatch(all, "dp"), "both are collective 2"));
}

TEST(DeviceCalls, OfGraphsAreNotCompared) {
  std::vector<DeviceCalls> all = threeRanks();
  all[1].ops[1].facts.count = 5;
  all[2].ops[1].facts.captured = true;
  all[0].left = true;
  all[0].ops.pop_back();
  EXPECT_EQ(deviceMismatch(all, "dp"), "");
  EXPECT_EQ(deviceDeserter(all, 1), -1);
  EXPECT_TRUE(has(deviceStall(all, 1, "dp", 1, 0), ". Calls of graphs are not counted"));
}

TEST(DeviceCalls, WhoLeavesBeforeACallIsADeserter) {
  std::vector<DeviceCalls> all = threeRanks();
  all[2].left = true;
  EXPECT_EQ(deviceDeserter(all, 0), -1);  // it has done all that rank 0 has
  all[2].ops.pop_back();
  EXPECT_EQ(deviceDeserter(all, 0), 2);
  all[2].left = false;
  EXPECT_EQ(deviceDeserter(all, 0), -1);  // late
  all[1].left = true;
  EXPECT_EQ(deviceDeserter(all, 2), -1);
  EXPECT_EQ(deviceDeserter(all, 7), -1);
}

/// After some hours of short calls their number has more than 32 bits.
TEST(DeviceCalls, NumbersGoOnBeyondFourBillion) {
  constexpr uint64_t kBefore = 0xfffffffe;
  std::vector<DeviceCalls> all = threeRanks(kBefore);
  all[2].left = true;
  EXPECT_EQ(deviceDeserter(all, 0), -1) << "it has done all that rank 0 has";
  // Of rank 0 an earlier call can still be read, of the one that has left none.
  all[2].ops.erase(all[2].ops.begin());
  EXPECT_EQ(deviceDeserter(all, 0), -1);
  all = threeRanks(kBefore);
  all[2].ops.pop_back();
  EXPECT_TRUE(has(deviceStall(all, 0, "dp", 5, 32 * kSecond),
                  "is collective 4294967296 there, allgather with count 4, datatype float32, "
                  "launched 30 s ago. Not in that call yet: rank 2 "));
  all[2].left = true;
  EXPECT_EQ(deviceDeserter(all, 0), 2);
  all = threeRanks(kBefore);
  all[1].ops[0].facts.count = all[1].ops[1].facts.count = 5;
  EXPECT_TRUE(has(deviceMismatch(all, "dp"), "both are collective 4294967295 on device memory"))
      << "the first one: " << deviceMismatch(all, "dp");
  FlightOp sends;
  sends.facts.collective = OpFacts::kTransfers;
  sends.facts.collectives = kBefore + 2;
  all[2].ops = {sends};
  all[2].left = true;
  EXPECT_EQ(deviceDeserter(all, 0), -1);
}

TEST(DeviceCalls, CollectivesBeforeManySendsCount) {
  std::vector<DeviceCalls> all = threeRanks();
  FlightOp sends;
  sends.facts.collective = OpFacts::kTransfers;
  sends.facts.collectives = 2;
  all[2].ops = {sends};
  all[2].left = true;
  EXPECT_EQ(deviceDeserter(all, 0), -1);
  EXPECT_FALSE(has(deviceStall(all, 0, "dp", 1, 0), "Not in that call yet"));
  all[2].ops.back().facts.collectives = 1;
  EXPECT_EQ(deviceDeserter(all, 0), 2);
}

TEST(DeviceCalls, WhoFinalizesBeforeACallIsADeserter) {
  std::vector<DeviceCalls> all = threeRanks();
  noteOver({false, true, true}, &all);
  EXPECT_EQ(deviceDeserter(all, 0), -1);
  all[2].ops.pop_back();
  EXPECT_EQ(deviceDeserter(all, 0), 2);
  all = threeRanks();
  all[2].ops.pop_back();
  all[1].rank = -1;  // nobody's
  noteOver({true, true, false}, &all);
  EXPECT_EQ(deviceDeserter(all, 0), -1);
}

TEST(DeviceCalls, AStallSaysWhoIsBehind) {
  std::vector<DeviceCalls> all = threeRanks();
  all[2].ops.pop_back();
  all[2].process = "stopped";
  all[1].kernelWaits = 31 * kSecond;
  all[1].ops.back().facts.way = DeviceWay::kSimple;
  const Algorithm* const ring = findAlgorithm(Collective::AllGather, "ring");
  ASSERT_NE(ring, nullptr);
  all[1].ops.back().facts.choice = choiceOf(ring, 96);
  all[2].kernelWaits = 29 * kSecond;
  EXPECT_EQ(
      deviceStall(all, 0, "dp", 5, 32 * kSecond),
      "communicator \"dp\": a kernel of rank 0 (host \"a\", pid 1) has waited 5 s; its last "
      "call on device memory is collective 2 there, allgather with count 4, datatype float32, "
      "launched 30 s ago. Not in that call yet: rank 2 (host \"a\", pid 1) last called "
      "collective 1 there, allreduce with count 8, datatype float32, op sum, launched 31 s "
      "ago, no kernel of it says that it waits, its process is stopped. Others: rank 1 (host "
      "\"a\", pid 1) last called collective 2 there, allgather with count 4, datatype float32 "
      "(ring, Simple), launched 30 s ago, its kernel waits too");
  // the kernel may not have had the time to say so
  EXPECT_TRUE(!has(deviceStall(all, 0, "dp", 1, 3 * kSecond), "kernel of it"));
  all[2].ops.clear();
  EXPECT_TRUE(has(deviceStall(all, 0, "dp", 5, 32 * kSecond),
                  "rank 2 (host \"a\", pid 1) last called none"));
}

/// The progress thread is asleep for good when the first one comes.
TEST(Patrol, LooksUntilItIsTakenAway) {
  std::atomic<int> looks{0};
  const int owner = 0;
  ProgressThread::patrol(&owner, [&] { ++looks; });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (looks < 3 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(looks, 3);
  Patrol::one().remove(&owner);
  const int then = looks;
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(looks, then);
  EXPECT_EQ(Patrol::one().pauseMs(), -1);
}

}  // namespace
}  // namespace rondo

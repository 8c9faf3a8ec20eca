// What ranks really send each other, message by message, is what the recorded plan says.

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "api/handle.h"
#include "p2p/trace_ports.h"
#include "support/buffer.h"
#include "support/values.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr rondoDataType_t kType = rondoInt32;

/// Shorter blocks are copied wherever they are (coll/runner.cc).
constexpr uint64_t kLeastInPlace = 4096;

/// One collective, forced to one algorithm.
struct Call {
  Collective collective;
  const char* rule;
  int ranks;
  int root;
  size_t count;

  size_t bytes() const { return count * typeSize(kType); }
  std::string text() const {
    return std::string(rule) + ", " + std::to_string(ranks) + " ranks, root " +
           std::to_string(root) + ", count " + std::to_string(count);
  }
};

/// The sizes of the messages through each port, in order.
using Key = std::tuple<int, int, bool, bool, int>;
using Sizes = std::map<Key, std::vector<uint64_t>>;
Key keyOf(const PortId& id) { return {id.rank, id.lane, id.sends, id.everyone, id.peer}; }

/// Makes the call on ordinary memory or on memory of rondoMemAlloc; every rank's answer is checked.
std::vector<TracedMessage> traced(const Call& call, bool shared, CommFacts* facts) {
  const auto log = std::make_shared<MessageLog>();
  World world(call.ranks);
  world.tune(call.rule).decorate(
      [&log](Channels& channels, int rank) { tracePorts(channels, rank, log); });
  world.run([&](const Rank& me) {
    if (me.rank == 0) *facts = me.comm->impl->facts();
    Buffer send(call.bytes(), shared, 0), recv(call.bytes(), shared, 0);
    repeat(send.data(), call.bytes(), contribution(kType, rondoSum, me.rank));
    const bool reduces = call.collective == Collective::AllReduce;
    ASSERT_EQ(reduces ? rondoAllReduce(send.data(), recv.data(), call.count, kType, rondoSum,
                                       me.comm, nullptr)
                      : rondoBroadcast(send.data(), recv.data(), call.count, kType, call.root,
                                       me.comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(firstWrong(recv.data(), call.bytes(),
                         reduces ? expectedValues(kType, rondoSum, me.size)
                                 : contribution(kType, rondoSum, call.root)),
              call.bytes())
        << call.text();
  });
  return log->take();
}

/// Adds what one step sends and reads. A signal has no message of its own: posting is the signal.
void addStep(const Step& step, int lane, const algo::Group& group, Sizes* sizes) {
  const uint64_t bytes = elementsOf(step) * typeSize(kType);
  const int rank = group.rank;
  const bool barrier = step.kind == StepKind::Barrier;
  if (barrier || (step.bits & algo::kSend) != 0) {
    const bool all = barrier || step.to == algo::kEveryone;
    (*sizes)[{rank, lane, true, all, all ? kAllPeers : step.to}].push_back(bytes);
  }
  const bool readsAll = barrier || step.kind == StepKind::Reduce;
  const bool reads = step.kind == StepKind::Fetch || (step.bits & algo::kRecv) != 0;
  for (int peer = 0; peer < group.size; ++peer) {
    if (peer == rank || !(readsAll || (reads && peer == step.from))) continue;
    const bool everyone = step.kind != StepKind::Move && step.room == Room::All;
    (*sizes)[{rank, lane, false, everyone, peer}].push_back(bytes);
  }
}

/// What the plans of all ranks say.
Sizes planned(const Call& call, const CommFacts& facts) {
  Sizes sizes;
  const Request request{call.collective, call.count, typeSize(kType), call.root};
  const Candidate best = rankCandidates(request, facts, parseTune(call.rule)).front();
  for (int rank = 0; rank < call.ranks; ++rank) {
    const algo::Group group{rank, call.ranks, call.root};
    const Plan plan = recordPlan(*best.algorithm, group, best.geometry);
    for (size_t lane = 0; lane < plan.lanes.size(); ++lane) {
      const LaneProgram& program = plan.lanes[lane];
      const auto add = [&](const Step& step) {
        if (step.kind != StepKind::Signal && step.kind != StepKind::Wait) {
          addStep(step, static_cast<int>(lane), group, &sizes);
        }
      };
      for (Count p = 0; p < best.geometry.fullPeriods(); ++p) {
        for (const Step& step : program.full) add(step);
      }
      for (const Step& step : program.last) add(step);
    }
  }
  return sizes;
}

Sizes sizesOf(const std::vector<TracedMessage>& messages) {
  Sizes sizes;
  for (const TracedMessage& message : messages) {
    sizes[keyOf(message.port)].push_back(message.bytes);
  }
  return sizes;
}

uint64_t bytesSent(const std::vector<TracedMessage>& messages) {
  uint64_t sum = 0;
  for (const TracedMessage& message : messages) sum += message.port.sends ? message.bytes : 0;
  return sum;
}

/// An algorithm and what all its ranks together post, in multiples of the data.
struct Row {
  Collective collective;
  const char* rule;
  uint64_t (*posted)(uint64_t ranks);
};

const Row kRows[] = {
    {Collective::AllReduce, "allreduce:host:0-:ring", [](uint64_t n) { return 2 * (n - 1); }},
    {Collective::AllReduce, "allreduce:host:0-:ring/2/1K", [](uint64_t n) { return 2 * (n - 1); }},
    {Collective::AllReduce, "allreduce:host:0-:twoshot", [](uint64_t n) { return n; }},
    {Collective::AllReduce, "allreduce:host:0-:oneshot", [](uint64_t n) { return n; }},
    {Collective::Broadcast, "broadcast:host:0-:ring/1/2K", [](uint64_t n) { return n - 1; }},
    {Collective::Broadcast, "broadcast:host:0-:oneshot", [](uint64_t) { return uint64_t{1}; }},
};

class DecoratorTrace : public ::testing::TestWithParam<int> {};

TEST_P(DecoratorTrace, OrdinaryMemoryIsSentAsThePlanSays) {
  const int n = GetParam();
  for (const Row& row : kRows) {
    for (const size_t count : {1u, 1000u, 40003u}) {
      const Call call{row.collective, row.rule, n, n - 1, count};
      CommFacts facts;
      const auto messages = traced(call, false, &facts);
      EXPECT_EQ(sizesOf(messages), planned(call, facts)) << call.text();
      EXPECT_EQ(bytesSent(messages), row.posted(static_cast<uint64_t>(n)) * call.bytes())
          << call.text();
      for (const TracedMessage& message : messages) {
        EXPECT_FALSE(message.inPlace || message.landing) << call.text();
      }
    }
  }
}

TEST_P(DecoratorTrace, SharedMemoryIsSentWhereItIs) {
  const int n = GetParam();
  for (const Row& row : kRows) {
    const Call call{row.collective, row.rule, n, 0, 400003};
    const bool twoShot = std::string(row.rule).find("twoshot") != std::string::npos;
    const bool small = std::string(row.rule).find('K') != std::string::npos;
    CommFacts facts;
    const auto messages = traced(call, true, &facts);
    // As many messages through the same ports; only their bytes may stay at home.
    Sizes plan = planned(call, facts), sizes = sizesOf(messages);
    ASSERT_EQ(sizes.size(), plan.size()) << call.text();
    for (const auto& [key, planned] : plan) {
      EXPECT_EQ(sizes[key].size(), planned.size()) << call.text();
    }
    uint64_t inPlace = 0;
    for (const TracedMessage& message : messages) {
      if (!message.port.sends) continue;
      inPlace += message.inPlace ? message.bytes : 0;
      EXPECT_EQ(message.landing,
                twoShot && !message.port.everyone && message.bytes >= kLeastInPlace)
          << call.text();
      // The two-shot's answers have landed: their messages only say so.
      if (twoShot && message.port.everyone) {
        EXPECT_LT(message.bytes, kLeastInPlace) << call.text();
      }
    }
    // A ring copies what it has not finished reducing.
    EXPECT_EQ(inPlace > 0, !small) << call.text();
    EXPECT_LE(inPlace, row.posted(static_cast<uint64_t>(n)) * call.bytes()) << call.text();
  }
}

INSTANTIATE_TEST_SUITE_P(World, DecoratorTrace, ::testing::Values(2, 3, 4, 7));

TEST(DecoratorTraceBarrier, OneEmptyMessageToEveryone) {
  const auto log = std::make_shared<MessageLog>();
  World world(3);
  world.decorate([&log](Channels& channels, int rank) { tracePorts(channels, rank, log); });
  world.run([](const Rank& me) { EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess); });
  const std::vector<TracedMessage> messages = log->take();
  EXPECT_TRUE(log->take().empty());
  int posted[3] = {}, read[3][3] = {};
  for (const TracedMessage& message : messages) {
    EXPECT_EQ(message.bytes, 0u);
    EXPECT_TRUE(message.port.everyone);
    if (message.port.sends) {
      ++posted[message.port.rank];
    } else {
      // In the log a message is posted before it is read.
      EXPECT_EQ(posted[message.port.peer], 1);
      ++read[message.port.rank][message.port.peer];
    }
  }
  for (int a = 0; a < 3; ++a) {
    EXPECT_EQ(posted[a], 1);
    for (int b = 0; b < 3; ++b) EXPECT_EQ(read[a][b], a == b ? 0 : 1);
  }
}

}  // namespace
}  // namespace rondo::testing

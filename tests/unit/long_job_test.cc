// Jobs of many hours: calls whose numbers have more than 32 bits, or come to have them, are made,
// compared and named as the first ones are. What messages of other hosts are numbered by wraps
// meanwhile.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "coll/flight_view.h"
#include "p2p/far_news.h"
#include "status/survey.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

constexpr uint64_t kFourBillion = uint64_t{1} << 32;

/// One host, and two: empty, and by rank the host.
const std::vector<std::vector<int>> kShapes = {{}, {0, 0, 1}};

FlightComm recordOf(int rank, const std::string& name = "comm") {
  const std::vector<FlightProcess> all = readNearFlights();
  for (const FlightComm& comm : all.front().comms) {
    if (comm.alive && comm.rank == rank && comm.name == name) return comm;
  }
  return {};
}

void checkSums(const Rank& me, size_t count) {
  std::vector<int32_t> in(count), out(count, -1);
  std::iota(in.begin(), in.end(), me.rank);
  RONDO_OK(rondoAllReduce(in.data(), out.data(), count, rondoInt32, rondoSum, me.comm, nullptr));
  for (size_t i = 0; i < count; ++i) {
    const auto wanted = static_cast<int32_t>(i) * me.size + me.size * (me.size - 1) / 2;
    ASSERT_EQ(out[i], wanted) << i << " of " << count;
  }
}

/// Only rank 0 has something, so that the others ask each other what they mean.
void checkUneven(const Rank& me) {
  std::vector<size_t> counts(static_cast<size_t>(me.size), 0);
  counts[0] = 3;
  const int32_t mine[3] = {me.rank, 7, 8};
  int32_t all[3] = {-1, -1, -1};
  const std::vector<size_t> places(counts.size(), 0);
  RONDO_OK(rondoAllGatherV(mine, counts[static_cast<size_t>(me.rank)], all, counts.data(),
                           places.data(), rondoInt32, me.comm, nullptr));
  EXPECT_EQ(all[0], 0);
  EXPECT_EQ(all[2], 8);
}

void checkRing(const Rank& me) {
  const int next = (me.rank + 1) % me.size, last = (me.rank + me.size - 1) % me.size;
  int32_t token = -1;
  RONDO_OK(rondoSendRecv(&me.rank, 1, next, &token, 1, last, rondoInt32, me.comm, nullptr));
  EXPECT_EQ(token, last);
}

/// Sums of a group, of which those beside each other run as one.
void checkGroup(const Rank& me, bool request) {
  const int32_t in[4] = {1, 2, 3, 4};
  int32_t out[4] = {}, first = -1;
  RONDO_OK(rondoGroupStart());
  for (int i = 0; i < 4; ++i) {
    RONDO_OK(rondoAllReduce(&in[i], &out[i], 1, rondoInt32, rondoSum, me.comm, nullptr));
  }
  RONDO_OK(rondoBroadcast(&me.rank, &first, 1, rondoInt32, 1, me.comm, nullptr));
  if (request) {
    rondoRequest_t all = nullptr;
    RONDO_OK(rondoGroupEndAsync(&all));
    RONDO_OK(rondoWait(&all));
  } else {
    RONDO_OK(rondoGroupEnd());
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], in[i] * me.size);
  EXPECT_EQ(first, 1);
}

void makeCalls(const Rank& me) {
  for (int i = 0; i < 6; ++i) {
    checkSums(me, 1);
    checkUneven(me);
    checkRing(me);
    checkGroup(me, i % 2 != 0);
    checkSums(me, 70'000);
  }
}
constexpr uint64_t kCalls = 6 * 8;  // without the sends and receives

TEST(LongJob, CallsAreMadeWhereNumbersPassThirtyTwoBits) {
  for (const auto& shape : kShapes) {
    for (const uint64_t middle : {kFourBillion, kFourBillion / 2}) {
      World(3).hosts(shape).callsBefore(middle - kCalls / 2).run([&](const Rank& me) {
        makeCalls(me);
        const FlightComm record = recordOf(me.rank);
        ASSERT_NE(record.lastCollective(), nullptr);
        EXPECT_EQ(record.lastCollective()->facts.sequence, middle + kCalls / 2);
        EXPECT_EQ(record.collectives(), middle + kCalls / 2);
        RONDO_OK(rondoBarrier(me.comm, nullptr));
      });
    }
  }
}

TEST(LongJob, CallsThatDifferAreNamedByTheirNumber) {
  for (const auto& shape : kShapes) {
    World(3).hosts(shape).callsBefore(kFourBillion - 2).open([](const Rank& me) {
      checkSums(me, 1);
      const int32_t in[2] = {};
      int32_t out[2] = {};
      const size_t count = me.rank == 2 ? 2 : 1;
      EXPECT_EQ(rondoAllReduce(in, out, count, rondoInt32, rondoSum, me.comm, nullptr),
                rondoMismatch);
      const std::string sentence = rondoGetLastError(nullptr);
      EXPECT_NE(sentence.find("both are collective 4294967296 of communicator"), std::string::npos)
          << sentence;
      rondoCommAbort(me.comm);
    });
  }
}

/// Each rank waits in the first call on one of two communicators, and neither comes to the other's.
/// Whose time is over first sees both.
TEST(LongJob, ACycleOfWaitsIsSeen) {
  const Env timeout("RONDO_TIMEOUT_MS", "2000");
  for (const auto& shape : {std::vector<int>{}, std::vector<int>{0, 1}}) {
    std::atomic<int> back{0}, seen{0};
    World(2).hosts(shape).callsBefore(kFourBillion - 1).open([&](const Rank& me) {
      rondoComm_t other = nullptr;
      RONDO_OK(rondoCommDup(me.comm, &other, nullptr));
      EXPECT_EQ(rondoBarrier(me.rank == 0 ? me.comm : other, nullptr), rondoRemoteError);
      const std::string sentence = rondoGetLastError(nullptr);
      const size_t cycle = sentence.find("A cycle of waits: ");
      const char* const call = "in its collective 4294967296, barrier, waits for";
      seen += cycle != sentence.npos && sentence.find(call, cycle) != sentence.npos ? 1 : 0;
      ++back;
      while (back < 2) std::this_thread::yield();
      EXPECT_GT(seen, 0) << sentence;
      rondoCommAbort(other);
      rondoCommAbort(me.comm);
    });
  }
}

/// What another host answers when it is asked where its ranks are.
TEST(LongJob, AnotherHostSaysWhereItsRanksAre) {
  World(2).hosts({0, 1}).callsBefore(kFourBillion - 2).run([](const Rank& me) {
    RONDO_OK(rondoBarrier(me.comm, nullptr));
    if (me.rank == 1) {
      const auto waits = [] {
        const FlightComm first = recordOf(0);
        return first.last() != nullptr && first.last()->running() &&
               first.collectives() == kFourBillion;
      };
      while (!waits()) std::this_thread::yield();
      for (const FarPlace& place : status::surveyFrom(getpid()).places) {
        EXPECT_TRUE(place.answered);
        EXPECT_EQ(place.sequence, place.rank == 0 ? kFourBillion : kFourBillion - 1);
        EXPECT_EQ((place.flags & PlaceAnswer::kRunning) != 0, place.rank == 0);
        EXPECT_NE(place.flags & PlaceAnswer::kCalled, 0u);
      }
    }
    RONDO_OK(rondoBarrier(me.comm, nullptr));
  });
}

}  // namespace
}  // namespace rondo::testing

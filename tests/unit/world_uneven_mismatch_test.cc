// Collectives with slots, rooted ones and scans whose arguments differ between ranks: nobody hangs,
// and who knows of it says so.

#include <gtest/gtest.h>

#include <atomic>

#include "support/collective_case.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr int kRanks = 3;

/// A good call, which `spoil` changes at some ranks.
struct Attempt {
  Case c;
  Side side;
};

Attempt good(Call call, size_t count) {
  Attempt a{{call, rondoInt32, rondoSum, count, 0, false, false, 0}, {}};
  a.side.sendCounts = a.side.recvCounts = Counts(kRanks, count);
  return a;
}

/// Every rank's result.
std::vector<rondoResult_t> run(Call call, size_t count,
                               const std::function<void(Attempt&, const Rank&)>& spoil) {
  std::vector<rondoResult_t> results(kRanks);
  std::vector<std::string> sentences(kRanks);
  World(kRanks).open([&](const Rank& me) {
    Attempt a = good(call, count);
    spoil(a, me);
    std::vector<int32_t> send(4 * (count + 2)), recv(4 * (count + 2));
    const auto r = static_cast<size_t>(me.rank);
    results[r] = invoke(a.c, a.side, send.data(), recv.data(), me.rank, me.comm);
    sentences[r] = rondoGetLastError(me.comm);
    // Who is done waits for the others: they need it to learn of the end.
    if (results[r] == rondoSuccess) rondoBarrier(me.comm, nullptr);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
  std::string all;
  for (size_t r = 0; r < kRanks; ++r) {
    all += " [" + std::string(rondoGetErrorString(results[r])) + ": " + sentences[r] + "]";
  }
  ::testing::Test::RecordProperty("last", all);
  if (std::getenv("RONDO_TEST_SHOW") != nullptr) {
    std::printf("%s count %zu:%s\n", callName(call), count, all.c_str());
  }
  return results;
}

bool anyRefused(const std::vector<rondoResult_t>& results) {
  return std::count(results.begin(), results.end(), rondoInvalidUsage) > 0;
}

TEST(WorldUnevenMismatch, EvenCountsThatDiffer) {
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    if (hasDispls(call) || call == Call::ReduceScatterV) continue;
    for (const size_t count : {1, 1000, 50000}) {
      const auto results = run(call, count, [](Attempt& a, const Rank& me) {
        if (me.rank == 1) ++a.c.count;
      });
      EXPECT_TRUE(anyRefused(results)) << callName(call) << " count " << count;
    }
  }
}

/// A rank waits for peers whose calls are over: they did not wait for it.
TEST(WorldUnevenMismatch, RootsThatDiffer) {
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    if (!isRooted(call)) continue;
    const auto results =
        run(call, 1000, [](Attempt& a, const Rank& me) { a.c.root = me.rank == 1 ? 2 : 0; });
    EXPECT_TRUE(anyRefused(results)) << callName(call);
  }
}

/// Rank 1's entry is another one at rank 1 than at the others.
TEST(WorldUnevenMismatch, EntriesThatDiffer) {
  for (const Call call :
       {Call::AllGatherV, Call::ReduceScatterV, Call::GatherV, Call::ScatterV, Call::AllToAllV}) {
    for (const size_t count : {1, 1000, 50000}) {
      for (const int by : {-1, 1}) {
        // Not noticed yet: no message comes where one side thinks of none.
        if (count == 1 && by == -1) continue;
        const auto results = run(call, count, [&](Attempt& a, const Rank& me) {
          const bool spoilt = call == Call::AllToAllV ? me.rank == 0 : me.rank == 1;
          if (!spoilt) return;
          a.side.recvCounts[1] += static_cast<size_t>(by);
          if (call != Call::AllToAllV) a.side.sendCounts[1] += static_cast<size_t>(by);
        });
        EXPECT_TRUE(anyRefused(results)) << callName(call) << " count " << count << " by " << by;
      }
    }
  }
}

}  // namespace
}  // namespace rondo::testing

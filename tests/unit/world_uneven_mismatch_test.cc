// Collectives with slots, rooted ones and scans whose arguments differ between ranks: nobody hangs,
// and who knows of it says so.

#include <gtest/gtest.h>

#include <algorithm>
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

/// What became of each rank's call.
struct Outcome {
  std::vector<rondoResult_t> results{std::vector<rondoResult_t>(kRanks)};
  std::vector<std::string> sentences{std::vector<std::string>(kRanks)};

  bool anyRefused() const { return std::count(results.begin(), results.end(), rondoMismatch) > 0; }
  /// Whether every rank that was refused was told `words`.
  bool says(const std::string& words) const { return saysAny({words}); }
  /// The same, each rank one of them.
  bool saysAny(const std::vector<std::string>& words) const {
    for (size_t r = 0; r < kRanks; ++r) {
      if (results[r] == rondoSuccess) continue;
      if (std::none_of(words.begin(), words.end(), [&](const std::string& each) {
            return sentences[r].find(each) != std::string::npos;
          })) {
        return false;
      }
    }
    return true;
  }
  std::string text() const {
    std::string all;
    for (size_t r = 0; r < kRanks; ++r) {
      all += " [" + std::string(rondoGetErrorString(results[r])) + ": " + sentences[r] + "]";
    }
    return all;
  }
};

Outcome run(Call call, size_t count, const std::function<void(Attempt&, const Rank&)>& spoil,
            bool inGroup = false) {
  Outcome outcome;
  World(kRanks).open([&](const Rank& me) {
    Attempt a = good(call, count);
    spoil(a, me);
    std::vector<int32_t> send(4 * (count + 2)), recv(4 * (count + 2));
    const auto r = static_cast<size_t>(me.rank);
    if (inGroup) {
      EXPECT_EQ(rondoGroupStart(), rondoSuccess);
    }
    outcome.results[r] = invoke(a.c, a.side, send.data(), recv.data(), me.rank, me.comm);
    if (inGroup) outcome.results[r] = rondoGroupEnd();
    outcome.sentences[r] = rondoGetLastError(me.comm);
    // Who is done waits for the others: they need it to learn of the end.
    if (outcome.results[r] == rondoSuccess) rondoBarrier(me.comm, nullptr);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
  if (std::getenv("RONDO_TEST_SHOW") != nullptr) {
    std::printf("%s count %zu:%s\n", callName(call), count, outcome.text().c_str());
  }
  return outcome;
}

TEST(WorldUnevenMismatch, EvenCountsThatDiffer) {
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    if (hasDispls(call) || call == Call::ReduceScatterV) continue;
    for (const size_t count : {1, 1000, 50000}) {
      const Outcome outcome = run(call, count, [](Attempt& a, const Rank& me) {
        if (me.rank == 1) ++a.c.count;
      });
      EXPECT_TRUE(outcome.anyRefused()) << callName(call) << " count " << count;
    }
  }
}

/// A rank that moves nothing returns at once, and one that waits for it is told.
TEST(WorldUnevenMismatch, NothingAgainstSomething) {
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    if (hasDispls(call) || call == Call::ReduceScatterV) continue;
    const int waits = call == Call::Reduce || call == Call::Gather ? 0 : 1;
    const Outcome outcome = run(call, 0, [waits](Attempt& a, const Rank& me) {
      if (me.rank == waits) ++a.c.count;
    });
    EXPECT_EQ(outcome.results[static_cast<size_t>(waits)], rondoMismatch) << callName(call);
    EXPECT_TRUE(outcome.says("with count 0")) << outcome.text();
    EXPECT_TRUE(outcome.says("with count 1")) << outcome.text();
  }
}

/// A rank waits for peers whose calls are over: they did not wait for it.
TEST(WorldUnevenMismatch, RootsThatDiffer) {
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    if (!isRooted(call)) continue;
    const Outcome outcome =
        run(call, 1000, [](Attempt& a, const Rank& me) { a.c.root = me.rank == 1 ? 2 : 0; });
    EXPECT_TRUE(outcome.anyRefused()) << callName(call);
  }
}

constexpr Call kUneven[] = {Call::AllGatherV, Call::ReduceScatterV, Call::GatherV, Call::ScatterV,
                            Call::AllToAllV};

/// How the sentence must name the entry of the spoilt rank; what stands at the other one.
struct Named {
  const char* wrong;
  const char* right;
};

Named namesIn(Call call) {
  switch (call) {
    case Call::AllGatherV:
    case Call::ReduceScatterV:  // The other rank may be either of two.
      return {"rank 1's recvcounts[1] is ", "'s recvcounts[1] is "};
    case Call::GatherV:
      return {"rank 1's sendcount is ", "rank 0's recvcounts[1] is "};
    case Call::ScatterV:
      return {"rank 1's recvcount is ", "rank 0's sendcounts[1] is "};
    default:
      return {"rank 0's recvcounts[1] is ", "rank 1's sendcounts[0] is "};
  }
}

/// One count too many or too few: at one element, at a few, at the end of a period of any plan (the
/// rest is longer than the whole of the other), in and out of a group.
TEST(WorldUnevenMismatch, EntriesThatDiffer) {
  for (const Call call : kUneven) {
    for (const size_t count : {1, 1000, 4096, 8192, 50000}) {
      for (const int by : {-1, 1}) {
        for (const bool inGroup : {false, true}) {
          const size_t wrong = count + static_cast<size_t>(by);
          const Outcome outcome = run(
              call, count,
              [&](Attempt& a, const Rank& me) {
                const bool spoilt = call == Call::AllToAllV ? me.rank == 0 : me.rank == 1;
                if (!spoilt) return;
                a.side.recvCounts[1] = wrong;
                if (call != Call::AllToAllV) a.side.sendCounts[1] = wrong;
              },
              inGroup);
          EXPECT_TRUE(outcome.anyRefused()) << callName(call) << " count " << count << " by " << by;
          EXPECT_TRUE(outcome.says(namesIn(call).wrong + std::to_string(wrong)) &&
                      outcome.says(namesIn(call).right + std::to_string(count)))
              << callName(call) << outcome.text();
        }
      }
    }
  }
}

/// Two entries that differ by as much: the totals are equal, and so is the choice of the algorithm.
/// Over hosts each rank sees its own entry only, so not all need name the same one.
TEST(WorldUnevenMismatch, EntriesThatAreExchanged) {
  for (const Call call : {Call::AllGatherV, Call::ReduceScatterV}) {
    const Outcome outcome = run(call, 1000, [](Attempt& a, const Rank& me) {
      for (Counts* counts : {&a.side.sendCounts, &a.side.recvCounts}) {
        (*counts)[0] = me.rank == 2 ? 1001 : 999;
        (*counts)[1] = me.rank == 2 ? 999 : 1001;
      }
    });
    EXPECT_TRUE(outcome.anyRefused()) << callName(call);
    EXPECT_TRUE(outcome.saysAny({"recvcounts[0] is 999", "recvcounts[1] is 1001"}))
        << outcome.text();
  }
}

/// Nobody has anything: nothing is wrong.
TEST(WorldUnevenMismatch, NothingAtAll) {
  for (const Call call : kUneven) {
    for (const bool inGroup : {false, true}) {
      const Outcome outcome = run(
          call, 0, [](Attempt&, const Rank&) {}, inGroup);
      for (const rondoResult_t result : outcome.results) {
        EXPECT_EQ(result, rondoSuccess) << callName(call) << outcome.text();
      }
    }
  }
}

}  // namespace
}  // namespace rondo::testing

// Wrong arguments of every collective: each its own code and sentence, nothing written, and the
// communicator works afterwards.

#include <gtest/gtest.h>

#include <climits>

#include "support/collective_case.h"
#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr size_t kCount = 4;  // elements of a block
constexpr size_t kMemory = 64;
const auto kStream = reinterpret_cast<rondoStream_t>(uintptr_t{0x1230});

/// A good call on one rank, to be spoilt; every rank is its own root, so that the root's rules hold
/// everywhere. What is refused says nothing to the other ranks.
struct Attempt {
  Case c;
  Side side;
  const void* send;
  void* recv;
  rondoStream_t stream = nullptr;
};

class ApiCollectives : public ::testing::TestWithParam<int> {
 protected:
  /// One rank's memory that no refused call may touch.
  struct Bench {
    Rank me;
    float send[kMemory], recv[kMemory];

    explicit Bench(const Rank& rank) : me(rank) {
      for (size_t i = 0; i < kMemory; ++i) send[i] = recv[i] = static_cast<float>(i);
    }
    bool untouched() const {
      for (size_t i = 0; i < kMemory; ++i) {
        if (send[i] != static_cast<float>(i) || recv[i] != static_cast<float>(i)) return false;
      }
      return true;
    }
    size_t rank() const { return static_cast<size_t>(me.rank); }
    size_t size() const { return static_cast<size_t>(me.size); }

    Attempt good(Call call) const {
      Case c{call, rondoFloat32, rondoSum, kCount, me.rank, false, hasDispls(call), 0};
      Side side;
      for (size_t r = 0; r < size(); ++r) {
        side.sendCounts.push_back(kCount);
        side.sendDispls.push_back(r * kCount);
      }
      side.recvCounts = side.sendCounts;
      side.recvDispls = side.sendDispls;
      return {c, side, send, const_cast<float*>(recv)};
    }
    void refused(const Attempt& a, std::initializer_list<std::string> parts) const {
      SCOPED_TRACE(a.c.text());
      expectRefused(invoke(a.c, a.side, a.send, a.recv, me.rank, me.comm, a.stream),
                    rondoInvalidArgument,
                    callName(a.c.call) + (": rank " + std::to_string(me.rank)), parts);
      EXPECT_TRUE(untouched());
    }
  };

  /// Runs refused attempts of every collective on all ranks, then a good call.
  static void onEach(const std::function<void(const Bench&, Call)>& attempts) {
    World(GetParam()).run([&](const Rank& me) {
      Bench bench(me);
      for (int k = 0; k < kCalls; ++k) attempts(bench, static_cast<Call>(k));
      ASSERT_EQ(
          rondoAllReduce(bench.send, bench.recv, kMemory, rondoFloat32, rondoSum, me.comm, nullptr),
          rondoSuccess);
      EXPECT_EQ(bench.recv[5], 5.0f * static_cast<float>(me.size));
    });
  }
};

bool takesCounts(Call call) { return hasDispls(call) || call == Call::ReduceScatterV; }
/// Which of the two arrays of counts the call reads.
bool countsAreSent(Call call) { return call == Call::ScatterV || call == Call::ReduceScatterV; }
const char* countsName(Call call) {
  return call == Call::ScatterV || call == Call::AllToAllV ? "sendcounts" : "recvcounts";
}
Counts& countsOf(Attempt& a) {
  return countsAreSent(a.c.call) || a.c.call == Call::AllToAllV ? a.side.sendCounts
                                                                : a.side.recvCounts;
}

TEST_P(ApiCollectives, NullBuffers) {
  onEach([](const Bench& bench, Call call) {
    Attempt a = bench.good(call);
    a.send = nullptr;
    bench.refused(a, {"argument sendbuff is NULL with ", "allowed: memory of "});
    a = bench.good(call);
    a.recv = nullptr;
    // The first rank of an exclusive scan receives nothing: nothing of this attempt is wrong there.
    if (call == Call::Exscan && bench.me.rank == 0) return;
    bench.refused(a, {"argument recvbuff is NULL with ", "allowed: memory of "});
  });
}

TEST_P(ApiCollectives, TheSentenceOfANullBufferSaysHowMuchMemory) {
  World(GetParam()).run([](const Rank& me) {
    Bench bench(me);
    const std::string all = std::to_string(bench.size() * kCount);
    Attempt a = bench.good(Call::AllGather);
    a.recv = nullptr;
    bench.refused(a, {"sendcount 4", me.size > 1 ? std::to_string(me.size) + " x sendcount" : ""});
    a = bench.good(Call::AllToAllV);
    a.recv = nullptr;
    bench.refused(a, {"with blocks that end at " + all + " elements", "memory of " + all});
  });
}

TEST_P(ApiCollectives, TypesOperatorsRootsAndStreams) {
  onEach([](const Bench& bench, Call call) {
    for (const rondoDataType_t type : {-1, 31, 99, INT32_MAX, INT32_MIN}) {
      Attempt a = bench.good(call);
      a.c.type = type;
      bench.refused(a, {"argument datatype is " + std::to_string(type), "allowed", "7 (float32)"});
    }
    for (const rondoRedOp_t op : {-1, 31, 99, INT32_MAX, INT32_MIN}) {
      Attempt a = bench.good(call);
      a.c.op = op;
      if (reduces(call)) bench.refused(a, {"argument op is " + std::to_string(op), "allowed"});
    }
    for (const int root : {-1, bench.me.size, INT_MAX, INT_MIN}) {
      Attempt a = bench.good(call);
      a.c.root = root;
      if (isRooted(call)) {
        bench.refused(a, {"argument root is " + std::to_string(root),
                          "allowed: 0 to " + std::to_string(bench.me.size - 1)});
      }
    }
    Attempt a = bench.good(call);
    a.stream = kStream;
    bench.refused(a, {"argument stream is 0x1230", "allowed: NULL"});
  });
}

TEST_P(ApiCollectives, OperatorsThatATypeLacks) {
  onEach([](const Bench& bench, Call call) {
    if (!reduces(call)) return;
    for (const rondoDataType_t type : kAllTypes) {
      for (const rondoRedOp_t op : kAllOps) {
        if (opMakesSense(type, op)) continue;
        Attempt a = bench.good(call);
        a.c.type = type;
        a.c.op = op;
        // No memory is needed to refuse it.
        a.send = a.recv = nullptr;
        a.c.count = 0;
        std::fill(a.side.sendCounts.begin(), a.side.sendCounts.end(), 0);
        bench.refused(a, {"argument op is " + std::to_string(op), typeName(type), "allowed"});
      }
    }
    if (!isScan(call)) return;
    for (const size_t count : {size_t{0}, kCount}) {
      Attempt a = bench.good(call);
      a.c.op = rondoAvg;
      a.c.count = count;
      bench.refused(a, {"argument op is 4 (avg)", "not defined for scans"});
    }
  });
}

TEST_P(ApiCollectives, CountsThatOverflow) {
  onEach([](const Bench& bench, Call call) {
    const size_t n = bench.size(), most = size_t{PTRDIFF_MAX} / sizeof(float);
    const bool slots = call == Call::AllGather || call == Call::ReduceScatter ||
                       call == Call::AllToAll || call == Call::Gather || call == Call::Scatter;
    for (const size_t count :
         {SIZE_MAX, SIZE_MAX / 4 + 2, most + 1, slots ? most / n + 1 : most + 1}) {
      Attempt a = bench.good(call);
      if (takesCounts(call)) {
        // Together too much, though each fits.
        countsOf(a).assign(n, count);
        if (n > 1) countsOf(a).assign(n, most);
        // Alone, a rank's own count is looked at first.
        bench.refused(a, {n > 1 ? std::string(countsName(call)) + "[" : "count", "float32",
                          "allowed: at most"});
        continue;
      }
      a.c.count = count;
      bench.refused(a, {"count is " + std::to_string(count), "float32", "allowed: at most"});
    }
    Attempt a = bench.good(call);
    a.send = reinterpret_cast<const void*>(UINTPTR_MAX - 7);
    bench.refused(a, {"argument sendbuff is 0x", "end of the address space", "allowed"});
  });
}

/// Programs whose counts have a sign hand over negative ones as huge.
TEST_P(ApiCollectives, NegativeCountsAndDisplacements) {
  onEach([](const Bench& bench, Call call) {
    constexpr auto kMinusThree = static_cast<size_t>(-3);
    const size_t next = (bench.rank() + 1) % bench.size();
    const std::string entry = "[" + std::to_string(next) + "]";
    const std::string shown = " is 18446744073709551613 (-3 if it was signed)";
    Attempt a = bench.good(call);
    if (!takesCounts(call)) {
      a.c.count = kMinusThree;
      bench.refused(a, {"count" + shown});
      return;
    }
    countsOf(a)[next] = kMinusThree;
    if (bench.size() > 1) bench.refused(a, {"argument " + (countsName(call) + entry) + shown});
    if (!hasDispls(call)) return;
    a = bench.good(call);
    (countsAreSent(call) ? a.side.sendDispls : a.side.recvDispls)[next] = kMinusThree;
    bench.refused(a, {(call == Call::AllToAllV ? "rdispls" : "displs") + entry + shown});
  });
}

TEST_P(ApiCollectives, OverlapThatIsNotInPlace) {
  onEach([](const Bench& bench, Call call) {
    if (call == Call::Exscan && bench.me.rank == 0) return;  // has no recvbuff
    Attempt a = bench.good(call);
    a.recv = reinterpret_cast<char*>(const_cast<float*>(bench.send)) + 1;
    bench.refused(a, {"sendbuff", "recvbuff", "overlap", "allowed", "in place"});
    // Another rank's slot.
    const size_t next = (bench.rank() + 1) % bench.size() * kCount;
    const std::string own = std::to_string(bench.rank() * kCount);
    auto* const base = const_cast<float*>(bench.recv);
    if (bench.size() == 1) return;
    if (call == Call::AllGather || call == Call::Gather || call == Call::AllGatherV ||
        call == Call::GatherV) {
      a = bench.good(call);
      a.recv = base;
      a.send = base + next;
      bench.refused(a, {"overlap", bench.me.rank == 0 ? "the same address"
                                                      : "sendbuff " + own +
                                                            " elements after recvbuff (in place)"});
    }
    if (call == Call::ReduceScatter || call == Call::Scatter || call == Call::ReduceScatterV ||
        call == Call::ScatterV) {
      a = bench.good(call);
      a.send = base;
      a.recv = base + next;
      bench.refused(a,
                    {"overlap", bench.me.rank == 0
                                    ? "the same address"
                                    : "sendbuff " + own + " elements before recvbuff (in place)"});
    }
  });
}

TEST_P(ApiCollectives, AllToAllVInPlaceWithUnlikeBlocks) {
  World(GetParam()).run([](const Rank& me) {
    const Bench bench(me);
    Attempt a = bench.good(Call::AllToAllV);
    a.recv = const_cast<float*>(bench.send);
    for (size_t& displ : a.side.recvDispls) ++displ;
    bench.refused(a, {"overlap", "the same address with equal counts and displacements"});
  });
}

TEST_P(ApiCollectives, CountsThatAreMissingOrContradict) {
  onEach([](const Bench& bench, Call call) {
    const Rank& me = bench.me;
    auto* const out = const_cast<float*>(bench.recv);
    const Attempt a = bench.good(call);
    const size_t* const counts = a.side.recvCounts.data();
    const size_t* const none = nullptr;
    const std::string own = "[" + std::to_string(me.rank) + "], this rank's own, is 4";
    const auto refused = [&](rondoResult_t result, std::initializer_list<std::string> parts) {
      expectRefused(result, rondoInvalidArgument, callName(call), parts);
      EXPECT_TRUE(bench.untouched());
    };
    const auto gather = [&](size_t mine, const size_t* all) {
      return rondoAllGatherV(bench.send, mine, out, all, none, rondoInt8, me.comm, nullptr);
    };
    const auto gatherRoot = [&](size_t mine, const size_t* all) {
      return rondoGatherV(bench.send, mine, out, all, none, rondoInt8, me.rank, me.comm, nullptr);
    };
    const auto scatterRoot = [&](size_t mine, const size_t* all) {
      return rondoScatterV(bench.send, all, none, out, mine, rondoInt8, me.rank, me.comm, nullptr);
    };
    const auto exchange = [&](const size_t* give, const size_t* take) {
      return rondoAllToAllV(bench.send, give, none, out, take, none, rondoInt8, me.comm, nullptr);
    };
    const std::string missing = "counts is NULL";
    switch (call) {
      case Call::AllGatherV:
        refused(gather(4, nullptr), {"argument recv" + missing, "one a rank"});
        return refused(gather(3, counts), {"sendcount is 3", "recvcounts" + own, "equal counts"});
      case Call::GatherV:
        refused(gatherRoot(4, nullptr), {"argument recv" + missing, "one a rank"});
        return refused(gatherRoot(9, counts), {"sendcount is 9", "recvcounts" + own});
      case Call::ScatterV:
        refused(scatterRoot(4, nullptr), {"argument send" + missing, "one a rank"});
        return refused(scatterRoot(0, counts), {"recvcount is 0", "sendcounts" + own});
      case Call::AllToAllV: {
        refused(exchange(nullptr, counts), {"argument send" + missing, "one a rank"});
        refused(exchange(counts, nullptr), {"argument recv" + missing, "one a rank"});
        Counts other = a.side.sendCounts;
        other[bench.rank()] = 5;
        return refused(exchange(other.data(), counts), {"is 5", "recvcounts" + own});
      }
      case Call::ReduceScatterV:
        return refused(
            rondoReduceScatterV(bench.send, out, nullptr, rondoInt8, rondoSum, me.comm, nullptr),
            {"argument recv" + missing, "one a rank"});
      default:
        return;
    }
  });
}

TEST_P(ApiCollectives, BlocksThatOverlapOrLieTooFar) {
  onEach([](const Bench& bench, Call call) {
    if (!hasDispls(call)) return;
    const std::string name = call == Call::AllToAllV ? "rdispls" : "displs";
    Attempt a = bench.good(call);
    Counts& displs = countsAreSent(call) ? a.side.sendDispls : a.side.recvDispls;
    for (const size_t far : {SIZE_MAX, SIZE_MAX - 3, size_t{PTRDIFF_MAX} / 4 - 3}) {
      displs.back() = far;
      bench.refused(a, {"argument " + name + "[" + std::to_string(bench.size() - 1) + "] is " +
                            std::to_string(far),
                        "a block of 4 elements", "allowed"});
    }
    if (bench.size() == 1 || call == Call::ScatterV) return;  // what is only read may overlap
    displs.back() = 3;
    displs.front() = 0;
    bench.refused(a, {"argument " + name,
                      "blocks 0 ([0, 4)) and " + std::to_string(bench.size() - 1) + " ([3, 7))",
                      "overlap", "allowed"});
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, ApiCollectives, ::testing::Values(1, 2, 3));

TEST(ApiCollectivesGood, BlocksThatAreOnlyReadMayOverlap) {
  World(3).run([](const Rank& me) {
    const int32_t send[5] = {10, 11, 12, 13, 14};
    const size_t counts[3] = {3, 3, 3}, displs[3] = {0, 1, 2};
    int32_t recv[3] = {};
    ASSERT_EQ(rondoScatterV(send, counts, displs, recv, 3, rondoInt32, 1, me.comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(nullptr);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(recv[i], 10 + me.rank + i);
  });
}

TEST(ApiCollectivesGood, NothingAtAllNeedsNoMemory) {
  World(2).run([](const Rank& me) {
    for (int k = 0; k < kCalls; ++k) {
      Case c{static_cast<Call>(k), rondoInt32, rondoSum, 0, 1, false, false, 0};
      const Side side = sideOf(c, me.rank, me.size);
      EXPECT_EQ(invoke(c, side, nullptr, nullptr, me.rank, me.comm), rondoSuccess)
          << c.text() << ": " << rondoGetLastError(nullptr);
    }
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
  });
}

}  // namespace
}  // namespace rondo::testing

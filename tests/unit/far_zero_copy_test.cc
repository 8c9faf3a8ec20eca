// Long sends of device memory to other hosts that the network moves by itself (far_desk.h), on
// pretended devices, whose memory UCX reads and writes over TCP.

#include <gtest/gtest.h>

#include <atomic>

#include "api/device_uneven.h"
#include "coll/far_staging.h"
#include "support/far_world.h"

namespace rondo::testing {
namespace {

constexpr size_t kLong = kLeastZeroCopy / sizeof(int32_t);  // elements
constexpr size_t kPiece = kZeroCopyPiece / sizeof(int32_t);

int piecesOf(size_t count) {
  return count < kLong ? 0 : static_cast<int>((count + kPiece - 1) / kPiece);
}

/// body() where the network moves what is long; returns how many pieces it has written.
int zeroCopied(const std::vector<int>& hostOf, const std::function<void(const FarRank&)>& body,
               ZeroCopyUse use = ZeroCopyUse::On) {
  std::atomic<int> arrived{0};
  onHosts(hostOf, body, {.zeroCopy = use, .arrived = &arrived});
  return arrived.load();
}

TEST(FarZeroCopy, GroupsOfAnyLengthsMeet) {
  const std::vector<size_t> counts = {kLong,     5,      kLong - 1, 0,          2 * kPiece + 17,
                                      kLong + 1, 40'000, kPiece,    3 * kPiece, kLong};
  int wanted = 0;
  for (const size_t count : counts) wanted += piecesOf(count);
  const auto sendAll = [&](const FarRank& me) {
    const auto seed = [](int from, int to, size_t k) {
      return static_cast<size_t>(((from * 3 + to) * 10) + static_cast<int>(k));
    };
    std::vector<Ints> out, in;
    std::vector<Transfer> all;
    const size_t n = counts.size();
    out.reserve(n * 3);
    in.reserve(n * 3);
    for (int peer = 0; peer < me.size; ++peer) {
      for (size_t k = 0; k < n; ++k) {
        in.emplace_back(counts[k] + 1, -1);
        all.push_back(transferOf(peer, false, in.back().data(), counts[k]));
      }
      for (size_t k = 0; k < n; ++k) {
        out.emplace_back(counts[k]);
        for (size_t i = 0; i < counts[k]; ++i) {
          out.back()[i] = element(static_cast<int>(seed(me.rank, peer, k)), i);
        }
        all.push_back(transferOf(peer, true, out.back().data(), counts[k]));
      }
    }
    me.good(runOnDevice(me.comm, {"rondoTest", all, me.stream.handle()}));
    me.stream.synchronize();
    for (size_t at = 0; at < in.size(); ++at) {
      const size_t k = at % n;
      const int from = static_cast<int>(at / n);
      EXPECT_EQ(
          wrong(in[at].data(), counts[k],
                [&](size_t i) { return element(static_cast<int>(seed(from, me.rank, k)), i); }),
          0u)
          << counts[k] << " from " << from;
      EXPECT_EQ(in[at].back(), -1);
    }
  };
  EXPECT_EQ(zeroCopied({0, 1}, sendAll), 2 * wanted);
  EXPECT_EQ(zeroCopied({0, 1, 1}, sendAll), 4 * wanted);  // not between those of one host
  EXPECT_EQ(zeroCopied({0, 1}, sendAll, ZeroCopyUse::Off), 0);
  EXPECT_EQ(zeroCopied({0, 1}, sendAll, ZeroCopyUse::Auto), 0);  // over TCP nobody gains
}

TEST(FarZeroCopy, QueuesDoNotWaitForEachOther) {
  constexpr size_t kCount = 3 * kPiece + 5;
  const int pieces =
      zeroCopied({0, 1, 2}, [](const FarRank& me) { expectQueuesOfTheirOwn(me, kCount); });
  EXPECT_EQ(pieces, 3 * piecesOf(kCount));
}

TEST(FarZeroCopy, GraphsAreReplayedAndCountersWrap) {
  constexpr size_t kCount = kPiece + 1000;
  const int pieces = zeroCopied({0, 1}, [](const FarRank& me) {
    Ints in(kCount), got(kCount, -1);
    for (const uint32_t start : {0u, 0xfffffff9u}) {
      me.barrier.arrive_and_wait();
      me.comm->impl->deviceRunner()->startEpochsAt(start);
      me.barrier.arrive_and_wait();
      std::vector<PretendedStream::Work> graph;
      me.stream.captureInto(&graph);
      me.good(me.transfer({transferOf(1 - me.rank, true, in.data(), kCount),
                           transferOf(1 - me.rank, false, got.data(), kCount)}));
      me.stream.captureInto(nullptr);
      for (int replay = 0; replay < 6; ++replay) {
        const auto value = [&](int rank, size_t i) { return element(rank, i) ^ (replay << 8); };
        for (size_t i = 0; i < kCount; ++i) in[i] = value(me.rank, i);
        me.stream.replay(graph);
        if (replay % 3 == 0) {  // short ones go between
          me.good(me.transfer({transferOf(1 - me.rank, true, in.data(), 30),
                               transferOf(1 - me.rank, false, got.data(), 30)}));
        }
        me.stream.synchronize();
        EXPECT_EQ(wrong(got.data(), kCount, [&](size_t i) { return value(1 - me.rank, i); }), 0u);
      }
    }
  });
  EXPECT_EQ(pieces, 2 * 2 * 6 * piecesOf(kCount));
}

// Both sides find out before anything is written, where both are long, and where one is short.
TEST(FarZeroCopy, SendsOfAnotherLengthAreNotTakenForData) {
  for (const size_t received : {size_t{100'000}, 2 * kPiece - 1}) {
    std::atomic<int> named{0};  // by one at least: who hears of the end first looks no further
    const int pieces = zeroCopied({0, 1}, [&](const FarRank& me) {
      Ints data(2 * kPiece, -1);
      const size_t count = me.rank == 0 ? 2 * kPiece : received;
      me.good(me.transfer({transferOf(1 - me.rank, me.rank == 0, data.data(), count)}));
      expectBroken(me, rondoMismatch, "");
      const std::string why = rondoGetLastError(me.comm);
      const std::string words = "receives " + std::to_string(4 * received) + " bytes from rank 0";
      if (why.find(words) != std::string::npos) ++named;
      EXPECT_EQ(wrong(data.data(), data.size(), [](size_t) { return -1; }), 0u);
    });
    EXPECT_EQ(pieces, 0);
    EXPECT_GE(named.load(), 1) << received;
  }
}

TEST(FarZeroCopy, AbortEndsWhatWaits) {
  zeroCopied({0, 1}, [](const FarRank& me) {
    Ints data(kPiece);
    if (me.rank == 0) me.good(me.transfer({transferOf(1, false, data.data(), kPiece)}));
    me.barrier.arrive_and_wait();
    if (me.rank == 1) {
      EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
    }
    expectBroken(me, rondoRemoteError, "");
  });
}

// Blocks of v-collectives are sends and receives.
TEST(FarZeroCopy, UnevenBlocksToo) {
  const int pieces = zeroCopied({0, 1}, [](const FarRank& me) {
    const std::vector<size_t> counts = {kPiece + 3, 40};
    UnevenBlocks all;
    for (const size_t count : counts) {
      all.counts.push_back(count);
      all.displs.push_back(all.total);
      all.total = all.extent = all.total + count;
    }
    UnevenBlocks own = all;
    own.counts[static_cast<size_t>(1 - me.rank)] = 0;
    own.displs.assign(2, 0);
    const Ints in = dataOf(me.rank, counts[0]);
    Ints out(all.total + 1, -1);
    me.good(runOnDevice(me.comm,
                        UnevenDeviceCall{"rondoTest", Collective::AllGather, in.data(), out.data(),
                                         rondoInt32, rondoSum, 0, me.stream.handle(), own, all}));
    me.stream.synchronize();
    EXPECT_EQ(
        wrong(out.data(), all.total,
              [&](size_t i) { return i < counts[0] ? element(0, i) : element(1, i - counts[0]); }),
        0u);
    EXPECT_EQ(out.back(), -1);
  });
  EXPECT_EQ(pieces, piecesOf(kPiece + 3));
}

}  // namespace
}  // namespace rondo::testing

// Short collectives of a group, which become one launch. The ranks are threads of this process on
// one GPU.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <vector>

#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

/// Where call k of a group of short ones has its data, and how many; some need several exchanges.
constexpr size_t kShortCalls = 70, kShortRoom = 9000;
size_t shortCount(size_t k) { return k % 9 == 8 ? 8000 + k : 1 + k * 37; }

/// Each its own sum, on two streams in turn.
void shortSums(const Rank& me, rondoComm_t comm, Buffers& b, cudaStream_t other) {
  good(rondoGroupStart());
  for (size_t k = 0; k < kShortCalls; ++k) {
    good(rondoAllReduce(b.src.at(k * kShortRoom), b.dst.at(k * kShortRoom), shortCount(k),
                        rondoInt32, rondoSum, comm, k % 2 == 0 ? b.stream : other));
  }
  good(rondoGroupEnd());
  me.launched();
  check(waitFor(other));
  size_t bad = 0;
  for (size_t k = 0; k < kShortCalls; ++k) {
    bad += b.dst.wrong(b.stream, k * kShortRoom, shortCount(k), [&](size_t i) {
      int sum = 0;
      for (int r = 0; r < me.ranks; ++r) sum += element(r, k * kShortRoom + i);
      return sum;
    });
    bad += b.dst.wrong(b.stream, k * kShortRoom + shortCount(k), 3, [](size_t) { return -1; });
  }
  EXPECT_EQ(bad, 0u);
}

/// Before a round. Under compute-sanitizer copies wait for the other ranks' kernels, so nobody
/// launches one before all have ended theirs.
void clear(const Rank& me, Buffers& b) {
  b.dst.fill(b.stream, [](size_t) { return -1; });
  me.meet();
}

/// Neighbours of three kinds; then calls each of which needs what the one before wrote.
void shortOnesOfOtherKinds(const Rank& me, rondoComm_t comm, Buffers& b) {
  const auto n = static_cast<size_t>(me.ranks);
  constexpr size_t kFew = 500;
  const auto at = [&](size_t k) { return k * n * kFew; };
  clear(me, b);
  good(rondoGroupStart());
  for (size_t k = 0; k < 10; ++k) {
    good(rondoAllGather(b.src.at(k), b.dst.at(at(k)), kFew, rondoInt32, comm, b.stream));
  }
  for (size_t k = 10; k < 20; ++k) {
    good(rondoReduceScatter(b.src.at(k), b.dst.at(at(k)), kFew, rondoInt32, rondoSum, comm,
                            b.stream));
  }
  for (size_t k = 20; k < 26; ++k) {
    good(rondoAllReduce(k == 20 ? b.src.at(0) : b.dst.at(at(k - 1)), b.dst.at(at(k)), kFew,
                        rondoInt32, rondoSum, comm, b.stream));
  }
  good(rondoGroupEnd());
  me.launched();
  size_t bad = 0;
  for (size_t k = 0; k < 10; ++k) {
    bad += b.dst.wrong(b.stream, at(k), n * kFew,
                       [&](size_t i) { return element(static_cast<int>(i / kFew), k + i % kFew); });
  }
  const auto sumAt = [&](size_t i) {
    int sum = 0;
    for (int r = 0; r < me.ranks; ++r) sum += element(r, i);
    return sum;
  };
  for (size_t k = 10; k < 20; ++k) {
    bad += b.dst.wrong(b.stream, at(k), kFew, [&](size_t i) {
      return sumAt(k + static_cast<size_t>(me.rank) * kFew + i);
    });
  }
  int times = 1;
  for (size_t k = 20; k < 26; ++k, times *= me.ranks) {
    bad += b.dst.wrong(b.stream, at(k), kFew, [&](size_t i) { return sumAt(i) * times; });
  }
  EXPECT_EQ(bad, 0u);
}

TEST(DeviceApi, ShortCollectivesOfAGroupAreOneLaunch) {
  for (const int ranks : {2, 3, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      Buffers b(me, (kShortCalls + 1) * kShortRoom);
      const cudaStream_t other = newStream();
      me.meet();
      for (int round = 0; round < 3; ++round) {
        clear(me, b);
        shortSums(me, comm, b, other);
        me.meet();
        shortOnesOfOtherKinds(me, comm, b);
        me.meet();
      }
      check(waitFor(b.stream));
      me.meet();
      check(cudaStreamDestroy(other));
      good(rondoCommDestroy(comm));
    });
  }
}

/// A type whose sums have kernels of their own; `per` elements lie in an int.
struct Usual {
  rondoDataType_t type;
  size_t per;
  int (*bits)(int first, int second);
};
template <class Half, Half (*make)(float)>
int pairOf(int first, int second) {
  const auto bits = [](int value) {
    return std::bit_cast<uint16_t>(make(static_cast<float>(value)));
  };
  return static_cast<int>(bits(first) | uint32_t{bits(second)} << 16);
}
const Usual kUsual[] = {
    {rondoFloat32, 1, [](int first, int) { return std::bit_cast<int>(static_cast<float>(first)); }},
    {rondoFloat16, 2, pairOf<__half, __float2half>},
    {rondoBfloat16, 2, pairOf<__nv_bfloat16, __float2bfloat16>}};

/// Small: sums of ten calls are exact in any of the types.
int small(int rank, size_t i) { return rank + static_cast<int>(i % 5); }

/// Ten all-reduces of `ints` ints each, in one group, into dst; those of ranks other than 0 read
/// src, of rank 0 too if it does not `lean` on what the call before has written.
void tenSums(const Rank& me, rondoComm_t comm, Buffers& b, const Usual& usual, size_t ints,
             bool lean) {
  good(rondoGroupStart());
  for (size_t k = 0; k < 10; ++k) {
    const bool reads = lean && me.rank == 0 && k > 0;
    good(rondoAllReduce(reads ? b.dst.at((k - 1) * ints) : b.src.at(k * ints), b.dst.at(k * ints),
                        ints * usual.per, usual.type, rondoSum, comm, b.stream));
  }
  good(rondoGroupEnd());
}

size_t wrongSums(const Rank& me, Buffers& b, const Usual& usual, size_t ints, bool lean) {
  // with `lean`, call k has what rank 0 gave to the first call and k + 1 times what others give
  const auto sum = [&](size_t k, size_t i) {
    int all = lean ? small(0, i) : small(0, k + i);
    for (int r = 1; r < me.ranks; ++r) {
      for (size_t j = lean ? 0 : k; j <= k; ++j) all += small(r, j + i);
    }
    return all;
  };
  size_t bad = 0;
  for (size_t k = 0; k < 10; ++k) {
    bad += b.dst.wrong(b.stream, k * ints, ints, [&](size_t i) {
      return usual.bits(sum(k, usual.per * i), sum(k, usual.per * i + 1));
    });
  }
  return bad;
}

void fillSmall(const Rank& me, Buffers& b, const Usual& usual, size_t ints) {
  b.dst.fill(b.stream, [](size_t) { return -1; });
  b.src.fill(b.stream, [&](size_t at) {
    const size_t k = at / ints, i = usual.per * (at % ints);
    return usual.bits(small(me.rank, k + i), small(me.rank, k + i + 1));
  });
}

TEST(DeviceApi, GroupsOfTheUsualSums) {
  for (const int ranks : {2, 3, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      constexpr size_t kMost = 5000;
      Buffers b(me, 10 * kMost);
      for (const Usual& usual : kUsual) {
        for (const size_t ints : {size_t{1}, size_t{77}, kMost}) {
          for (const bool lean : {false, true}) {
            fillSmall(me, b, usual, ints);
            me.meet();
            tenSums(me, comm, b, usual, ints, lean);
            EXPECT_EQ(wrongSums(me, b, usual, ints, lean), 0u)
                << usual.type << " " << ints << " " << lean;
            me.meet();
          }
        }
      }
      good(rondoCommDestroy(comm));
    });
  }
}

size_t kernelsOf(cudaGraph_t graph) {
  size_t count = 0, kernels = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count));
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    check(cudaGraphNodeGetType(node, &type));
    kernels += type == cudaGraphNodeTypeKernel ? 1 : 0;
  }
  return kernels;
}

// Ten neighbours are one kernel; those that lean on each other are one each, on the rank where they
// do.
TEST(DeviceApi, ShortSumsOfAGroupAreOneKernel) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    constexpr size_t kInts = 64;
    Buffers b(me, 10 * kInts);
    for (const bool lean : {false, true}) {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      fillSmall(me, b, kUsual[0], kInts);
      me.meet();
      check(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
      tenSums(me, comm, b, kUsual[0], kInts, lean);
      check(cudaStreamEndCapture(b.stream, &graph));
      EXPECT_EQ(kernelsOf(graph), lean && me.rank == 0 ? 10u : 1u);
      me.meet();
      check(cudaGraphInstantiate(&exec, graph, 0));
      check(cudaGraphUpload(exec, b.stream));
      check(waitFor(b.stream));
      me.meet();
      for (int replay = 0; replay < 3; ++replay) {
        b.dst.fill(b.stream, [](size_t) { return -1; });
        me.loaded();
        check(cudaGraphLaunch(exec, b.stream));
        EXPECT_EQ(wrongSums(me, b, kUsual[0], kInts, lean), 0u) << "replay " << replay;
      }
      me.meet();
      check(cudaGraphExecDestroy(exec));
      check(cudaGraphDestroy(graph));
    }
    good(rondoCommDestroy(comm));
  });
}

// A rank without a part in what stands between two sums must not join them where the others do not.
TEST(DeviceApi, IdleRanksKeepNeighboursApart) {
  rondoUniqueId id;
  onRanks(3, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    constexpr size_t kInts = 1000;
    Buffers b(me, 5 * kInts);
    const size_t mine = me.rank == 2 ? 0 : kInts;
    const size_t counts[] = {kInts, kInts, 0}, places[] = {0, kInts, 2 * kInts};
    const auto group = [&] {
      good(rondoGroupStart());
      good(rondoAllReduce(b.src.at(0), b.dst.at(0), kInts, rondoInt32, rondoSum, comm, b.stream));
      good(rondoGatherV(mine > 0 ? b.src.at(0) : nullptr, mine, b.dst.at(2 * kInts), counts, places,
                        rondoInt32, 0, comm, b.stream));
      good(rondoAllReduce(b.src.at(kInts), b.dst.at(kInts), kInts, rondoInt32, rondoSum, comm,
                          b.stream));
      good(rondoGroupEnd());
    };
    const auto wrong = [&] {
      size_t bad = b.dst.wrong(b.stream, 0, 2 * kInts, [](size_t i) {
        return element(0, i) + element(1, i) + element(2, i);
      });
      for (int from = 0; me.rank == 0 && from < 2; ++from) {
        bad += b.dst.wrong(b.stream, (2 + static_cast<size_t>(from)) * kInts, kInts,
                           [&](size_t i) { return element(from, i); });
      }
      return bad;
    };
    me.meet();
    for (int round = 0; round < 3; ++round) {
      clear(me, b);
      group();
      me.launched();
      EXPECT_EQ(wrong(), 0u) << "round " << round;
    }
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
    group();
    check(cudaStreamEndCapture(b.stream, &graph));
    EXPECT_EQ(kernelsOf(graph), me.rank == 2 ? 2u : 3u);
    check(cudaGraphDestroy(graph));
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

}  // namespace
}  // namespace rondo::test

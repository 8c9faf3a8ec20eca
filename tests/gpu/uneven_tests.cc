// Collectives with a count for every rank, on device memory. The ranks are threads of this process
// on one GPU.

#include <vector>

#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

/// What each rank has in a call with counts of its own; one of them has nothing.
size_t unevenCount(int rank, size_t unit) { return static_cast<size_t>((rank + 2) % 3) * unit; }

void gatherAndScatterUneven(const Rank& me, rondoComm_t comm, Buffers& b, size_t unit) {
  const auto n = static_cast<size_t>(me.ranks);
  const size_t mine = unevenCount(me.rank, unit);
  std::vector<size_t> counts(n), places(n);
  size_t all = 0;
  for (size_t r = 0; r < n; ++r) {
    counts[r] = unevenCount(static_cast<int>(r), unit);
    places[r] = all;
    all += counts[r] + 3;
  }
  const int root = me.ranks - 1;
  const auto wrongBlocks = [&](const auto& value) {
    size_t bad = 0;
    for (size_t r = 0; r < n; ++r) {
      bad += b.dst.wrong(b.stream, places[r], counts[r],
                         [&](size_t i) { return value(static_cast<int>(r), i); });
      bad += b.dst.wrong(b.stream, places[r] + counts[r], 3, [](size_t) { return -1; });
    }
    return bad;
  };
  const auto clear = [&] {
    b.dst.fill(b.stream, [](size_t) { return -1; });
    me.loaded();
  };
  clear();
  good(rondoAllGatherV(b.src.at(0), mine, b.dst.at(0), counts.data(), places.data(), rondoInt32,
                       comm, b.stream));
  me.launched();
  EXPECT_EQ(wrongBlocks([](int r, size_t i) { return element(r, i); }), 0u);
  clear();
  good(rondoGatherV(b.src.at(0), mine, b.dst.at(0), counts.data(), places.data(), rondoInt32, root,
                    comm, b.stream));
  me.launched();
  if (me.rank == root) {
    EXPECT_EQ(wrongBlocks([](int r, size_t i) { return element(r, i); }), 0u);
  }
  clear();
  good(rondoScatterV(b.src.at(0), counts.data(), places.data(), b.dst.at(0), mine, rondoInt32, root,
                     comm, b.stream));
  me.launched();
  const size_t place = places[static_cast<size_t>(me.rank)];
  EXPECT_EQ(b.dst.wrong(b.stream, 0, mine, [&](size_t i) { return element(root, place + i); }), 0u);
  EXPECT_EQ(b.dst.wrong(b.stream, mine, 3, [](size_t) { return -1; }), 0u);
  clear();
  // rank r gives rank s as many as r has, from s on
  std::vector<size_t> own(n, mine), from(n);
  for (size_t s = 0; s < n; ++s) from[s] = s;
  good(rondoAllToAllV(b.src.at(0), own.data(), from.data(), b.dst.at(0), counts.data(),
                      places.data(), rondoInt32, comm, b.stream));
  me.launched();
  EXPECT_EQ(
      wrongBlocks([&](int r, size_t i) { return element(r, i + static_cast<size_t>(me.rank)); }),
      0u);
}

/// Rank r and rank s have as many for each other; first one after the other, then in a group with
/// another collective. Whoever is `apart` has two buffers.
void allToAllInPlace(const Rank& me, rondoComm_t comm, Buffers& b, size_t unit, bool apart) {
  const auto n = static_cast<size_t>(me.ranks);
  std::vector<size_t> counts(n), places(n);
  size_t all = 0;
  const auto between = [&](size_t r, size_t s) { return (r + s) % 3 * unit; };
  const auto placeOf = [&](size_t of, size_t from) {
    size_t place = 1;
    for (size_t s = 0; s < from; ++s) place += between(of, s) + 3;
    return place;
  };
  const auto mine = static_cast<size_t>(me.rank);
  for (size_t r = 0; r < n; ++r) {
    counts[r] = between(mine, r);
    places[r] = placeOf(mine, r);
    all = places[r] + counts[r];
  }
  for (const bool grouped : {false, true}) {
    b.dst.fill(b.stream, [&](size_t i) { return apart ? -1 : element(me.rank, i); });
    me.meet();
    if (grouped) good(rondoGroupStart());
    good(rondoAllToAllV(apart ? b.src.at(0) : b.dst.at(0), counts.data(), places.data(),
                        b.dst.at(0), counts.data(), places.data(), rondoInt32, comm, b.stream));
    if (grouped) {
      good(
          rondoAllReduce(b.src.at(0), b.dst.at(all + 3), 10, rondoInt32, rondoSum, comm, b.stream));
      good(rondoGroupEnd());
    }
    me.launched();
    for (size_t r = 0; r < n; ++r) {
      const int from = static_cast<int>(r);
      EXPECT_EQ(b.dst.wrong(b.stream, places[r], counts[r],
                            [&](size_t i) { return element(from, placeOf(r, mine) + i); }),
                0u);
      EXPECT_EQ(b.dst.wrong(b.stream, places[r] + counts[r], 3,
                            [&](size_t i) {
                              return apart ? -1 : element(me.rank, places[r] + counts[r] + i);
                            }),
                0u);
    }
  }
}

/// Blocks that differ, in place; and blocks that do not.
void reduceScatterUneven(const Rank& me, rondoComm_t comm, Buffers& b, size_t unit) {
  const auto n = static_cast<size_t>(me.ranks);
  for (const bool even : {false, true}) {
    std::vector<size_t> counts(n, unit);
    size_t place = 0;
    for (size_t r = 0; r < n; ++r) {
      if (!even) counts[r] = unevenCount(static_cast<int>(r), unit);
      if (static_cast<int>(r) < me.rank) place += counts[r];
    }
    const size_t mine = counts[static_cast<size_t>(me.rank)];
    const auto sum = [&](size_t i) {
      int out = 0;
      for (int r = 0; r < me.ranks; ++r) out += element(r, place + i);
      return out;
    };
    b.dst.fill(b.stream, [&](size_t i) { return element(me.rank, i); });
    me.meet();
    good(rondoReduceScatterV(b.dst.at(0), b.dst.at(place), counts.data(), rondoInt32, rondoSum,
                             comm, b.stream));
    me.launched();
    EXPECT_EQ(b.dst.wrong(b.stream, place, mine, sum), 0u);
    b.dst.fill(b.stream, [](size_t) { return -1; });
    me.loaded();
    good(rondoReduceScatterV(b.src.at(0), b.dst.at(1), counts.data(), rondoInt32, rondoSum, comm,
                             b.stream));
    me.launched();
    EXPECT_EQ(b.dst.wrong(b.stream, 1, mine, sum), 0u);
    EXPECT_EQ(b.dst.wrong(b.stream, mine + 1, 3, [](size_t) { return -1; }), 0u);
  }
}

/// Rank 0 has nothing, and names no memory where it gives or takes nothing; the others have some.
void oneIdles(const Rank& me, rondoComm_t comm, Buffers& b) {
  const auto n = static_cast<size_t>(me.ranks);
  constexpr size_t kSome = 300;
  const bool idle = me.rank == 0;
  std::vector<size_t> counts(n, kSome), none(n), places(n);
  counts[0] = 0;
  for (size_t r = 2; r < n; ++r) places[r] = (r - 1) * kSome;
  const size_t mine = counts[static_cast<size_t>(me.rank)];
  const int* const from = idle ? nullptr : b.src.at(0);
  int* const to = idle ? nullptr : b.dst.at(0);
  const auto clear = [&] {
    b.dst.fill(b.stream, [](size_t) { return -1; });
    me.meet();
  };
  const auto blockOf = [&](size_t i) {
    return element(static_cast<int>(i / kSome) + 1, i % kSome);
  };
  clear();
  good(rondoAllGatherV(from, mine, b.dst.at(0), counts.data(), places.data(), rondoInt32, comm,
                       b.stream));
  me.launched();
  EXPECT_EQ(b.dst.wrong(b.stream, 0, (n - 1) * kSome, blockOf), 0u);
  clear();
  good(rondoReduceScatterV(b.src.at(0), to, counts.data(), rondoInt32, rondoSum, comm, b.stream));
  me.launched();
  EXPECT_EQ(b.dst.wrong(b.stream, 0, mine,
                        [&](size_t i) {
                          int sum = 0;
                          for (int r = 0; r < me.ranks; ++r) {
                            sum += element(r, places[static_cast<size_t>(me.rank)] + i);
                          }
                          return sum;
                        }),
            0u);
  clear();
  good(rondoGatherV(from, mine, me.rank == 1 ? b.dst.at(0) : nullptr, counts.data(), places.data(),
                    rondoInt32, 1, comm, b.stream));
  me.launched();
  if (me.rank == 1) {
    EXPECT_EQ(b.dst.wrong(b.stream, 0, (n - 1) * kSome, blockOf), 0u);
  }
  clear();
  good(rondoScatterV(me.rank == 1 ? b.src.at(0) : nullptr, counts.data(), places.data(), to, mine,
                     rondoInt32, 1, comm, b.stream));
  me.launched();
  const size_t place = places[static_cast<size_t>(me.rank)];
  EXPECT_EQ(b.dst.wrong(b.stream, 0, mine, [&](size_t i) { return element(1, place + i); }), 0u);
  clear();
  good(rondoAllToAllV(from, idle ? none.data() : counts.data(), places.data(), to,
                      idle ? none.data() : counts.data(), places.data(), rondoInt32, comm,
                      b.stream));
  me.launched();
  if (!idle) {
    EXPECT_EQ(b.dst.wrong(b.stream, 0, (n - 1) * kSome,
                          [&](size_t i) {
                            return element(static_cast<int>(i / kSome) + 1, place + i % kSome);
                          }),
              0u);
  }
}

TEST(DeviceApi, OneRankHasNothing) {
  for (const int ranks : {2, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      Buffers b(me, 2000);
      for (int round = 0; round < 3; ++round) oneIdles(me, comm, b);
      check(waitFor(b.stream));
      me.meet();
      good(rondoCommDestroy(comm));
    });
  }
}

// Memory of a stream in a graph; replayed twice, so that everybody has its own again.
TEST(DeviceApi, AllToAllInPlaceInAGraph) {
  rondoUniqueId id;
  onRanks(3, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    constexpr size_t kSome = 50001;
    Buffers b(me, 3 * kSome);
    const std::vector<size_t> counts(3, kSome);
    const auto mine = [&](size_t i) { return element(me.rank, i); };
    b.dst.fill(b.stream, mine);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
    good(rondoAllToAllV(b.dst.at(0), counts.data(), nullptr, b.dst.at(0), counts.data(), nullptr,
                        rondoInt32, comm, b.stream));
    check(cudaStreamEndCapture(b.stream, &graph));
    me.meet();
    check(cudaGraphInstantiate(&exec, graph, 0));
    check(cudaGraphUpload(exec, b.stream));
    check(waitFor(b.stream));
    me.meet();
    const auto swapped = [&](size_t i) {
      return element(static_cast<int>(i / kSome), static_cast<size_t>(me.rank) * kSome + i % kSome);
    };
    check(cudaGraphLaunch(exec, b.stream));
    me.launched();
    EXPECT_EQ(b.dst.wrong(b.stream, 0, 3 * kSome, swapped), 0u);
    me.loaded();
    check(cudaGraphLaunch(exec, b.stream));
    me.launched();
    EXPECT_EQ(b.dst.wrong(b.stream, 0, 3 * kSome, mine), 0u);
    me.meet();
    check(cudaGraphExecDestroy(exec));
    check(cudaGraphDestroy(graph));
    good(rondoCommDestroy(comm));
  });
}

TEST(DeviceApi, CountsOfTheirOwn) {
  for (const int ranks : {1, 2, 3, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      constexpr size_t kMost = 70001;
      Buffers b(me, 10 * kMost);
      for (const size_t unit : {size_t{1}, size_t{1000}, kMost}) {
        gatherAndScatterUneven(me, comm, b, unit);
        reduceScatterUneven(me, comm, b, unit);
        allToAllInPlace(me, comm, b, unit, false);
        allToAllInPlace(me, comm, b, unit, me.rank % 2 == 0);
      }
      // whoever has nothing says by its stream that it is on devices
      std::vector<size_t> none(static_cast<size_t>(ranks));
      good(rondoAllToAllV(nullptr, none.data(), nullptr, nullptr, none.data(), nullptr, rondoInt32,
                          comm, b.stream));
      check(waitFor(b.stream));
      me.meet();
      good(rondoCommDestroy(comm));
    });
  }
}

}  // namespace
}  // namespace rondo::test

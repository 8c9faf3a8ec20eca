// Collectives with a part of its own for every rank, rooted ones and scans, against plain loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "support/world.h"

namespace rondo::testing {
namespace {

/// Element i of rank r's src.
int32_t value(int rank, size_t i) {
  return static_cast<int32_t>((static_cast<uint32_t>(rank) * 2654435761u) ^ (i * 40503u)) >> 3;
}

std::vector<int32_t> source(int rank, size_t count) {
  std::vector<int32_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = value(rank, i);
  return out;
}

int32_t sumOf(int lo, int hi, size_t i) {
  uint32_t sum = 0;
  for (int r = lo; r < hi; ++r) sum += static_cast<uint32_t>(value(r, i));
  return static_cast<int32_t>(sum);
}

constexpr int32_t kPoison = 0x5a5a5a5a;
constexpr rondoDataType_t kType = rondoInt32;

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// Even counts. `place` in place.
void checkEven(const Rank& me, size_t count, bool place) {
  const auto n = static_cast<size_t>(me.size), rank = static_cast<size_t>(me.rank);
  const size_t all = n * count;
  {  // all-gather
    std::vector<int32_t> src = source(me.rank, count), dst(all + 1, kPoison);
    if (place) std::copy(src.begin(), src.end(), dst.begin() + static_cast<long>(rank * count));
    const int32_t* send = place ? dst.data() + rank * count : src.data();
    RONDO_OK(rondoAllGather(send, dst.data(), count, kType, me.comm, nullptr));
    for (size_t i = 0; i < all; ++i) {
      ASSERT_EQ(dst[i], value(static_cast<int>(i / count), i % count)) << "all-gather " << i;
    }
    EXPECT_EQ(dst[all], kPoison);
  }
  {  // reduce-scatter
    std::vector<int32_t> src = source(me.rank, all), dst(count + 1, kPoison);
    int32_t* recv = place ? src.data() + rank * count : dst.data();
    RONDO_OK(rondoReduceScatter(src.data(), recv, count, kType, rondoSum, me.comm, nullptr));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(recv[i], sumOf(0, me.size, rank * count + i)) << "reduce-scatter " << i;
    }
    EXPECT_EQ(dst[count], kPoison);
  }
  {  // all-to-all
    std::vector<int32_t> src = source(me.rank, all), dst(all + 1, kPoison);
    int32_t* recv = place ? src.data() : dst.data();
    RONDO_OK(rondoAllToAll(src.data(), recv, count, kType, me.comm, nullptr));
    for (size_t i = 0; i < all; ++i) {
      ASSERT_EQ(recv[i], value(static_cast<int>(i / count), rank * count + i % count)) << i;
    }
    EXPECT_EQ(dst[all], kPoison);
  }
  {  // scans
    std::vector<int32_t> src = source(me.rank, count), dst(count + 1, kPoison);
    int32_t* recv = place ? src.data() : dst.data();
    RONDO_OK(rondoScan(src.data(), recv, count, kType, rondoSum, me.comm, nullptr));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(recv[i], sumOf(0, me.rank + 1, i)) << i;
    src = source(me.rank, count);
    std::fill(dst.begin(), dst.end(), kPoison);
    recv = place ? src.data() : dst.data();
    RONDO_OK(rondoExscan(src.data(), recv, count, kType, rondoSum, me.comm, nullptr));
    for (size_t i = 0; i < count; ++i) {
      const int32_t kept = place ? value(0, i) : kPoison;
      ASSERT_EQ(recv[i], me.rank == 0 ? kept : sumOf(0, me.rank, i)) << i;
    }
    EXPECT_EQ(dst[count], kPoison);
  }
}

void checkRooted(const Rank& me, size_t count, int root, bool place) {
  const auto n = static_cast<size_t>(me.size), rank = static_cast<size_t>(me.rank);
  const bool isRoot = me.rank == root;
  const size_t all = n * count;
  {  // reduce
    std::vector<int32_t> src = source(me.rank, count), dst(count + 1, kPoison);
    int32_t* recv = !isRoot ? nullptr : place ? src.data() : dst.data();
    RONDO_OK(rondoReduce(src.data(), recv, count, kType, rondoSum, root, me.comm, nullptr));
    for (size_t i = 0; isRoot && i < count; ++i) ASSERT_EQ(recv[i], sumOf(0, me.size, i)) << i;
    EXPECT_EQ(dst[count], kPoison);
  }
  {  // gather
    std::vector<int32_t> src = source(me.rank, count), dst(all + 1, kPoison);
    if (place) std::copy(src.begin(), src.end(), dst.begin() + static_cast<long>(rank * count));
    const int32_t* send = isRoot && place ? dst.data() + rank * count : src.data();
    int32_t* recv = isRoot ? dst.data() : nullptr;
    RONDO_OK(rondoGather(send, recv, count, kType, root, me.comm, nullptr));
    for (size_t i = 0; isRoot && i < all; ++i) {
      ASSERT_EQ(dst[i], value(static_cast<int>(i / count), i % count)) << "gather " << i;
    }
    EXPECT_EQ(dst[all], kPoison);
  }
  {  // scatter
    std::vector<int32_t> src = source(me.rank, all), dst(count + 1, kPoison);
    int32_t* recv = isRoot && place ? src.data() + rank * count : dst.data();
    RONDO_OK(
        rondoScatter(isRoot ? src.data() : nullptr, recv, count, kType, root, me.comm, nullptr));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(recv[i], value(root, rank * count + i)) << i;
    EXPECT_EQ(dst[count], kPoison);
  }
}

/// Counts [from][to] that all ranks know, some of them 0.
std::vector<std::vector<size_t>> matrix(std::mt19937& random, int n, size_t most) {
  std::vector<std::vector<size_t>> out(static_cast<size_t>(n));
  for (auto& row : out) {
    for (int q = 0; q < n; ++q) {
      row.push_back(random() % 4 == 0 ? 0 : random() % (most + 1));
    }
  }
  return out;
}

/// Displacements with gaps, in an order that is not that of the ranks.
std::vector<size_t> scattered(const std::vector<size_t>& counts, size_t* extent) {
  std::vector<size_t> displs(counts.size());
  size_t at = 2;
  for (size_t k = counts.size(); k-- > 0;) {
    displs[k] = at;
    at += counts[k] + k % 3;
  }
  *extent = at;
  return displs;
}

void checkUneven(const Rank& me, std::mt19937& random, size_t most) {
  const auto n = static_cast<size_t>(me.size), rank = static_cast<size_t>(me.rank);
  const auto counts = matrix(random, me.size, most);
  const int root = static_cast<int>(random() % n);
  const bool isRoot = me.rank == root;
  size_t extent = 0;
  const std::vector<size_t>& mine = counts[0];  // [rank]: the same everywhere
  const std::vector<size_t> displs = scattered(mine, &extent);
  const auto expectBlocks = [&](const std::vector<int32_t>& dst, const char* what) {
    std::vector<int32_t> wanted(dst.size(), kPoison);
    for (size_t r = 0; r < n; ++r) {
      for (size_t i = 0; i < mine[r]; ++i) wanted[displs[r] + i] = value(static_cast<int>(r), i);
    }
    ASSERT_EQ(dst, wanted) << what;
  };
  {
    const std::vector<int32_t> src = source(me.rank, mine[rank]);
    std::vector<int32_t> dst(extent + 1, kPoison);
    RONDO_OK(rondoAllGatherV(src.data(), mine[rank], dst.data(), mine.data(), displs.data(), kType,
                             me.comm, nullptr));
    expectBlocks(dst, "all-gather-v");
    dst.assign(extent + 1, kPoison);
    RONDO_OK(rondoGatherV(src.data(), mine[rank], isRoot ? dst.data() : nullptr,
                          isRoot ? mine.data() : nullptr, isRoot ? displs.data() : nullptr, kType,
                          root, me.comm, nullptr));
    if (isRoot) expectBlocks(dst, "gather-v");
  }
  {
    const std::vector<int32_t> src = source(root, extent);
    std::vector<int32_t> dst(mine[rank] + 1, kPoison);
    RONDO_OK(rondoScatterV(isRoot ? src.data() : nullptr, isRoot ? mine.data() : nullptr,
                           isRoot ? displs.data() : nullptr, dst.data(), mine[rank], kType, root,
                           me.comm, nullptr));
    for (size_t i = 0; i < mine[rank]; ++i) ASSERT_EQ(dst[i], value(root, displs[rank] + i));
    EXPECT_EQ(dst[mine[rank]], kPoison);
  }
  {
    const size_t total = std::accumulate(mine.begin(), mine.end(), size_t{0});
    const size_t before = std::accumulate(mine.begin(), mine.begin() + me.rank, size_t{0});
    const std::vector<int32_t> src = source(me.rank, total);
    std::vector<int32_t> dst(mine[rank] + 1, kPoison);
    RONDO_OK(rondoReduceScatterV(src.data(), dst.data(), mine.data(), kType, rondoSum, me.comm,
                                 nullptr));
    for (size_t i = 0; i < mine[rank]; ++i) ASSERT_EQ(dst[i], sumOf(0, me.size, before + i));
    EXPECT_EQ(dst[mine[rank]], kPoison);
  }
  {
    std::vector<size_t> give = counts[rank], take;
    for (size_t r = 0; r < n; ++r) take.push_back(counts[r][rank]);
    size_t sendExtent = 0, recvExtent = 0;
    const std::vector<size_t> sdispls = scattered(give, &sendExtent);
    const std::vector<size_t> rdispls = scattered(take, &recvExtent);
    const std::vector<int32_t> src = source(me.rank, sendExtent);
    std::vector<int32_t> dst(recvExtent + 1, kPoison), wanted(recvExtent + 1, kPoison);
    RONDO_OK(rondoAllToAllV(src.data(), give.data(), sdispls.data(), dst.data(), take.data(),
                            rdispls.data(), kType, me.comm, nullptr));
    for (size_t r = 0; r < n; ++r) {
      size_t unused = 0;
      const size_t from = scattered(counts[r], &unused)[rank];
      for (size_t i = 0; i < take[r]; ++i) {
        wanted[rdispls[r] + i] = value(static_cast<int>(r), from + i);
      }
    }
    ASSERT_EQ(dst, wanted) << "all-to-all-v";
  }
}

class WorldSlots : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(WorldSlots, EvenRootedAndUneven) {
  const auto [rule, ranks] = GetParam();
  World(ranks).tune(rule).run([](const Rank& me) {
    std::mt19937 random(static_cast<unsigned>(me.size) + 11);  // the same on all ranks
    for (const size_t count : {0, 1, 3, 24, 25, 1023, 8192, 8193, 40003}) {
      checkEven(me, count, random() % 2 == 0);
      checkRooted(me, count, static_cast<int>(random() % static_cast<unsigned>(me.size)),
                  random() % 2 == 0);
      checkUneven(me, random, count);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    World, WorldSlots,
    ::testing::Combine(::testing::Values("",
                                         "allgather:host:0-:ring,reducescatter:host:0-:ring,"
                                         "reduce:host:0-:ring,scan:host:0-:chain,"
                                         "exscan:host:0-:chain",
                                         "reduce:host:0-:twoshot,scan:host:0-:oneshot,"
                                         "exscan:host:0-:oneshot,allgather:host:0-:direct/2/1K"),
                       ::testing::Values(1, 2, 3, 4, 5, 7, 8)));

}  // namespace
}  // namespace rondo::testing

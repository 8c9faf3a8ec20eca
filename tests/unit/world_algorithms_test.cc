// Every registered algorithm run for real: forced by rules, on every size of world, with counts
// around the ends of chunks, blocks and periods, in place and not, against plain loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "coll/registry.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

template <class T>
struct Kind;
template <>
struct Kind<int32_t> {
  static constexpr rondoDataType_t type = rondoInt32;
};
template <>
struct Kind<float> {
  static constexpr rondoDataType_t type = rondoFloat32;
};

constexpr int kPoison = -77;

/// Element i of rank r's src: sums are exact in float too.
int value(int rank, size_t i) { return (rank * 37 + static_cast<int>(i % 1009) * 5) % 251; }

int sumOf(int lo, int hi, size_t i) {
  int sum = 0;
  for (int r = lo; r < hi; ++r) sum += value(r, i);
  return sum;
}

template <class T>
std::vector<T> source(int rank, size_t count) {
  std::vector<T> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<T>(value(rank, i));
  return out;
}

/// src and dst of one call; `place`: dst is src, or the part of it that it says.
template <class T>
struct Buffers {
  std::vector<T> src, dst;
  T* recv;
  Buffers(int rank, size_t srcCount, size_t dstCount, bool place, size_t at = 0)
      : src(source<T>(rank, srcCount)), dst(dstCount + 1, static_cast<T>(kPoison)) {
    recv = place ? src.data() + at : dst.data();
  }
  /// Elements of recv against wanted(i), and nothing written behind dst.
  template <class F>
  void expect(size_t count, const char* what, const F& wanted) const {
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(recv[i], static_cast<T>(wanted(i))) << what << i;
    ASSERT_EQ(dst.back(), static_cast<T>(kPoison)) << what;
  }
};

/// The algorithms of one collective after the other, for all collectives at once: the k-th of each,
/// or what is left of those that have fewer.
std::string rulesOf(size_t k, const char* cut) {
  std::string rules;
  for (int c = 0; c < kCollectives; ++c) {
    std::vector<const Algorithm*> rows;
    for (const Algorithm& row : registry()) {
      if (static_cast<int>(row.collective) == c) rows.push_back(&row);
    }
    const Algorithm& row = *rows[k % rows.size()];
    rules += std::string(rules.empty() ? "" : ",") + collectiveName(row.collective) +
             ":host:0-:" + row.name + cut;
  }
  return rules;
}

size_t mostAlgorithms() {
  size_t most = 0;
  for (const Algorithm& row : registry()) {
    most = std::max(most, static_cast<size_t>(std::count_if(
                              registry().begin(), registry().end(), [&](const Algorithm& other) {
                                return other.collective == row.collective;
                              })));
  }
  return most;
}

template <class T>
void checkWholes(const Rank& me, size_t count, bool place) {
  constexpr rondoDataType_t type = Kind<T>::type;
  const auto sum = [&](size_t i) { return sumOf(0, me.size, i); };
  {
    Buffers<T> b(me.rank, count, count, place);
    RONDO_OK(rondoAllReduce(b.src.data(), b.recv, count, type, rondoSum, me.comm, nullptr));
    b.expect(count, "all-reduce ", sum);
  }
  {
    Buffers<T> b(me.rank, count, count, place);
    RONDO_OK(rondoScan(b.src.data(), b.recv, count, type, rondoSum, me.comm, nullptr));
    b.expect(count, "scan ", [&](size_t i) { return sumOf(0, me.rank + 1, i); });
  }
  {
    Buffers<T> b(me.rank, count, count, place);
    RONDO_OK(rondoExscan(b.src.data(), b.recv, count, type, rondoSum, me.comm, nullptr));
    b.expect(count, "exscan ", [&](size_t i) {
      return me.rank > 0 ? sumOf(0, me.rank, i) : place ? value(0, i) : kPoison;
    });
  }
}

template <class T>
void checkRooted(const Rank& me, size_t count, int root, bool place) {
  constexpr rondoDataType_t type = Kind<T>::type;
  const bool isRoot = me.rank == root;
  const size_t all = static_cast<size_t>(me.size) * count;
  const size_t mine = static_cast<size_t>(me.rank) * count;
  {
    Buffers<T> b(me.rank, count, count, place && isRoot);
    RONDO_OK(rondoReduce(b.src.data(), isRoot ? b.recv : nullptr, count, type, rondoSum, root,
                         me.comm, nullptr));
    b.expect(isRoot ? count : 0, "reduce ", [&](size_t i) { return sumOf(0, me.size, i); });
  }
  {
    Buffers<T> b(me.rank, count, count, place);
    RONDO_OK(rondoBroadcast(b.src.data(), b.recv, count, type, root, me.comm, nullptr));
    b.expect(count, "broadcast ", [&](size_t i) { return value(root, i); });
  }
  {
    Buffers<T> b(me.rank, count, isRoot ? all : 0, false);
    if (place && isRoot) std::copy(b.src.begin(), b.src.end(), b.dst.begin() + mine);
    RONDO_OK(rondoGather(place && isRoot ? b.dst.data() + mine : b.src.data(), b.recv, count, type,
                         root, me.comm, nullptr));
    b.expect(isRoot ? all : 0, "gather ",
             [&](size_t i) { return value(static_cast<int>(i / count), i % count); });
  }
  {
    Buffers<T> b(me.rank, all, count, place && isRoot, mine);
    RONDO_OK(rondoScatter(b.src.data(), b.recv, count, type, root, me.comm, nullptr));
    b.expect(count, "scatter ", [&](size_t i) { return value(root, mine + i); });
  }
}

template <class T>
void checkSlots(const Rank& me, size_t count, bool place) {
  constexpr rondoDataType_t type = Kind<T>::type;
  const size_t all = static_cast<size_t>(me.size) * count;
  const size_t mine = static_cast<size_t>(me.rank) * count;
  {
    Buffers<T> b(me.rank, count, all, false);
    if (place) std::copy(b.src.begin(), b.src.end(), b.dst.begin() + mine);
    RONDO_OK(rondoAllGather(place ? b.dst.data() + mine : b.src.data(), b.recv, count, type,
                            me.comm, nullptr));
    b.expect(all, "all-gather ",
             [&](size_t i) { return value(static_cast<int>(i / count), i % count); });
  }
  {
    Buffers<T> b(me.rank, all, count, place, mine);
    RONDO_OK(rondoReduceScatter(b.src.data(), b.recv, count, type, rondoSum, me.comm, nullptr));
    b.expect(count, "reduce-scatter ", [&](size_t i) { return sumOf(0, me.size, mine + i); });
  }
  {
    Buffers<T> b(me.rank, all, all, place);
    RONDO_OK(rondoAllToAll(b.src.data(), b.recv, count, type, me.comm, nullptr));
    b.expect(all, "all-to-all ",
             [&](size_t i) { return value(static_cast<int>(i / count), mine + i % count); });
  }
}

/// Slots of different lengths, some of them empty, one behind the other.
template <class T>
void checkUneven(const Rank& me, size_t most) {
  constexpr rondoDataType_t type = Kind<T>::type;
  const auto n = static_cast<size_t>(me.size), rank = static_cast<size_t>(me.rank);
  std::vector<size_t> counts, displs;
  size_t total = 0;
  for (size_t r = 0; r < n; ++r) {
    counts.push_back(r % 3 == 2 ? 0 : most * (r + 1) / n);
    displs.push_back(total);
    total += counts.back();
  }
  const auto ownerOf = [&](size_t i) {
    size_t r = 0;
    while (i >= displs[r] + counts[r]) ++r;
    return r;
  };
  {
    Buffers<T> b(me.rank, counts[rank], total, false);
    RONDO_OK(rondoAllGatherV(b.src.data(), counts[rank], b.recv, counts.data(), displs.data(), type,
                             me.comm, nullptr));
    b.expect(total, "all-gather-v ",
             [&](size_t i) { return value(static_cast<int>(ownerOf(i)), i - displs[ownerOf(i)]); });
  }
  {
    Buffers<T> b(me.rank, total, counts[rank], false);
    RONDO_OK(
        rondoReduceScatterV(b.src.data(), b.recv, counts.data(), type, rondoSum, me.comm, nullptr));
    b.expect(counts[rank], "reduce-scatter-v ",
             [&](size_t i) { return sumOf(0, me.size, displs[rank] + i); });
  }
  {  // Every rank gives everyone counts[rank] elements, and takes everyone's counts.
    const std::vector<size_t> give(n, counts[rank]);
    std::vector<size_t> from(n);
    for (size_t r = 0; r < n; ++r) from[r] = r * counts[rank];
    Buffers<T> b(me.rank, n * counts[rank], total, false);
    RONDO_OK(rondoAllToAllV(b.src.data(), give.data(), from.data(), b.recv, counts.data(),
                            displs.data(), type, me.comm, nullptr));
    b.expect(total, "all-to-all-v ", [&](size_t i) {
      const size_t r = ownerOf(i);
      return value(static_cast<int>(r), rank * counts[r] + i - displs[r]);
    });
  }
}

template <class T>
void checkAll(const Rank& me, size_t count, bool place) {
  checkWholes<T>(me, count, place);
  checkSlots<T>(me, count, place);
  checkRooted<T>(me, count, static_cast<int>(count) % me.size, place);
  checkUneven<T>(me, count);
}

/// sum of (r + 1) times rank r's: whoever reduces must scale its own src, and only that, wherever
/// among the operands it comes.
void checkScaled(const Rank& me, size_t count, bool place) {
  rondoRedOp_t op;
  const int32_t scalar = me.rank + 1;
  RONDO_OK(rondoRedOpCreatePreMulSum(&op, &scalar, rondoInt32, rondoScalarHostImmediate, me.comm));
  const auto sum = [&](int n, size_t i) {
    int out = 0;
    for (int r = 0; r < n; ++r) out += (r + 1) * value(r, i);
    return out;
  };
  const size_t mine = static_cast<size_t>(me.rank) * count;
  {
    Buffers<int32_t> b(me.rank, count, count, place);
    RONDO_OK(rondoAllReduce(b.src.data(), b.recv, count, rondoInt32, op, me.comm, nullptr));
    b.expect(count, "scaled all-reduce ", [&](size_t i) { return sum(me.size, i); });
  }
  {
    const bool isRoot = me.rank == me.size - 1;
    Buffers<int32_t> b(me.rank, count, count, place && isRoot);
    RONDO_OK(rondoReduce(b.src.data(), isRoot ? b.recv : nullptr, count, rondoInt32, op,
                         me.size - 1, me.comm, nullptr));
    b.expect(isRoot ? count : 0, "scaled reduce ", [&](size_t i) { return sum(me.size, i); });
  }
  {
    Buffers<int32_t> b(me.rank, count * static_cast<size_t>(me.size), count, place, mine);
    RONDO_OK(rondoReduceScatter(b.src.data(), b.recv, count, rondoInt32, op, me.comm, nullptr));
    b.expect(count, "scaled reduce-scatter ", [&](size_t i) { return sum(me.size, mine + i); });
  }
  {
    Buffers<int32_t> b(me.rank, count, count, place);
    RONDO_OK(rondoScan(b.src.data(), b.recv, count, rondoInt32, op, me.comm, nullptr));
    b.expect(count, "scaled scan ", [&](size_t i) { return sum(me.rank + 1, i); });
  }
  RONDO_OK(rondoRedOpDestroy(op, me.comm));
}

class WorldAlgorithms : public ::testing::TestWithParam<size_t> {};

TEST_P(WorldAlgorithms, GiveThePlainAnswer) {
  struct Cut {
    const char* rule;
    std::vector<size_t> counts;
  };
  // Chunks of 256 elements over two lanes, and what the planner takes.
  const Cut cuts[] = {{"/2/1K", {1, 17, 255, 256, 257, 511, 513, 2049}}, {"", {0, 3, 1024, 9001}}};
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 16}) {
    for (const Cut& cut : cuts) {
      const std::string rules = rulesOf(GetParam(), cut.rule);
      World(ranks).tune(rules.c_str()).run([&](const Rank& me) {
        for (const size_t count : cut.counts) {
          for (const bool place : {false, true}) {
            place == (count % 2 == 0) ? checkAll<int32_t>(me, count, place)
                                      : checkAll<float>(me, count, place);
            checkScaled(me, count, place);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      });
      ASSERT_FALSE(HasFailure()) << ranks << " ranks, " << rules;
    }
  }
}

/// Chunks long enough to be posted where they stand, and to stay there until they are read.
TEST_P(WorldAlgorithms, GiveThePlainAnswerForLongMessages) {
  for (const int ranks : {2, 3, 8}) {
    const std::string rules = rulesOf(GetParam(), "/2");
    World(ranks).tune(rules.c_str()).run([&](const Rank& me) {
      for (const size_t count : {size_t{16384}, size_t{70001}, size_t{16385}}) {
        for (const bool place : {false, true}) checkAll<float>(me, count, place);
        if (::testing::Test::HasFatalFailure()) return;
      }
    });
    ASSERT_FALSE(HasFailure()) << ranks << " ranks, " << rules;
  }
}

INSTANTIATE_TEST_SUITE_P(World, WorldAlgorithms, ::testing::Range(size_t{0}, mostAlgorithms()));

}  // namespace
}  // namespace rondo::testing

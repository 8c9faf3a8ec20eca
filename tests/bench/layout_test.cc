// The suite's expected values against a plain reference: all ranks' buffers are filled by the
// layouts, the collective is done here element by element from what MPI's and Rondo's documents
// say, and the layouts must call exactly that right, and anything else wrong.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "../../benchmarks/rondo_bench/benchmark.h"
#include "../../benchmarks/rondo_bench/pattern_set.h"

namespace rondo::bench {
namespace {

using Buffer = std::vector<int64_t>;
using Buffers = std::vector<Buffer>;

constexpr size_t kPhase = 13;

struct Job {
  const Benchmark& benchmark;
  int ranks;
  int root;
  size_t elements;
  int window = 3;
  PatternSet patterns{{findElementType("int64"), findOperator("sum"), ranks}};

  Layout layout(int rank) const { return benchmark.layOut({ranks, rank, root, window}, elements); }
  Buffers inputs() const {
    Buffers result;
    for (int rank = 0; rank < ranks; ++rank) {
      const Layout mine = layout(rank);
      result.emplace_back(mine.sendElements());
      patterns.fill(mine.send, result.back().data(), kPhase);
    }
    return result;
  }
};

Buffer slice(const Buffer& from, size_t at, size_t count) {
  return {from.begin() + static_cast<std::ptrdiff_t>(at),
          from.begin() + static_cast<std::ptrdiff_t>(at + count)};
}

Buffer concat(const Buffers& parts) {
  Buffer result;
  for (const Buffer& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}

Buffer sumOf(const Buffers& inputs, size_t ranks) {
  Buffer result(inputs.front().size());
  for (size_t r = 0; r < ranks; ++r) {
    for (size_t i = 0; i < result.size(); ++i) result[i] += inputs[r][i];
  }
  return result;
}

/// The counts as the documents have them, worked out here once more.
std::vector<size_t> blockCounts(const Job& job, size_t average, size_t total) {
  const auto n = static_cast<size_t>(job.ranks);
  std::vector<size_t> counts(n, average);
  if (!job.benchmark.has(kUneven)) return counts;
  for (size_t i = 0; i < n; ++i) {
    if (i % 2 == 0 && i + 1 == n) continue;  // no partner to take from
    const size_t quarter = average / 4 + (average % 4 != 0 ? 1 : 0);
    if (i % 2 == 0) counts[i] = average + quarter;
    if (i % 2 == 1) counts[i] = average - quarter;
  }
  counts[n - 1] += total - average * n;
  return counts;
}

size_t begin(const std::vector<size_t>& counts, size_t rank) {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(rank),
                         size_t{0});
}

Buffer allToAll(const Job& job, const Buffers& in, size_t me) {
  Buffers parts;
  const auto count = [&](size_t a, size_t b) {
    if (!job.benchmark.has(kUneven)) return job.elements;
    const size_t quarter = (job.elements + 3) / 4;
    return (a + b) % 2 == 0 ? job.elements + quarter : job.elements - quarter;
  };
  for (size_t r = 0; r < in.size(); ++r) {
    size_t at = 0;
    for (size_t other = 0; other < me; ++other) at += count(r, other);
    parts.push_back(slice(in[r], at, count(r, me)));
  }
  return concat(parts);
}

/// What rank `me` must end up with; `untouched` where it must find what was there.
Buffer reference(const Job& job, const Buffers& in, size_t me, bool& untouched) {
  const std::string name = job.benchmark.name;
  const auto n = static_cast<size_t>(job.ranks);
  const auto root = static_cast<size_t>(job.root);
  if (name == "allreduce" || (name == "reduce" && me == root)) return sumOf(in, n);
  if (name == "bcast") return in[root];
  if (name.starts_with("allgather")) return concat(in);
  if (name.starts_with("gather") && me == root) return concat(in);
  if (name.starts_with("alltoall")) return allToAll(job, in, me);
  if (name == "scan") return sumOf(in, me + 1);
  if (name == "exscan") {
    untouched = me == 0;
    return me == 0 ? in[0] : sumOf(in, me);
  }
  if (name.starts_with("scatter")) {
    const auto counts = blockCounts(job, job.elements, job.elements * n);
    return slice(in[root], begin(counts, me), counts[me]);
  }
  if (name.starts_with("reduce_scatter")) {
    const auto counts = blockCounts(job, job.elements / n, job.elements);
    return slice(sumOf(in, n), begin(counts, me), counts[me]);
  }
  if (name == "sendrecv") return in[(me + n - 1) % n];
  const size_t half = name == "mbw_mr" ? n / 2 : 1;
  const bool pairs = job.benchmark.has(kPairs) && me < 2 * half;
  if (!pairs) return {};
  const size_t peer = me < half ? me + half : me - half;
  return in[peer];
}

class BenchLayout : public ::testing::TestWithParam<const char*> {};

std::vector<const char*> names() {
  std::vector<const char*> result;
  for (const Benchmark& benchmark : benchmarks()) result.push_back(benchmark.name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, BenchLayout, ::testing::ValuesIn(names()),
                         [](const auto& param) { return std::string(param.param); });

void check(const Job& job) {
  const Buffers in = job.inputs();
  for (int rank = 0; rank < job.ranks; ++rank) {
    SCOPED_TRACE(job.benchmark.name + std::string(" of ") + std::to_string(job.elements) +
                 ", rank " + std::to_string(rank) + " of " + std::to_string(job.ranks));
    bool untouched = false;
    Buffer want = reference(job, in, static_cast<size_t>(rank), untouched);
    const Layout layout = job.layout(rank);
    ASSERT_EQ(layout.recvElements(), want.size());
    EXPECT_EQ(job.patterns.countWrong(layout.recv, want.data(), kPhase), 0u);
    Buffer poisoned(want.size());
    job.patterns.poison(layout.recv, poisoned.data(), kPhase);
    EXPECT_EQ(job.patterns.countWrong(layout.recv, poisoned.data(), kPhase),
              untouched ? 0 : want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      want[i] ^= int64_t{1} << (i % 63);
      ASSERT_EQ(job.patterns.countWrong(layout.recv, want.data(), kPhase), 1u) << i;
      want[i] ^= int64_t{1} << (i % 63);
    }
  }
}

TEST_P(BenchLayout, SaysWhatTheCollectiveMeans) {
  const Benchmark& benchmark = *findBenchmark(GetParam());
  for (int ranks : {1, 2, 3, 4, 5, 8}) {
    if (benchmark.has(kPairs) && (ranks < 2 || ranks % 2 != 0)) continue;
    for (size_t elements : {1, 2, 7, 100, 1030}) {
      const size_t whole = benchmark.quantum({ranks, 0, 0, 1}, 1);
      const size_t rounded = elements < whole ? whole : elements / whole * whole;
      check({benchmark, ranks, ranks / 2, rounded});
    }
  }
}

void checkInPlace(const Benchmark& benchmark, int rank) {
  constexpr int kRanks = 4;
  constexpr int kRoot = 2;
  const Layout layout = benchmark.layOut({kRanks, rank, kRoot, 1}, 40);
  const std::string name = benchmark.name;
  const auto before = [rank](const Counts& counts) {
    return counts.displs[static_cast<size_t>(rank)];
  };
  size_t send = 0;
  size_t recv = 0;
  if (name.starts_with("allgather")) send = before(layout.recvFrom);
  if (name.starts_with("gather") && rank == kRoot) send = before(layout.recvFrom);
  if (name.starts_with("reduce_scatter")) recv = before(layout.recvFrom);
  if (name.starts_with("scatter") && rank == kRoot) recv = before(layout.sendTo);
  EXPECT_EQ(layout.sendAt, send) << name << " rank " << rank;
  EXPECT_EQ(layout.recvAt, recv) << name << " rank " << rank;
  if (benchmark.has(kRooted) && rank != kRoot) {
    EXPECT_TRUE(layout.send.empty() || layout.recv.empty()) << "only the root has both";
  }
}

TEST(BenchInPlace, BuffersLieAsTheRuleSays) {
  for (const Benchmark& benchmark : benchmarks()) {
    if (!benchmark.has(kInPlace)) continue;
    for (int rank = 0; rank < 4; ++rank) checkInPlace(benchmark, rank);
  }
}

TEST(BenchLayoutCounts, UnevenOnesAddUpAndDiffer) {
  for (int ranks : {1, 2, 3, 4, 7}) {
    for (size_t total : {1, 2, 3, 5, 16, 1000}) {
      const auto counts = unevenCounts(total, ranks);
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), size_t{0}), total);
    }
  }
  EXPECT_EQ(unevenCounts(16, 4), (std::vector<size_t>{5, 3, 5, 3}));
  EXPECT_EQ(unevenCounts(4, 4), (std::vector<size_t>{2, 0, 2, 0})) << "tiny blocks are empty";
  EXPECT_EQ(unevenCounts(300, 3), (std::vector<size_t>{125, 75, 100}));
  EXPECT_EQ(unevenPairCount(100, 0, 2), 125u);
  EXPECT_EQ(unevenPairCount(100, 2, 1), unevenPairCount(100, 1, 2));
  EXPECT_EQ(unevenPairCount(1, 0, 1), 0u);
}

double bus(const char* name, size_t elements, int ranks, int root = 0) {
  return findBenchmark(name)->busElements(elements, {ranks, 0, root, 64});
}

TEST(BenchBusBandwidth, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus("allreduce", 400, 4), 600);
  EXPECT_DOUBLE_EQ(bus("reduce_scatter", 400, 4), 300) << "the size is that of all blocks";
  EXPECT_DOUBLE_EQ(bus("allgather", 100, 4), 300) << "the size is that of one block";
  EXPECT_DOUBLE_EQ(bus("alltoall", 100, 4), 300);
  EXPECT_DOUBLE_EQ(bus("bcast", 400, 4), 400);
  EXPECT_DOUBLE_EQ(bus("bibw", 100, 2), 200);
  EXPECT_DOUBLE_EQ(bus("mbw_mr", 100, 6), 300);
  EXPECT_DOUBLE_EQ(bus("sendrecv", 100, 6), 100);
}

/// Of blocks that differ in length the bus bandwidth counts what goes from rank to rank.
TEST(BenchBusBandwidth, UnevenBlocksCountWithoutThoseThatStay) {
  EXPECT_DOUBLE_EQ(bus("alltoallv", 1024, 2), 768) << "the long block is a rank's own";
  EXPECT_DOUBLE_EQ(bus("alltoallv", 1, 2), 0);
  for (const char* name : {"alltoallv", "gatherv", "scatterv"}) {
    for (int ranks : {1, 2, 3, 4, 7}) {
      const int root = ranks / 2;
      size_t sent = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Layout layout = findBenchmark(name)->layOut({ranks, rank, root, 64}, 100);
        for (const Piece& piece : layout.recv) {
          if (piece.rank != rank) sent += piece.count;
        }
      }
      const double moved = static_cast<double>(sent);
      EXPECT_DOUBLE_EQ(bus(name, 100, ranks, root),
                       std::string(name) == "alltoallv" ? moved / ranks : moved)
          << name << ranks;
    }
  }
}

TEST(BenchExtent, IsTheSameOnAllRanks) {
  for (const Benchmark& benchmark : benchmarks()) {
    const Extent first = extentOf(benchmark, {4, 0, 1, 8}, 4096, 4, false);
    const Extent last = extentOf(benchmark, {4, 3, 1, 8}, 4096, 4, false);
    EXPECT_EQ(first.send, last.send) << benchmark.name;
    EXPECT_EQ(first.recv, last.recv) << benchmark.name;
    EXPECT_EQ(first.leastTouched, last.leastTouched) << benchmark.name;
  }
  const Extent gather = extentOf(*findBenchmark("gather"), {4, 0, 1, 8}, 4096, 4, false);
  EXPECT_EQ(gather.recv, 16384u);
  EXPECT_EQ(gather.leastTouched, 4096u) << "ranks that only send touch no more";
  EXPECT_EQ(extentOf(*findBenchmark("gather"), {4, 0, 1, 8}, 4096, 4, true).common, 16384u);
  EXPECT_EQ(extentOf(*findBenchmark("bw"), {2, 0, 0, 8}, 4096, 4, false).send, 8 * 4096u);
}

/// The calls of a group have buffers that do not touch, and values of their own.
TEST(BenchGroup, CallsOfAGroupLieBehindEachOther) {
  const Seat seat{4, 2, 0, 1, 3};
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.has(kPairs) || benchmark.has(kNoData)) continue;
    for (const bool inPlace : {false, true}) {
      const Layout one = benchmark.layOut(seat, 20), three = benchmark.place(seat, 20, inPlace);
      ASSERT_EQ(three.send.size(), 3 * one.send.size()) << benchmark.name;
      ASSERT_EQ(three.recv.size(), 3 * one.recv.size()) << benchmark.name;
      for (size_t i = 0; i < three.recv.size(); ++i) {
        const Piece &piece = three.recv[i], &first = one.recv[i % one.recv.size()];
        const size_t call = i / one.recv.size();
        EXPECT_EQ(piece.at, first.at + call * three.recvStep) << benchmark.name;
        EXPECT_EQ(piece.count, first.count);
        EXPECT_EQ(piece.origin == first.origin, call == 0);
      }
      EXPECT_GE(three.recvStep, one.recvElements()) << benchmark.name;
      EXPECT_GE(three.sendStep, one.sendElements()) << benchmark.name;
      if (inPlace) {
        EXPECT_EQ(three.sendStep, three.recvStep) << benchmark.name;
      }
    }
  }
}

}  // namespace
}  // namespace rondo::bench

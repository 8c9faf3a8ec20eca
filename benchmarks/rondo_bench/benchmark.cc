#include "benchmark.h"

#include <algorithm>
#include <limits>

namespace rondo::bench {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Bus bandwidth as nccl-tests defines it; its size is that of all blocks together.
double twoTurns(size_t elements, const Seat& seat) {
  return 2.0 * (seat.ranks - 1) / seat.ranks * static_cast<double>(elements);
}
double oneTurn(size_t elements, const Seat& seat) {
  return 1.0 * (seat.ranks - 1) / seat.ranks * static_cast<double>(elements);
}
double once(size_t elements, const Seat&) { return static_cast<double>(elements); }
double times(int n, size_t elements) { return n * static_cast<double>(elements); }
double blocks(size_t elements, const Seat& seat) { return times(seat.ranks - 1, elements); }
double twice(size_t elements, const Seat&) { return times(2, elements); }
double pairs(size_t elements, const Seat& seat) { return times(seat.ranks / 2, elements); }
double nothing(size_t, const Seat&) { return 0; }

// Uneven blocks: what does not stay at home, which is not as long as the average says.
double blocksButTheRoots(size_t elements, const Seat& seat) {
  const size_t all = elements * static_cast<size_t>(seat.ranks);
  return static_cast<double>(all - unevenCounts(all, seat.ranks)[static_cast<size_t>(seat.root)]);
}
double pairsOnAverage(size_t elements, const Seat& seat) {
  size_t sent = 0;
  for (int rank = 0; rank < seat.ranks; ++rank) {
    for (int other = 0; other < seat.ranks; ++other) {
      if (other != rank) sent += unevenPairCount(elements, rank, other);
    }
  }
  return static_cast<double>(sent) / seat.ranks;
}

constexpr const char* kVector = "of each rank's whole vector";
constexpr const char* kBlock = "of each rank's block; buffers for all ranks are that many times it";
constexpr const char* kBlocks =
    "of a rank's block on average: every second is a quarter shorter, the others are longer";
constexpr const char* kPeer = "of what each rank sends to each other one";
constexpr const char* kPeers =
    "of a rank's block for a rank on average, itself included: a quarter more or less, by turns";
constexpr const char* kMessage = "of a message";

constexpr AcrossRanks kMean = AcrossRanks::kMean;
constexpr AcrossRanks kFirst = AcrossRanks::kFirst;
constexpr AcrossRanks kMax = AcrossRanks::kMax;

constexpr Benchmark kBenchmarks[] = {
    {"allreduce", "Every rank gets the reduction of all ranks' vectors.", kVector,
     kReduces | kInPlace, 16 * kMiB, layAllReduce, twoTurns, kMean},
    {"reduce", "The root gets the reduction of all ranks' vectors.", kVector,
     kReduces | kRooted | kInPlace, 16 * kMiB, layReduce, once, kMean},
    {"bcast", "Every rank gets the root's vector, in one buffer as MPI_Bcast has it.",
     "of the vector", kRooted | kOneBuffer, 16 * kMiB, layBroadcast, once, kMean},
    {"allgather", "Every rank gets all ranks' blocks.", kBlock, kInPlace, kMiB, layAllGather,
     blocks, kMean},
    {"allgatherv", "Every rank gets all ranks' blocks, which differ in length.", kBlocks,
     kInPlace | kUneven, kMiB, layAllGatherV, blocks, kMean},
    {"reduce_scatter", "Every rank gets its block of the reduction of all ranks' vectors.",
     "of each rank's whole vector, a multiple of the number of ranks",
     kReduces | kInPlace | kWholeVector, 16 * kMiB, layReduceScatter, oneTurn, kMean},
    {"reduce_scatterv", "Every rank gets its block of the reduction; blocks differ in length.",
     "of each rank's whole vector; every second block is a quarter shorter, the others are longer",
     kReduces | kInPlace | kUneven, 16 * kMiB, layReduceScatterV, oneTurn, kMean},
    {"alltoall", "Every rank sends each rank a block of its own.", kPeer, kInPlace, kMiB,
     layAllToAll, blocks, kMean},
    {"alltoallv", "Every rank sends each rank a block of its own; blocks differ in length.", kPeers,
     kInPlace | kUneven, kMiB, layAllToAllV, pairsOnAverage, kMean},
    {"gather", "The root gets all ranks' blocks.", kBlock, kRooted | kInPlace, kMiB, layGather,
     blocks, kMean},
    {"gatherv", "The root gets all ranks' blocks, which differ in length.", kBlocks,
     kRooted | kInPlace | kUneven, kMiB, layGatherV, blocksButTheRoots, kMean},
    {"scatter", "Every rank gets its block of the root's vector.", kBlock, kRooted | kInPlace, kMiB,
     layScatter, blocks, kMean},
    {"scatterv", "Every rank gets its block of the root's vector; blocks differ in length.",
     kBlocks, kRooted | kInPlace | kUneven, kMiB, layScatterV, blocksButTheRoots, kMean},
    {"scan", "Every rank gets the reduction over ranks 0 to itself.", kVector,
     kReduces | kPrefixes | kInPlace, 16 * kMiB, layScan, once, kMean},
    {"exscan", "Every rank gets the reduction over the ranks before it.", kVector,
     kReduces | kPrefixes | kInPlace, 16 * kMiB, layExscan, once, kMean},
    {"sendrecv", "Every rank sends the next one a message and receives the one before's.", kMessage,
     kRing, 4 * kMiB, layRing, once, kMean},
    {"barrier", "Every rank waits for all ranks.", "", kNoData, 0, layBarrier, nothing, kMean},
    {"latency", "Ranks 0 and 1 send a message to and fro; the time is half of a round trip.",
     kMessage, kPairs, 4 * kMiB, layPingPong, once, kFirst},
    {"bw", "Rank 0 sends rank 1 a window of messages and waits for one answer.", kMessage,
     kPairs | kWindow, 4 * kMiB, layWindow, once, kFirst},
    {"bibw", "Ranks 0 and 1 send each other a window of messages at once.", kMessage,
     kPairs | kWindow, 4 * kMiB, layBothWays, twice, kFirst},
    {"mbw_mr", "Every rank of the first half sends one of the second half a window of messages.",
     kMessage, kPairs | kWindow | kAllPairs, 4 * kMiB, layPairs, pairs, kMax},
};

}  // namespace

int Benchmark::timesPerCall(const Seat& seat) const {
  if (has(kWindow)) return seat.window;
  return has(kPairs) ? 2 : 1;
}

size_t Benchmark::quantum(const Seat& seat, size_t elementSize) const {
  return has(kWholeVector) ? elementSize * static_cast<size_t>(seat.ranks) : elementSize;
}

Layout Benchmark::place(const Seat& seat, size_t elements, bool inPlace) const {
  return repeated(layOut(seat, elements), static_cast<size_t>(seat.group), inPlace);
}

std::span<const Benchmark> benchmarks() { return kBenchmarks; }

const Benchmark* findBenchmark(std::string_view name) {
  for (const Benchmark& benchmark : kBenchmarks) {
    if (name == benchmark.name) return &benchmark;
  }
  return nullptr;
}

Extent extentOf(const Benchmark& benchmark, Seat seat, size_t bytes, size_t elementSize,
                bool inPlace) {
  Extent extent;
  size_t least = std::numeric_limits<size_t>::max();
  for (seat.rank = 0; seat.rank < seat.ranks; ++seat.rank) {
    const Layout layout = benchmark.place(seat, bytes / elementSize, inPlace);
    const size_t send = layout.sendElements() * elementSize;
    const size_t recv = layout.recvElements() * elementSize;
    const size_t common =
        std::max(layout.sendAt * elementSize + send, layout.recvAt * elementSize + recv);
    const size_t touched = inPlace ? common : send + recv;
    if (touched > 0) least = std::min(least, touched);
    extent.send = std::max(extent.send, send);
    extent.recv = std::max(extent.recv, recv);
    extent.common = std::max(extent.common, common);
    extent.leastTouched = least;
  }
  if (least == std::numeric_limits<size_t>::max()) extent.leastTouched = 0;
  return extent;
}

}  // namespace rondo::bench

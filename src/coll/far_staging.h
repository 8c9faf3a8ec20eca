#pragma once
// How the page-locked memory between a rank's kernels and its progress thread is cut. Bounded: 8
// MiB for collectives, and 2 to 16 for sends and receives (with 1,000 ranks and more 16 KiB for
// each).

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "coll/plan.h"
#include "kernels/far.h"

namespace rondo {

/// Of one side of a chunk of a collective, all slots together.
constexpr uint64_t kFarSlotBytes = 512u << 10;
/// A shorter chunk is not worth its message: where one thread moves all, and where several do. With
/// four, all-reduce of 64 and 128 KiB takes 0.80 and 0.83 of the time with 64 KiB (2 x H100 as two
/// hosts, 2026-11-25); 16 KiB gives no more, and takes from broadcast and reduce.
constexpr uint64_t kLeastFarChunk = 64u << 10;
constexpr uint64_t kLeastLaneChunk = 32u << 10;
constexpr uint64_t kMostFarPairBytes = 8u << 20;
constexpr uint64_t kMostFarPiece = 512u << 10;
constexpr uint64_t kLeastFarPiece = 4096;

/// Elements of a slot that go at once, where `lanes` chunks do. A function of agreed values: all
/// ranks cut alike.
inline uint64_t farChunk(Collective collective, uint64_t count, uint64_t elementBytes, int ranks,
                         int lanes) {
  const uint64_t slots = hasSlots(collective) ? static_cast<uint64_t>(ranks) : 1;
  const uint64_t column = slots * elementBytes;
  const uint64_t most = std::max<uint64_t>(1, kFarSlotBytes / column);
  const uint64_t worth = lanes > 1 ? kLeastLaneChunk : kLeastFarChunk;
  const uint64_t least = std::max<uint64_t>(1, worth / column);
  const uint64_t quarter = (count + 3) / 4;
  const uint64_t chunk = std::min(most, std::max(least, quarter));
  // whole lines of any type, so that only the last chunk's slots are off them
  return chunk >= 128 ? chunk / 64 * 64 : chunk;
}

/// How sends and receives are cut, the same on all ranks of a communicator.
struct FarPairCut {
  int lanes;       ///< Of a queue.
  uint64_t piece;  ///< Bytes that go at once at most.
};
/// As many lanes as there are, while their pieces are worth it.
inline FarPairCut farPairCut(int ranks, int lanes) {
  const auto places = [&](int by) {
    return uint64_t{2} * static_cast<uint64_t>(ranks - 1) * kFarPairSlots *
           static_cast<uint64_t>(by);
  };
  for (; lanes > 1; lanes /= 2) {
    for (const uint64_t all : {kMostFarPairBytes, 2 * kMostFarPairBytes}) {
      const uint64_t piece = all / places(lanes) / 512 * 512;
      if (piece >= kLeastLanePiece) return {lanes, std::min(piece, kMostFarPiece)};
    }
  }
  return {1, std::clamp(kMostFarPairBytes / places(1) / 512 * 512, kLeastFarPiece, kMostFarPiece)};
}

/// What the network moves where it lies is longer than a slot, whose copies kernels hide behind
/// each other, and goes in such pieces: long beside what a rendezvous costs, and short enough for
/// several rails to share one transfer.
constexpr uint64_t kLeastZeroCopy = 1u << 20;
constexpr uint64_t kZeroCopyPiece = 4u << 20;

/// Queues of sends and receives of a rank (FarPairView).
constexpr int farQueues(int ranks) { return 2 * (ranks - 1); }
/// The rank that one of `rank`'s goes to, or comes from.
constexpr int farPeer(size_t queue, int rank, int ranks) {
  const int away = static_cast<int>(queue / 2) + 1;
  return (rank + (queue % 2 == 0 ? away : ranks - away)) % ranks;
}
/// Whether a launch that has so many queues ends before this one, which has something in it. Never
/// between what a rank sends so many ranks on and what it gets from as many ranks before: those of
/// all ranks would stand round a circle, each with its send in one launch and the receive that
/// another's send waits for in its next.
constexpr bool endsFarLaunchBefore(size_t queue, int queues) {
  return queues >= (queue % 2 == 0 ? kMostFarQueues - 1 : kMostFarQueues);
}
/// What goes in lines at most; with many ranks, whose lines would take much memory, nothing.
constexpr uint64_t kMostPairInLines = kMostFarPairLines * kFarLineBytes;
constexpr int kMostRanksWithPairLines = 64;
constexpr uint64_t farPairInLines(int ranks) {
  return ranks <= kMostRanksWithPairLines ? kMostPairInLines : 0;
}
/// Transfers of one queue that fit one launch beside as many of every other.
constexpr int mostPerFarQueue(int ranks) {
  return std::max(1, kMostFarPieces / std::min(kMostFarQueues, std::max(1, farQueues(ranks))));
}

/// Offsets in one allocation.
struct FarStaging {
  /// `lanes`: FarDesk's.
  FarStaging(int ranks, int lanes);
  uint64_t bytes() const { return bytes_; }
  /// `counters`: device memory, counterWords().
  FarView view(unsigned char* base, uint32_t* counters) const;
  FarPairView pairs(unsigned char* base, uint32_t* counters) const;
  uint64_t counterWords() const { return 2 * static_cast<uint64_t>(kFarBlocks + strands_); }
  FaultWords* faults(unsigned char* base) const { return reinterpret_cast<FaultWords*>(base); }

 private:
  FarPairCut cut_;
  int strands_;
  uint32_t rungWords_;
  uint64_t letters_, rung_, answered_, inLines_, outLines_, pairLetters_, pairRung_, pairAnswered_;
  uint64_t in_, out_, pairLines_, slots_, bytes_;
  uint64_t mostInLines_;
};

}  // namespace rondo

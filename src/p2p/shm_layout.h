#pragma once
// Where things lie in a lease: a pure function of numbers that all ranks agree on.

#include <cstdint>

#include "p2p/call_record.h"
#include "p2p/segment.h"
#include "p2p/status_area.h"

namespace rondo {

/// One message of a channel. Sequence number, place and the first bytes share a cache line, so that
/// a short message crosses with its flag.
struct alignas(128) MessageHeader {
  uint64_t sequence;  ///< Atomic: 1 + the number of the message that the rest describes.
  uint64_t
      offset;  ///< Of the data, from the start of the sender's segment. With kWide in a window.
  uint32_t bytes;
  uint32_t stamp;    ///< See Channels::stamp.
  uint64_t landing;  ///< Like offset; 0: none. With kRun: `inlined` begins with a RunHeader.
  unsigned char inlined[96];

  static constexpr uint64_t kRun = uint64_t{1} << 63;
  static constexpr uint64_t kWide = uint64_t{1} << 63;
};

/// More than one message in place: see Run.
struct RunHeader {
  uint64_t blocks;
  uint64_t stride;
};

/// A reader's count of released messages, alone on its lines (128: the adjacent-line prefetcher
/// takes pairs).
struct alignas(128) ReaderLine {
  uint64_t released;  ///< Atomic.
};

/// A lease holds its rank's outgoing channels: for each lane one to everyone and one to each peer.
struct ShmLayout {
  static constexpr int kHeaders = 16;      ///< Messages that may be under way in a channel.
  static constexpr uint64_t kInline = 96;  ///< Longest message that travels in its header.
  /// Two messages of 32 KiB. All-reduce of two ranks, 256 KiB to 1 MiB, against areas of 32, 96,
  /// 128 and 512 KiB: the quickest by 3 to 25 % (EPYC with 1 MiB of L2 a core, 2026-11-21); larger
  /// ones empty the L2 of the user's data.
  static constexpr uint64_t kMostArea = 64u << 10;
  static constexpr uint64_t kLeastArea = 4u << 10;
  /// Windows of a lease: with 64 KiB each more than the L2 of a core. 24 against 16, where cores
  /// share the last cache only: 64 KiB of all-reduce 4.7 against 6.0 us, 16 KiB 1.6 against 2.0,
  /// from 256 KiB on level, as are 32 (EPYC with 1 MiB of L2 a core, 2026-11-22).
  static constexpr int kWindows = 24;
  /// Communicators of more ranks of a host have none: each rank's fill 1.5 MiB of what the ranks
  /// share. Four ranks on two cores, all-reduce of 64 KiB, 256 KiB and 1 MiB with them: 1.3, 1.1
  /// and 1.0 of the time (six pairs of runs, 2026-11-23, noisy).
  static constexpr int kMostWideRanks = 3;

  int ranks;
  int lanes;
  uint64_t areaBytes;  ///< Data of one channel; a power of two.
  /// Windows of areaBytes behind the areas, which the channels take in turn: see WideArea. Only
  /// their own rank needs to know how many it has.
  int windows = 0;

  /// A message is at most half of the area, so that two can be under way: with one, rings deadlock.
  uint64_t chunkBytes() const { return areaBytes / 2; }

  int channels() const { return lanes * ranks; }
  /// Channel of `lane` from `from` to `to` (-1: everyone).
  int channel(int lane, int from, int to) const {
    return lane * ranks + (to < 0 ? 0 : place(from, to));
  }
  /// Which reader of `from`'s channel to everyone `reader` is.
  int readerOf(int from, int reader) const { return place(from, reader) - 1; }

  static constexpr uint64_t kLine = 64;
  /// The lease's header and the records of the rank's last calls come first.
  static constexpr uint64_t kCallRecordsAt = 64;
  /// Two passes of a group's calls that run as one (coll/joint_call.h).
  static constexpr uint64_t kCallRecords = 64;
  static constexpr uint64_t kRankStateAt = kCallRecordsAt + kCallRecords * kLine;
  static constexpr uint64_t kHeadersAt = 4224;
  static_assert(kRankStateAt + sizeof(RankState) <= kHeadersAt && kHeadersAt % 128 == 0);
  uint64_t headersAt(int channel) const {
    return kHeadersAt +
           static_cast<uint64_t>(channel) *
               (kHeaders * sizeof(MessageHeader) + sizeof(ReaderLine)) +
           static_cast<uint64_t>((channel + ranks - 1) / ranks * (ranks > 2 ? ranks - 2 : 0)) *
               sizeof(ReaderLine);
  }
  uint64_t readerLineAt(int channel, int reader) const {
    return headersAt(channel) + kHeaders * sizeof(MessageHeader) +
           static_cast<uint64_t>(reader) * sizeof(ReaderLine);
  }
  uint64_t areaAt(int channel) const {
    return controlBytes() + static_cast<uint64_t>(channel) * areaBytes;
  }
  /// What the rank sends to and takes from each rank of its host in each of its last calls: see
  /// call_record.h. Ranks of other hosts are told of theirs, and no lease grows with them.
  uint64_t pairCountsAt(uint64_t record) const {
    return headersAt(channels()) + record * static_cast<uint64_t>(ranks) * sizeof(PairCounts);
  }
  uint64_t boardAt() const { return pairCountsAt(kCallRecords); }
  /// Why the rank ended the communicator.
  uint64_t whyAt() const { return boardAt() + sizeof(Board); }
  using Why = SharedText<1024>;
  uint64_t controlBytes() const { return RangeAllocator::roundUp(whyAt() + sizeof(Why)); }
  uint64_t windowsAt() const { return areaAt(channels()); }
  uint64_t windowBytes() const { return static_cast<uint64_t>(windows) * areaBytes; }
  uint64_t leaseBytes() const { return windowsAt() + windowBytes(); }

 private:
  int place(int from, int to) const { return (to - from + ranks) % ranks; }
};

}  // namespace rondo

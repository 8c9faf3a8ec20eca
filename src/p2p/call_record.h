#pragma once
// What each rank of a communicator is doing, where its peers can read it.

#include <atomic>
#include <cstdint>

namespace rondo {

/// A collective call as its caller made it. Words have meaning to the caller only; equal calls have
/// equal words.
struct Call {
  uint64_t sequence = 0;  ///< The how-manieth collective of the communicator, from 1.
  uint64_t words[3] = {};
  bool sameWords(const Call& other) const {
    return words[0] == other.words[0] && words[1] == other.words[1] && words[2] == other.words[2];
  }
};

/// What a rank means to move between itself and one other in a v-collective, in elements. What one
/// sends the other must take.
struct PairCounts {
  uint64_t sent = 0;
  uint64_t taken = 0;

  bool operator==(const PairCounts&) const = default;
  void store(PairCounts counts) {
    std::atomic_ref(sent).store(counts.sent, std::memory_order_release);
    std::atomic_ref(taken).store(counts.taken, std::memory_order_release);
  }
  PairCounts load() {
    return {std::atomic_ref(sent).load(std::memory_order_acquire),
            std::atomic_ref(taken).load(std::memory_order_acquire)};
  }
};

/// A call with what it moves between its rank and the one that is told of it.
struct ToldCall {
  Call call;
  PairCounts counts;
};

/// One rank's current call, in its lease. One writer, any number of readers.
struct CallRecord {
  uint64_t version;  ///< Atomic: odd while the rest is written.
  uint64_t sequence;
  uint64_t words[3];

  /// `more()` writes what lies elsewhere and belongs to the record.
  template <class More>
  void write(const Call& call, const More& more) {
    std::atomic_ref<uint64_t> at(version);
    const uint64_t before = at.load(std::memory_order_relaxed);
    at.store(before + 1, std::memory_order_relaxed);
    std::atomic_ref(sequence).store(call.sequence, std::memory_order_release);
    for (int i = 0; i < 3; ++i) {
      std::atomic_ref(words[i]).store(call.words[i], std::memory_order_release);
    }
    more();
    at.store(before + 2, std::memory_order_release);
  }
  void write(const Call& call) {
    write(call, [] {});
  }

  /// False if the record changed meanwhile. `more()` reads what lies elsewhere.
  template <class More>
  bool read(Call* call, const More& more) {
    std::atomic_ref<uint64_t> at(version);
    const uint64_t before = at.load(std::memory_order_acquire);
    call->sequence = std::atomic_ref(sequence).load(std::memory_order_acquire);
    for (int i = 0; i < 3; ++i) {
      call->words[i] = std::atomic_ref(words[i]).load(std::memory_order_acquire);
    }
    more();
    return before % 2 == 0 && at.load(std::memory_order_relaxed) == before;
  }
  bool read(Call* call) {
    return read(call, [] {});
  }
};

/// How far a rank has come, in its lease. One writer, any number of readers.
struct alignas(64) RankState {
  uint64_t completed;  ///< Atomic: collectives that have ended.
  uint64_t exchanges;  ///< Atomic: calls of sends and receives begun...
  uint64_t exchanged;  ///< ... and ended.
  uint64_t transfers;  ///< Atomic: of the last of these, how many transfers it has...
  uint64_t peer;       ///< ... and of the first of them the peer, times 2, plus 1 if it sends...
  uint64_t bytes;      ///< ... and its length.
  uint64_t closing;    ///< Atomic: 0, or the bits below, and from kOneMove on how often something
                       ///< has moved since.
  uint64_t looks;      ///< Atomic: how often something was looked for since, in vain.

  static constexpr uint64_t kCloses = 1;     ///< The rank issues nothing any more...
  static constexpr uint64_t kFinalized = 2;  ///< ... and nothing is under way.
  static constexpr uint64_t kOneMove = 4;
};

/// Where ranks that remain of a communicator agree on what to do without the others: one a rank, in
/// its lease. See api/survivors.h.
struct Board {
  static constexpr uint64_t kWords = 16;
  static constexpr uint64_t kMostRanks = kWords * 64;
  static constexpr uint64_t kBlob = 1024;
  uint64_t state;          ///< Atomic: which set is published here; 0: none yet.
  uint64_t gone[kWords];   ///< Atomic words: ranks that have died or left; bits are only added.
  uint64_t named[kWords];  ///< Atomic words: ranks that the caller leaves out.
  uint64_t step;           ///< Atomic: which gathering the newer blob belongs to.
  unsigned char blobs[2][kBlob];
};

/// A board as ranks of other hosts are told of it: with the newer blob.
struct BoardNews {
  uint64_t state;
  uint64_t gone[Board::kWords], named[Board::kWords];
  uint64_t step;
  unsigned char blob[Board::kBlob];
};

}  // namespace rondo

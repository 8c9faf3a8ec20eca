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

}  // namespace rondo

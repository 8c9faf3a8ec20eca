#pragma once
// The last operations of one rank of a communicator, where other processes can read them.

#include <atomic>
#include <cstdint>

namespace rondo {

/// One operation. Words have meaning to coll/flight_recorder.h only.
struct OpWords {
  static constexpr int kWords = 4;
  uint64_t at[kWords];
};

/// As a reader sees it. Times are ticks(); ended 0: it has not, or nobody knows (device).
struct OpEntry {
  uint64_t number = 0;  ///< From 1: the how-manieth of its ring.
  uint64_t enqueued = 0, started = 0, ended = 0;
  OpWords words = {};
};

/// One writer at a time, any number of readers, also in other processes; nobody waits. All bytes 0
/// is an empty ring.
class OpRing {
 public:
  static constexpr uint64_t kEntries = 1024;

  /// `number` as of one's own count, from 1. `enqueued` is not after `started`.
  void begin(uint64_t number, const OpWords& words, uint64_t enqueued, uint64_t started) {
    Entry& entry = at(number);
    // A reader that sees any of what follows finds another number afterwards, or none.
    std::atomic_ref(entry.number).store(0, std::memory_order_relaxed);
    put(entry.enqueued, enqueued);
    put(entry.started, started);
    put(entry.ended, 0);
    for (int i = 0; i < OpWords::kWords; ++i) put(entry.words.at[i], words.at[i]);
    std::atomic_ref(entry.number).store(number, std::memory_order_release);
    put(last_, number);
  }
  /// Says more of one of the newest. A reader may see some of the old words beside some of the new.
  void amend(uint64_t number, const OpWords& words) {
    for (int i = 0; i < OpWords::kWords; ++i) put(at(number).words.at[i], words.at[i]);
  }
  void end(uint64_t number, uint64_t ended) { put(at(number).ended, ended); }

  /// Empties it, for another writer. Costs as much as was written.
  void clear() {
    const uint64_t used = get(last_);
    for (uint64_t i = 0; i < kEntries && i <= used; ++i) put(entries_[i].number, 0);
    put(last_, 0);
  }

  /// Number of the newest one; 0: none.
  uint64_t last() const { return get(last_); }
  /// False if it is not there (any more), or is being written.
  bool read(uint64_t number, OpEntry* out) const {
    const Entry& entry = const_cast<OpRing*>(this)->at(number);
    out->number = get(entry.number);
    out->enqueued = get(entry.enqueued);
    out->started = get(entry.started);
    out->ended = get(entry.ended);
    for (int i = 0; i < OpWords::kWords; ++i) out->words.at[i] = get(entry.words.at[i]);
    return number != 0 && out->number == number && get(entry.number) == number;
  }

 private:
  using Entry = OpEntry;
  static_assert(sizeof(Entry) == 64);
  static void put(uint64_t& word, uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  static uint64_t get(const uint64_t& word) {
    return std::atomic_ref(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
  }
  Entry& at(uint64_t number) { return entries_[number % kEntries]; }

  alignas(64) uint64_t last_;
  alignas(64) Entry entries_[kEntries];
};

}  // namespace rondo

#pragma once
// Allocations of this rank's that peers of other processes are offered, and where they have them.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "p2p/cuda_user_memory.h"

namespace rondo {

/// A table by allocations' ids, which never come back: what is freed is not found again, whatever
/// gets its address. One thread (below: the owner) changes it; find() is any thread's, and takes no
/// lock. The id that find() looks for is of memory in use, so that its row stays as it is.
class OfferedMemory {
 public:
  static constexpr int kMost = 256;

  /// `mostKept`: bytes of cudaMalloc's allocations, which peers may keep from being freed.
  OfferedMemory(int ranks, uint64_t mostKept);

  /// Where `peer` has [data, data + bytes); 0: nowhere, and then *unknown says whether it could be
  /// offered to it.
  uint64_t find(int peer, const unsigned char* data, uint64_t bytes, bool* unknown) const;

  // The owner's.

  /// Whether `peer` may be offered the allocation, now. Then it is asked, until it answers.
  bool offer(int peer, const UserAllocation& allocation, ExportedAllocation::How how);
  /// The peer has it at `at`; 0: nowhere. True: the allocation has been freed since.
  void answer(int peer, uint64_t id, uint64_t at);
  /// The peer does not have it any more.
  void closed(int peer, uint64_t id);
  /// The peer is gone.
  void closedAll(int peer);
  /// Calls `tell(peer, id)` for all that have been offered what `isFreed(base, id)` now.
  void sweep(const std::function<bool(const unsigned char*, uint64_t)>& isFreed,
             const std::function<void(int, uint64_t)>& tell);

  /// Rows in use; of them in memory that is freed, and not closed everywhere.
  int rows() const { return used_.load(std::memory_order_relaxed); }
  uint64_t keptBytes() const { return kept_.load(std::memory_order_relaxed); }

 private:
  struct Row {
    std::atomic<uint64_t> id{0};  ///< For find(); 0: none, or freed.
    const unsigned char* base = nullptr;
    uint64_t bytes = 0;
    uint64_t number = 0;      ///< The id, until the row is free again.
    bool legacy = false;      ///< Counts in kept_.
    bool lacksRoom = false;   ///< Not offered to anybody for want of room.
    std::vector<char> holds;  ///< By rank: was offered it, and has not closed it.
  };
  /// In a row by rank: an address, or one of these.
  enum Special : uint64_t { kUnasked, kNowhere };

  std::atomic<uint64_t>& at(size_t row, int peer) const {
    return there_[row * static_cast<size_t>(ranks_) + static_cast<size_t>(peer)];
  }
  Row* rowOf(uint64_t id);
  Row* freshRow(const UserAllocation& allocation, ExportedAllocation::How how);
  void release(Row* row, int peer);
  void clear(Row* row);

  const int ranks_;
  const uint64_t mostKept_;
  std::array<Row, kMost> rows_;
  std::unique_ptr<std::atomic<uint64_t>[]> there_;  ///< kMost by ranks
  std::atomic<int> reach_{0};                       ///< Rows from here on were never used.
  std::atomic<int> used_{0};
  std::atomic<uint64_t> kept_{0};
  std::atomic<bool> full_{false};
};

}  // namespace rondo

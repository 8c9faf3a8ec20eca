#pragma once
// Allocations of this rank's that peers of other processes are offered, and where they have them.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "p2p/cuda_user_memory.h"

namespace rondo {

/// cudaMalloc's allocations of a device that peers of any of the process's communicators may keep
/// from being freed. One that several communicators offer is kept once.
class KeptMemory {
 public:
  /// False: `bytes` more would be more than `most`.
  bool add(uint64_t id, uint64_t bytes, uint64_t most);
  /// As often as it was added.
  void remove(uint64_t id);

 private:
  struct Kept {
    uint64_t bytes;
    int tables;
  };
  std::mutex mutex_;
  std::map<uint64_t, Kept> kept_;  ///< By the allocation's id.
  uint64_t bytes_ = 0;
};

/// A table by allocations' ids, which never come back: what is freed is not found again, whatever
/// gets its address. One thread (below: the owner) changes it; find() is any thread's, and takes no
/// lock.
class OfferedMemory {
 public:
  static constexpr int kMost = 256;
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kAgain = std::chrono::seconds(1);

  /// `kept`: the device's; this table adds to it while there are no more than mostKept() bytes,
  /// which the owner asks.
  OfferedMemory(int ranks, std::function<uint64_t()> mostKept, KeptMemory* kept);
  OfferedMemory(const OfferedMemory&) = delete;
  OfferedMemory& operator=(const OfferedMemory&) = delete;
  ~OfferedMemory();

  /// Where `peer` has [data, data + bytes); 0: nowhere, and then *unknown says whether it could be
  /// offered to it.
  uint64_t find(int peer, const unsigned char* data, uint64_t bytes, bool* unknown) const;

  // The owner's.

  /// Whether `peer` may be offered the allocation, now. Then it is asked, until it answers.
  bool offer(int peer, const UserAllocation& allocation, ExportedAllocation::How how);
  /// Whether it is not offered to anybody, because peers may keep no more.
  bool lacksRoom(uint64_t id);
  /// The peer has it at `at`; 0: nowhere.
  void answer(int peer, uint64_t id, uint64_t at);
  /// The peer does not have it any more.
  void closed(int peer, uint64_t id);
  /// The peer is gone.
  void closedAll(int peer);
  /// Calls `tell(peer, id)` for all that have been offered what `isFreed(base, id)`, and every
  /// kAgain while they hold it. What had no room may be offered again after as long.
  void sweep(const std::function<bool(const unsigned char*, uint64_t)>& isFreed,
             const std::function<void(int, uint64_t)>& tell, Clock::time_point now = Clock::now());

  /// What all tables of the device may add to *kept, as asked of the owner now.
  uint64_t mostKept() const { return mostKept_(); }
  /// Rows in use: of allocations, and of freed ones that peers hold.
  int rows() const { return used_.load(std::memory_order_relaxed); }
  /// Bytes of what this table has added to `kept`.
  uint64_t keptBytes() const { return keptHere_.load(std::memory_order_relaxed); }

 private:
  struct Row {
    std::atomic<uint64_t> id{0};  ///< For find(); 0: none, or freed.
    std::atomic<const unsigned char*> base{nullptr};
    std::atomic<uint64_t> bytes{0};
    uint64_t number = 0;      ///< The id, until the row is free again.
    bool counts = false;      ///< In *kept_.
    bool lacksRoom = false;   ///< Not offered to anybody for want of room.
    Clock::time_point since;  ///< It lacks room; or peers were told that it is freed.
    std::vector<char> holds;  ///< By rank: was offered it, and has not closed it.
  };
  /// In a row by rank: an address, or one of these.
  enum Special : uint64_t { kUnasked, kNowhere };

  std::atomic<uint64_t>& at(size_t row, int peer) const {
    return there_[row * static_cast<size_t>(ranks_) + static_cast<size_t>(peer)];
  }
  Row* rowOf(uint64_t id);
  Row* freshRow(const UserAllocation& allocation, ExportedAllocation::How how);
  bool keep(const UserAllocation& allocation);
  static bool isHeld(const Row& row);
  void release(Row* row, int peer);
  void clear(Row* row);

  const int ranks_;
  const std::function<uint64_t()> mostKept_;
  std::array<Row, kMost> rows_;
  std::unique_ptr<std::atomic<uint64_t>[]> there_;  ///< kMost by ranks
  std::atomic<int> reach_{0};                       ///< Rows from here on were never used.
  std::atomic<int> used_{0};
  std::atomic<uint64_t> keptHere_{0};
  KeptMemory* const kept_;
  std::atomic<bool> full_{false};
};

}  // namespace rondo

#pragma once
// The memory that a process shares with its peers: one anonymous memfd, mapped once by each peer
// process. It has a status area, a pool, cut into leases for communicators, and a heap for
// rondoMemAlloc. Pages
// cost nothing until they are touched, and the kernel takes everything back when the last process
// that maps it is gone, however it went.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "p2p/fd_exchange.h"
#include "p2p/range_allocator.h"
#include "p2p/status_area.h"

namespace rondo {

/// First line of every lease. Peers read here when its rank has let go of theirs.
struct LeaseHeader {
  uint32_t serial;   ///< Atomic: of the communicator; another one once the memory is used again.
  uint32_t aborted;  ///< Atomic: 1 + the rank that aborted the communicator; 0: none did.
  uint32_t left;     ///< Atomic: 1 once the lease's rank has let go of the communicator.
  uint32_t
      reported;  ///< Atomic: when a stall was last reported, in seconds since the boot; 0: never.
  uint32_t ending;  ///< Atomic: how the process of the lease's rank ended (p2p/peer_watch.h).
};

/// This process's own segment. Thread safe.
class Segment {
 public:
  /// Makes it at the first call; throws Error if the system refuses.
  static Segment& own();
  /// Whether this process was forked from the one that made it. Both would take the same memory for
  /// different things: the child may not use it.
  static bool isParents();

  /// An identity that no other segment on the host has.
  uint64_t token() const { return token_; }
  int fd() const { return fd_.get(); }
  uint64_t bytes() const { return bytes_; }
  char* base() const { return base_; }

  /// Takes `bytes` from the pool with its first `zeroBytes` cleared; returns the offset, or
  /// RangeAllocator::kNone if more than `limit` bytes of pool would be in use then. `besides`:
  /// bytes of the lease, not in `bytes`, that come last and count for no limit.
  uint64_t lease(uint64_t bytes, uint64_t zeroBytes, uint64_t limit, uint64_t besides = 0);
  /// Gives a lease back; its memory is reused once `unused`, if not empty, is true: it is asked in
  /// this call and the next ones, under a lock, until it is, and must not call this object.
  void endLease(uint64_t offset, std::function<bool()> unused = {});
  /// Looks which ended leases are unused by now.
  void settle();
  /// Bytes of the pool that are in use and count; looks for ended peers first, which somebody has
  /// to.
  uint64_t poolUsed();

  /// What this process says of its communicators.
  StatusDesk& statuses() { return statuses_; }
  /// What it waits for, and others of whom it was told.
  WaitDesk& waits() { return waits_; }

  /// Heap memory, page aligned; nullptr if there is none left.
  void* allocate(uint64_t bytes);
  /// False if `ptr` is not the start of an allocation.
  bool release(void* ptr);
  /// Whether [ptr, ptr + bytes) lies in the heap: peers can address it. Lock free.
  bool inHeap(const void* ptr, uint64_t bytes) const {
    const char* p = static_cast<const char*>(ptr);
    return p >= heap_ && p < base_ + bytes_ && bytes <= static_cast<uint64_t>(base_ + bytes_ - p);
  }

 private:
  Segment();
  ~Segment();
  void lookForDeaths();
  void reclaim();
  void punch(uint64_t offset, uint64_t bytes);
  uint64_t counted() const { return pool_.used() - besidesUsed_; }

  struct Ended {
    uint64_t offset;
    std::function<bool()> unused;
  };
  void free(uint64_t offset);
  UniqueFd fd_;
  uint64_t token_ = 0;
  uint64_t bytes_ = 0;
  char* base_ = nullptr;
  char* heap_ = nullptr;
  std::mutex mutex_;
  RangeAllocator pool_;
  std::map<uint64_t, uint64_t> besides_;  // by a lease's offset: bytes that do not count
  uint64_t besidesUsed_ = 0;              // their sum
  RangeAllocator heapRanges_;
  std::vector<Ended> ended_;
  StatusDesk statuses_;
  WaitDesk waits_;
};

/// Maps all pages of [at, at + bytes) here at once, and makes those that nobody has touched: to
/// meet them one by one takes several times as long. Where the system cannot they are met one by
/// one.
void populate(char* at, uint64_t bytes);

/// A peer process's segment as this process maps it. Shared by all communicators; unmapped with the
/// last one.
///
/// Ranks that make the same allocations have them at the same offsets, and some processors choose
/// the way of their first cache by a hash of address bits 12 to 27: of two lines whose hash is the
/// same each access throws the other one out. So a peer's segment lies where these bits differ from
/// those of the own one's and of other peers'. With segments whole GiB apart all-reduce of 256 KiB
/// to 4 MiB of rondoMemAlloc memory took 3 to 5 times as long (EPYC, family 25, 2026-11-22).
class PeerSegment {
 public:
  /// Address bits above this do not count for the hash.
  static constexpr uint64_t kTurn = uint64_t{1} << 28;
  /// How far the `number`th mapping is shifted, less than kTurn. Of powers of two in between,
  /// which is how far buffers of usual sizes lie apart, eleven pages meet the fewest equal hashes.
  static constexpr uint64_t shiftOf(uint64_t number) {
    return number * 11 * RangeAllocator::kPage % kTurn;
  }

  /// The mapping of `token`'s segment, made from `fd` unless there is one already. The own token
  /// yields the own mapping, so that threads of one process meet in one.
  static std::shared_ptr<PeerSegment> map(uint64_t token, UniqueFd fd, uint64_t bytes);
  /// All that are mapped now, without the own one.
  static std::vector<std::shared_ptr<PeerSegment>> mapped();
  ~PeerSegment();
  char* base() const { return base_; }

 private:
  PeerSegment(char* base, uint64_t bytes, bool owned) : base_(base), bytes_(bytes), owned_(owned) {}
  char* base_;
  uint64_t bytes_;
  bool owned_;
};

}  // namespace rondo

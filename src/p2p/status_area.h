#pragma once
// What a process says of itself and of its communicators: the first part of its segment. Peers have
// it mapped, also after it has died, and rondo-status finds it behind /proc/PID/fd. It has no name
// and ends with the last process that maps it.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/ticks.h"
#include "p2p/flight_ring.h"
#include "p2p/place_board.h"
#include "p2p/status_text.h"
#include "p2p/wait_notes.h"

namespace rondo {

/// Who a rank is, as all ranks know.
struct MemberNote {
  int32_t pid;    ///< In its own pid name space.
  uint32_t host;  ///< Into CommStatus::hosts.
};

/// One rank of a communicator.
struct CommStatus {
  static constexpr uint64_t kMostMembers = 512;  ///< Of later ones it is not said where they are.
  static constexpr uint64_t kMostHosts = 32;
  enum State : uint32_t { kFree = 0, kAlive = 1, kGone = 2 };

  uint32_t state;  ///< Atomic. What follows, up to the rings, is written before kAlive.
  int32_t rank, size;
  int32_t localSize;
  uint64_t id;    ///< The same on all its ranks.
  uint64_t born;  ///< ticks()
  uint64_t stallSeconds;
  SharedText<64> name;
  SharedText<256> hosts[kMostHosts];
  MemberNote members[kMostMembers];

  // While it is alive.
  SharedText<768> waits;   ///< Of a wait that is long: its steps.
  uint64_t waitsSeen;      ///< Atomic: when that was written, in ticks().
  uint64_t kernelWaits;    ///< Atomic: when a kernel of its last said that it waits, in ticks().
  SharedText<768> broken;  ///< Why no call may run any more; empty: it may.
  OpRing host;             ///< Written by who has the communicator's turn.
  OpRing device;           ///< Written by who holds the communicator.
};

/// The first bytes of a segment.
struct StatusHead {
  static constexpr uint64_t kMagic = 0x5355'5441'5453'4452u;
  static constexpr uint32_t kVersion = 5;  ///< Of all these structs.

  uint64_t magic;  ///< Atomic: written last.
  uint32_t version;
  int32_t library;    ///< RONDO_VERSION_CODE.
  uint64_t statuses;  ///< Atomic: so many have ever been used; from kFirst on, kEach apart.
  uint64_t token;     ///< The segment's.
  int32_t pid;        ///< In its own pid name space.
  uint32_t cpus;
  TickPair clock;  ///< When this was written.
  SharedText<256> host;
  SharedText<256> program;
};

/// Where it lies in a segment.
struct StatusArea {
  static constexpr uint64_t kFirst = 4096;
  static constexpr uint64_t kEach = (sizeof(CommStatus) + 4095) / 4096 * 4096;
  /// Communicators of a process beyond these are not seen from outside.
  static constexpr uint64_t kMost = 512;
  static constexpr uint64_t kWaits = kFirst + kMost * kEach;
  static constexpr uint64_t kPlaces = kWaits + (sizeof(WaitSlots) + 4095) / 4096 * 4096;
  static constexpr uint64_t kBytes = kPlaces + (sizeof(PlaceBoard) + 4095) / 4096 * 4096;
  static_assert(sizeof(StatusHead) <= kFirst && sizeof(CommStatus) % 64 == 0);

  /// `base`: a whole mapping of a segment.
  static StatusHead& head(char* base) { return *reinterpret_cast<StatusHead*>(base); }
  static CommStatus& status(char* base, uint64_t i) {
    return *reinterpret_cast<CommStatus*>(base + kFirst + i * kEach);
  }
  static WaitSlots& waits(char* base) { return *reinterpret_cast<WaitSlots*>(base + kWaits); }
  static PlaceBoard& places(char* base) { return *reinterpret_cast<PlaceBoard*>(base + kPlaces); }
};

/// Which of them are taken in this process's own segment. Thread safe.
class StatusDesk {
 public:
  /// Writes the head of a fresh segment; before all else.
  void open(char* base, uint64_t token);
  /// A cleared one; nullptr if there is none left. The lowest ones first, so that their pages are
  /// used again.
  CommStatus* take();
  /// It can still be read until another communicator takes it.
  void giveBack(CommStatus* status);

  /// Nothing is taken or given back while somebody of this process reads.
  std::mutex& mutex() { return mutex_; }

 private:
  char* base_ = nullptr;
  std::mutex mutex_;
  std::vector<bool> taken_;
};

}  // namespace rondo

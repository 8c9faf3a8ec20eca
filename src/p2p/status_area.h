#pragma once
// What a process says of itself and of its communicators: the first part of its segment. Peers have
// it mapped, also after it has died, and rondo-status finds it behind /proc/PID/fd. It has no name
// and ends with the last process that maps it.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ticks.h"
#include "p2p/flight_ring.h"
#include "p2p/wait_notes.h"

namespace rondo {

/// Text that one thread writes and any process may read at any time.
template <int kBytes>
class SharedText {
 public:
  static_assert(kBytes % 8 == 0);
  /// What is too long is cut.
  void write(std::string_view text) {
    std::atomic_ref<uint64_t> version(version_);
    const uint64_t before = version.load(std::memory_order_relaxed);
    version.store(before + 1, std::memory_order_relaxed);
    for (int w = 0; w < kBytes / 8; ++w) {
      uint64_t word = 0;
      for (int b = 0; b < 8; ++b) {
        const auto i = static_cast<size_t>(w) * 8 + static_cast<size_t>(b);
        if (i < text.size() && i + 1 < kBytes) {
          word |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * b);
        }
      }
      std::atomic_ref(words_[w]).store(word, std::memory_order_release);
    }
    version.store(before + 2, std::memory_order_release);
  }
  /// The text, or what is there after a few attempts: a process may have died while it wrote.
  std::string read() const {
    auto& self = const_cast<SharedText&>(*this);
    std::string text;
    for (int attempt = 0; attempt < 100; ++attempt) {
      const uint64_t before = std::atomic_ref(self.version_).load(std::memory_order_acquire);
      text.clear();
      for (uint64_t& each : self.words_) {
        const uint64_t word = std::atomic_ref(each).load(std::memory_order_acquire);
        for (int b = 0; b < 8; ++b) text += static_cast<char>(word >> (8 * b) & 0xff);
      }
      const uint64_t after = std::atomic_ref(self.version_).load(std::memory_order_relaxed);
      if (before % 2 == 0 && before == after) break;
    }
    return text.substr(0, text.find('\0'));
  }

 private:
  uint64_t version_;  // odd while it is written
  uint64_t words_[kBytes / 8];
};

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
  static constexpr uint32_t kVersion = 3;  ///< Of all these structs.

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
  static constexpr uint64_t kBytes = kWaits + (sizeof(WaitSlots) + 4095) / 4096 * 4096;
  static_assert(sizeof(StatusHead) <= kFirst && sizeof(CommStatus) % 64 == 0);

  /// `base`: a whole mapping of a segment.
  static StatusHead& head(char* base) { return *reinterpret_cast<StatusHead*>(base); }
  static CommStatus& status(char* base, uint64_t i) {
    return *reinterpret_cast<CommStatus*>(base + kFirst + i * kEach);
  }
  static WaitSlots& waits(char* base) { return *reinterpret_cast<WaitSlots*>(base + kWaits); }
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

#pragma once
// The words in host memory by which a communicator's kernels are told to end, and say why they did.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/standing_call.h"
#include "p2p/channel_view.h"
#include "p2p/cuda_memory.h"

namespace rondo {

/// Which rank of how many its sentences name.
struct ShownRank {
  int rank = 0;
  int size = 0;
};

class DeviceFaults {
 public:
  /// Behind the FaultWords lies what kernels that stand are told (coll/device_standing.h).
  static constexpr uint64_t kStandingDeskAt = 128;
  static constexpr uint64_t kBytes = kStandingDeskAt + kStandingDeskBytes;
  static_assert(sizeof(FaultWords) <= kStandingDeskAt);

  /// `words`: kBytes of zeroed memory. `spinBoundMs`: of RONDO_SPIN_BOUND_MS; 0: none.
  DeviceFaults(std::unique_ptr<PinnedMemory> words, uint64_t spinBoundMs, const ShownRank& shown)
      : words_(std::move(words)), spinBoundMs_(spinBoundMs), shown_(shown) {}

  /// What kernels are launched with.
  FaultView view(FaultLook* look) const {
    return {static_cast<FaultWords*>(words_->device()), spinBoundMs_ * 1000000, look};
  }
  void* hostDesk() const { return static_cast<char*>(words_->host()) + kStandingDeskAt; }
  void* deviceDesk() const { return static_cast<char*>(words_->device()) + kStandingDeskAt; }

  bool healthy() const {
    return word(&FaultWords::abort).load(std::memory_order_relaxed) == 0 &&
           word(&FaultWords::error).load(std::memory_order_relaxed) == 0;
  }
  /// Throws Error, rondoRemoteError or rondoMismatch, unless healthy().
  void check() const;
  /// Whether a kernel has given up a wait, or found that calls differ.
  bool gaveUp() const { return word(&FaultWords::error).load(std::memory_order_relaxed) != 0; }
  /// See DeviceRunner.
  void abort() noexcept { word(&FaultWords::abort).store(1); }
  std::chrono::milliseconds takeLongWait() noexcept {
    return std::chrono::milliseconds(uint64_t{word(&FaultWords::waited).exchange(0)} * 1048576 /
                                     1000000);
  }

 private:
  std::atomic_ref<uint32_t> word(uint32_t FaultWords::*which) const {
    return std::atomic_ref<uint32_t>(static_cast<FaultWords*>(words_->host())->*which);
  }

  const std::unique_ptr<PinnedMemory> words_;
  const uint64_t spinBoundMs_;
  const ShownRank shown_;
};

}  // namespace rondo

#pragma once
// How much the v-collectives of a communicator move. In one of them a count is known to two ranks
// only, or to the root, so that its size cannot say who answers it. But ranks may agree now and
// then: in a blocking collective, where MPI lets ranks wait for each other, they tell each other
// what the v-collectives since the last time moved; what they agree on decides the next ones.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/rondo.h"

namespace rondo::drop_in {

/// One of a communicator. MPI orders the collectives on a communicator, those of threads too, so
/// that all but `blocks` is the same on all ranks in each of them.
class AgreedSize {
 public:
  /// A v-collective begins.
  void count() { calls_.store(calls_.load(kRelaxed) + 1, kRelaxed); }
  /// A block of it, as this rank knows it: the mean one of so many that have `bytes` together.
  void note(size_t bytes, size_t blocks = 1) {
    if (bytes >= (blocks_.load(kRelaxed) + 1) * blocks) blocks_.store(bytes / blocks, kRelaxed);
  }
  bool due() const { return calls_.load(kRelaxed) >= every_.load(kRelaxed); }
  /// By all ranks, in the same blocking collective. `alike`: whether two sizes decide the same.
  template <class Alike>
  void agree(rondoComm_t comm, const Alike& alike) {
    const uint64_t mine = blocks_.exchange(0, kRelaxed);
    uint64_t all = 0;
    calls_.store(0, kRelaxed);
    // A failure is the communicator's, and told by the call that this is a part of.
    if (rondoAllReduce(&mine, &all, 1, rondoUint64, rondoMax, comm, nullptr) == rondoSuccess) {
      const bool stays = alike(agreed_.exchange(all, kRelaxed), all);
      every_.store(stays ? std::min(2 * every_.load(kRelaxed), kMostCalls) : kCalls, kRelaxed);
    }
  }
  static constexpr size_t kUnknown = SIZE_MAX;
  /// The largest block of any rank before the last agreement; kUnknown before the first one.
  size_t bytes() const { return agreed_.load(kRelaxed); }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  /// An agreement costs an all-reduce of 8 bytes, 0.2 us, and ranks wait for each other in it,
  /// which do not in a gathering: 12 to 40 ns a call at first. Where sizes stay what they were the
  /// next one is after twice as many calls, so that what changes is noticed after at most as many
  /// again.
  static constexpr uint64_t kCalls = 16, kMostCalls = 1024;

  std::atomic<uint64_t> calls_{0};        ///< Since the last agreement.
  std::atomic<uint64_t> every_{kCalls};   ///< So many, and the next one is due.
  std::atomic<size_t> blocks_{0};         ///< The largest of this rank since then.
  std::atomic<size_t> agreed_{kUnknown};  ///< Before the first one all are Rondo's.
};

}  // namespace rondo::drop_in

#pragma once
// Memory of this rank's that graphs receive into, and where its senders have it: words that
// kernels read at each replay. docs/gpu-transfers.md says why that is safe.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "coll/offered_memory.h"
#include "kernels/direct_call.h"
#include "p2p/cuda_memory.h"

namespace rondo {

/// A place for each allocation and peer that graphs were made of; none is ever another's, because
/// nobody says when a graph is no more. One thread (below: the owner) fills them; add() is any
/// thread's.
class GraphPlaces {
 public:
  static constexpr int kMost = 1024;

  /// As of OfferedMemory; what has a place stays in *kept.
  GraphPlaces(const CudaDevice& device, std::function<uint64_t()> mostKept, KeptMemory* kept);
  GraphPlaces(const GraphPlaces&) = delete;
  GraphPlaces& operator=(const GraphPlaces&) = delete;
  ~GraphPlaces();

  /// As kernels address them.
  GraphPlacesView view() const {
    return {static_cast<GraphPlace*>(words_.device()),
            reinterpret_cast<GraphPlace*>(known_->data())};
  }

  /// What a receive from `peer` into the allocation is told: a DirectPiece's `there`; 0: there is
  /// no room. `*fresh`: the owner has something to do.
  uint64_t add(int peer, const UserAllocation& allocation, bool* fresh);

  // The owner's.

  struct Wanted {
    int index;
    int peer;
    UserAllocation allocation;
  };
  /// Those that nobody has been asked for yet and that peers may keep. Each is given once.
  std::vector<Wanted> takeWanted();
  /// The peer has the allocation of the place at `at`, for good; 0: nowhere.
  void answer(int index, int peer, uint64_t id, uint64_t at);
  /// The peer is gone.
  void closedAll(int peer);
  /// Forgets the places of what `isFreed(base, id)`: kernels that know of one go on trying it.
  void sweep(const std::function<bool(const unsigned char*, uint64_t)>& isFreed);

  /// Places that say where; and through which something went.
  int filled() const;
  int used() const;
  int size() const;

 private:
  enum class State { kFresh, kAsked, kThere, kNowhere };
  struct Row {
    int peer;
    UserAllocation allocation;
    State state;
  };
  std::atomic_ref<uint64_t> way(size_t index) const {
    return std::atomic_ref<uint64_t>(static_cast<GraphPlace*>(words_.host())[index].way);
  }
  void close(size_t index);

  const std::function<uint64_t()> mostKept_;
  KeptMemory* const kept_;
  const PinnedMemory words_;
  const std::shared_ptr<DeviceMemory> known_;  ///< By kernels.
  mutable std::mutex mutex_;
  std::vector<Row> rows_;       ///< By index.
  std::vector<uint64_t> keep_;  ///< Ids that were added to *kept_.
};

}  // namespace rondo

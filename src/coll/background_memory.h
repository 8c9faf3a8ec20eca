#pragma once
// Allocations that ranks of different processes map for each other while they work: a thread of
// each rank, and the letters between them. docs/gpu-transfers.md says what, and why so.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "coll/graph_places.h"
#include "coll/offered_memory.h"
#include "p2p/bootstrap.h"
#include "p2p/cuda_user_memory.h"

namespace rondo {

/// One rank's end. Any thread may call it.
class BackgroundMemory {
 public:
  struct Place {
    const CudaDevice& device;
    int rank;
    int size;
  };

  /// What peers may keep from being freed unless a user says otherwise, of a process's memory on
  /// the device: a part of it, and no more than is free, so that memory that is freed and kept can
  /// be had once more.
  static uint64_t usualBytes(const CudaDevice& device) {
    return std::min(device.memoryBytes() / 8, device.freeBytes());
  }

  /// Binds the mailbox. `mostKept`: bytes of the process's on the device; 0: what is usual.
  /// `healthy`: the communicator's kernels still work; where they do not, nothing is closed any
  /// more. Throws Error(rondoSystemError) if there is no socket to be had.
  BackgroundMemory(const Place& place, uint64_t mostKept, std::function<bool()> healthy);
  BackgroundMemory(const BackgroundMemory&) = delete;
  BackgroundMemory& operator=(const BackgroundMemory&) = delete;
  /// Kernels that write into peers' memory have ended.
  ~BackgroundMemory();

  /// What peers write letters with.
  const Secret& address() const { return own_; }
  /// By rank: the peers' addresses, once, before anything below; none: it takes no part.
  void meet(std::vector<std::optional<Secret>> peers) { peers_ = std::move(peers); }
  bool with(int peer) const { return peers_[static_cast<size_t>(peer)].has_value(); }

  /// From now on the rank answers letters. The first call starts the thread.
  void listen();

  /// Where `peer` has [data, data + bytes) of this rank; 0: nowhere yet, or never. Asks for it to
  /// be so the next time. Takes no part in a capture of the calling thread.
  uint64_t placeFor(int peer, const unsigned char* data, uint64_t bytes);

  /// The same for a receive of a graph: what its kernels find out at each replay, as a
  /// DirectPiece's `there`; 0: never straight. Changes nothing of a capture of the calling thread.
  uint64_t graphPlaceFor(int peer, const unsigned char* data, uint64_t bytes);
  GraphPlacesView graphPlaces() const { return graphs_.view(); }

  /// Closes what peers have freed and that cannot be closed beside kernels: for callers who have
  /// seen all kernels of the device end.
  void closeFreed();

  struct Held {
    int offered = 0;    ///< This rank's allocations that peers were told of.
    uint64_t kept = 0;  ///< Bytes of them that peers may keep from being freed.
    size_t mapped = 0;  ///< Peers' allocations.
    uint64_t mappedBytes = 0;
    size_t freed = 0;    ///< Of them, freed by their owners, and not closed yet.
    int graphs = 0;      ///< Allocations of this rank's in graphs that a peer has mapped.
    int graphsUsed = 0;  ///< Of them, and of freed ones, those that something went to.
  };
  Held held();

 private:
  struct Letter;
  struct Outgoing;
  struct Theirs {
    int peer;
    uint64_t id;
    std::shared_ptr<DeviceMemory> memory;
    bool legacy;
    bool stays;  ///< Till the end: graphs may write there at any time.
    bool freed;
  };
  struct Wish {
    int peer;
    const unsigned char* data;
  };
  static constexpr size_t kMostWishes = 32;

  void wake();
  void serve();
  void round();
  void takeLetters();
  void take(const Letter& letter, std::vector<UniqueFd>* fds);
  uint64_t map(const Letter& letter, std::vector<UniqueFd>* fds);
  std::shared_ptr<DeviceMemory> import(const Letter& letter, std::vector<UniqueFd>* fds) const;
  void ownerFreed(int peer, uint64_t id);
  void takeWishes();
  void offer(const Wish& wish);
  void sayNoRoom(const UserAllocation& allocation);
  void offerToGraphs();
  void write(int peer, const Letter& letter, UniqueFd fd = {});
  void send();
  int napMs();
  void deafen();

  const CudaDevice& device_;
  const int rank_;
  const int size_;
  const std::function<bool()> healthy_;
  const pid_t process_ = getpid();
  const Secret own_;
  UniqueFd socket_;
  UniqueFd bell_;
  std::vector<std::optional<Secret>> peers_;

  OfferedMemory offered_;
  GraphPlaces graphs_;
  std::mutex wishMutex_;
  std::array<Wish, kMostWishes> wishes_;
  size_t wished_ = 0;

  std::mutex mutex_;  ///< The owner's part of offered_, and what follows.
  std::vector<Theirs> theirs_;
  std::deque<Outgoing> outgoing_;
  int retryMs_ = 0;  ///< Since when nothing could be sent, doubled.
  bool saidNoRoom_ = false;
  std::atomic<bool> stop_{false};
  std::once_flag begun_;
  std::thread thread_;
};

}  // namespace rondo

#pragma once
// What a rank knows of the memory that all ranks of its communicator have registered.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "coll/background_memory.h"
#include "coll/device_lease.h"
#include "coll/memory_registry.h"
#include "p2p/bootstrap.h"
#include "p2p/cuda_user_memory.h"

namespace rondo {

class UserMemory {
 public:
  /// At once on a communicator, and what peers' allocations may take of the address space.
  static constexpr size_t kMost = 256;
  static constexpr uint64_t kMostBytes = uint64_t{1} << 44;

  struct Entry {
    uint64_t number = 0;
    unsigned char* memory = nullptr;  ///< This rank's; nullptr: none.
    uint64_t bytes = 0;
    uint64_t id = 0;  ///< Of the allocation that it lay in when it was registered.
    MemoryUse use = MemoryUse::kStraight;
    bool everywhere = false;      ///< Symmetric, and every rank reaches every other's.
    std::vector<uint64_t> here;   ///< By rank: where this rank has theirs.
    std::vector<uint64_t> there;  ///< By rank: where they have this one's.
    std::vector<std::shared_ptr<DeviceMemory>> mapped;  ///< What `here` points into.
    uint64_t mappedBytes = 0;
    size_t unreached = 0;
  };

  /// What is mapped between processes without having been registered.
  struct Background {
    bool off = false;
    uint64_t bytes = 0;  ///< As BackgroundMemory's mostKept; 0: what is usual.
    std::function<bool()> healthy = [] { return true; };
  };

  /// `shared`: peers may map each other's memory.
  UserMemory(const CudaDevice& device, const std::vector<DeviceCard>& cards, int rank, bool shared,
             const Background& background);

  /// Collective, once, before the first call: ranks of one process learn whether their devices
  /// reach each other's memory, so that it needs no registration; those of several, whether they
  /// map it for each other in the background.
  void meetNeighbours(Bootstrap& boot);

  /// Whether the sender of a large transfer asks its receiver where it goes. The same on both
  /// ranks: they are of one process, or some memory was registered, or may be in the background.
  bool asks(int peer) const;

  /// A transfer that asks is about to be launched.
  void prepare(int peer) const;

  /// What a receive of [data, data + bytes) is used for: the next launch, or a graph, whose replays
  /// do not ask again; of the latter, kRegistered: only what was registered is worth while.
  enum class Use : uint8_t { kLaunch, kGraph, kRegistered };
  /// Where rank `peer` has [data, data + bytes) of this rank; 0: nowhere (yet: it may be mapped in
  /// the background from now on). Allowed while a stream captures. For a graph it may be one of
  /// graphPlaces(), by its index (kGraphPlace).
  uint64_t placeFor(int peer, const unsigned char* data, uint64_t bytes, Use use) const;
  /// As kernels address them.
  GraphPlacesView graphPlaces() const {
    return background_ != nullptr ? background_->graphPlaces() : GraphPlacesView{};
  }

  // As MemoryRegistry has them.
  uint64_t add(Bootstrap& boot, void* memory, size_t bytes, MemoryUse use);
  void remove(Bootstrap& boot, uint64_t number);
  void removeWindow(uint64_t number);
  /// `out`, and what it knows of.
  MemoryRegistry::Held held(MemoryRegistry::Held out = {}) const;
  /// nullptr: there is none.
  BackgroundMemory* background() const { return background_.get(); }

  /// The symmetric registration that has all of this rank's [data, data + bytes); nullptr: none. If
  /// there is one but its allocation has been freed since, nullptr too, and `stale` is it, if it is
  /// no window: programs free those without a word.
  const Entry* findSymmetric(const void* data, uint64_t bytes, const Entry** stale) const;

 private:
  struct Card;
  Card describe(void* memory, size_t bytes, MemoryUse use, UserAllocation* own, UniqueFd* fd) const;
  const Entry* findPlace(const void* data, uint64_t bytes) const;
  void dropFreedWindows();
  static void checkTogether(const std::vector<Card>& cards);
  std::vector<UniqueFd> passDescriptors(Bootstrap& boot, const std::vector<Card>& cards,
                                        const UniqueFd& own) const;
  void map(const std::vector<Card>& cards, const std::vector<UniqueFd>& descriptors,
           Entry* entry) const;

  const CudaDevice& device_;
  const bool sharesContext_;
  const int rank_;
  const bool shared_;
  struct Place {
    std::array<uint64_t, 2> process;
    std::array<unsigned char, 16> device;
    int ordinal;
    CUctx_st* context;
  };
  std::vector<Place> places_;    ///< By rank.
  std::vector<bool> neighbour_;  ///< By rank: of this process, and asks.
  std::vector<bool> reaches_;    ///< By rank: its device reaches what cudaMalloc gives on this one.
  std::unique_ptr<BackgroundMemory> background_;
  std::vector<std::unique_ptr<Entry>> entries_;
  uint64_t lastNumber_ = 0;
};

}  // namespace rondo

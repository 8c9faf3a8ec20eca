#pragma once
// Memory of the callers' that the ranks of a communicator have told each other of. A DeviceRunner
// that knows of such memory is one of these, too.

#include <cstddef>
#include <cstdint>

#include "p2p/bootstrap.h"

namespace rondo {

/// What all ranks register memory for, and promise. kSymmetric: that calls use it alike
/// (RONDO_REGISTER_COPY_ENGINES). kWindow: the same, for collectives alone, where they are quicker,
/// and each rank ends it by itself.
enum class MemoryUse : uint8_t { kStraight, kSymmetric, kWindow };

class MemoryRegistry {
 public:
  virtual ~MemoryRegistry() = default;

  /// Collective over `boot`, a Bootstrap of the communicator's ranks in their order. Every rank's
  /// device memory [memory, memory + bytes) is mapped by all others where that can be done; nullptr
  /// and 0: this rank has none. `use` is the same on all ranks. Every kernel launched before it
  /// must end without a later call of anybody. Returns a number that is the same on all ranks,
  /// never 0. Throws the same Error on all ranks.
  virtual uint64_t addMemory(Bootstrap& boot, void* memory, size_t bytes, MemoryUse use) = 0;

  /// Of all but windows. Collective: nobody has it mapped when it returns. Waits for the device.
  /// Throws the same Error on all ranks.
  virtual void removeMemory(Bootstrap& boot, uint64_t number) = 0;

  /// Whether a number is that of a window.
  static constexpr bool isWindow(uint64_t number) { return number >> 63 != 0; }
  /// This rank does not use the window any more, nor what it mapped of the others' for it. Calls
  /// into it have ended. Waits for nothing. Throws Error(rondoInvalidArgument).
  virtual void removeWindow(uint64_t number) = 0;

  /// What is in use, for reports.
  struct Held {
    size_t registrations = 0;
    uint64_t mappedBytes = 0;  ///< Of peers' allocations, in this rank's address space.
    /// Receives, and long rings, so far that were offered to their senders.
    uint64_t straight = 0;
    uint64_t copied = 0;     ///< Collectives so far that copy engines did...
    uint64_t stored = 0;     ///< ... and those that were stored into windows.
    size_t offered = 0;      ///< This rank's allocations that peers were told of in the background.
    uint64_t keptBytes = 0;  ///< Of them, that peers may keep from being freed.
    size_t graphs = 0;       ///< Of this rank's in graphs, by peer, those that it has mapped.
    size_t graphsUsed = 0;   ///< And those that something went to, freed ones too.
    size_t unreached = 0;    ///< Ranks' parts that some rank could not map; they go through slots.
  };
  virtual Held heldMemory() const = 0;

  /// Tests, on all ranks, after addMemory(): transfers of at least `straight` bytes go straight,
  /// and collectives of at least `copied` bytes in all are left to copy engines.
  virtual void useMemoryFrom(uint64_t straight, uint64_t copied) = 0;
  /// The same: what may be stored into windows is, from so many bytes in all on.
  virtual void storeFrom(uint64_t bytes) = 0;
};

}  // namespace rondo

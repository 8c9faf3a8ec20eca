#pragma once
// Rotating sets of buffers, so that successive calls do not find their data in a cache.

#include <cstddef>
#include <cstdint>

#include "collective.h"
#include "memory.h"

namespace rondo::bench {

/// How many sets there are for one size, and where they lie in a block.
struct RingPlan {
  size_t sets;
  size_t sendStride;  ///< From a set's send buffer to its receive buffer; 0 in place.
  size_t setStride;   ///< From one set to the next.

  size_t blockBytes() const { return sets * setStride; }
};

/// At least 64 MiB in all and two sets, at most 64 sets and 1 GiB a rank; a message that is larger
/// by itself gets one set. `hot`: one set always.
RingPlan planRing(size_t sendBytes, size_t recvBytes, bool inPlace, bool hot);

/// The sets for one size, with the values that `collective` wants in them.
class BufferRing {
 public:
  BufferRing(const Block& block, const Collective& collective, size_t bytes, bool inPlace,
             bool hot);

  size_t sets() const { return plan_.sets; }
  const void* send(size_t set) const { return sendAt(set); }
  void* recv(size_t set) const;

  /// Writes the inputs and makes the results wrong, so that only a call can make them right.
  void prepare(size_t set) const;
  void prepareAll() const;

  /// Wrong elements in the set's result.
  uint64_t countWrong(size_t set) const;

 private:
  char* sendAt(size_t set) const { return block_.data() + set * plan_.setStride; }

  const Block& block_;
  const Collective& collective_;
  size_t bytes_;
  bool inPlace_;
  RingPlan plan_;
};

}  // namespace rondo::bench

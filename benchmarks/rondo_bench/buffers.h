#pragma once
// Rotating sets of buffers, so that successive calls do not find their data in a cache.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "benchmark.h"
#include "memory.h"
#include "options.h"
#include "pattern_set.h"

namespace rondo::bench {

/// How many sets there are for one size, and where they lie in a block. The same on all ranks.
struct RingPlan {
  size_t sets;
  size_t sendStride;  ///< From a set's send buffer to its receive buffer; 0 in place.
  size_t setStride;   ///< From one set to the next.
  Offsets offsets;    ///< Of the buffers from multiples of a line.

  size_t blockBytes() const { return sets * setStride; }
};

/// At least 64 MiB touched on every rank and two sets, at most 64 sets and 1 GiB a rank; a message
/// that is larger by itself gets one set. `hot`: one set always. All buffers begin at multiples of
/// `line` bytes, or so many bytes behind them as `offsets` has it; in place as its `send`.
RingPlan planRing(const Extent& extent, bool inPlace, bool hot, size_t line, Offsets offsets = {});

/// The sets for one size, with the values that the layout wants in them.
class BufferRing {
 public:
  BufferRing(const Block& block, const PatternSet& patterns, const Layout& layout,
             const RingPlan& plan, bool inPlace);

  size_t sets() const { return plan_.sets; }
  bool inPlace() const { return inPlace_; }
  const Layout& layout() const { return layout_; }

  /// nullptr where the rank has no such buffer.
  const void* send(size_t set) const { return layout_.send.empty() ? nullptr : sendAt(set); }
  void* recv(size_t set) const {
    return layout_.recv.empty() && !layout_.namesResult ? nullptr : recvAt(set);
  }

  /// Writes the inputs and makes the results wrong, so that only a call can make them right.
  void prepare(size_t set) const;
  void prepareAll() const;

  /// Wrong elements in the set's result.
  uint64_t countWrong(size_t set) const;

  /// Writes what countStrays looks for around the set's buffers.
  void guard(size_t set) const;
  /// Elements that a call has written and that are not its to write: of the set's input, and of the
  /// 64 bytes on either side of its buffers since guard().
  uint64_t countStrays(size_t set) const;

 private:
  void forEachGuard(size_t set, const std::function<void(char*)>& visit) const;
  char* setAt(size_t set) const { return block_.data() + set * plan_.setStride; }
  char* sendAt(size_t set) const;
  char* recvAt(size_t set) const;

  const Block& block_;
  const PatternSet& patterns_;
  const Layout& layout_;
  bool inPlace_;
  RingPlan plan_;
};

}  // namespace rondo::bench

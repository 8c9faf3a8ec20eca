#pragma once
// The suite: every collective and point-to-point pattern under the name that OSU gives it.

#include <cstddef>
#include <span>
#include <string_view>

#include "layout.h"
#include "stats.h"

namespace rondo::bench {

enum Trait : unsigned {
  kReduces = 1u << 0,      ///< Takes an operator.
  kPrefixes = 1u << 1,     ///< Reduces over ranks 0 to this one: no average.
  kRooted = 1u << 2,       ///< Takes a root.
  kInPlace = 1u << 3,      ///< Can be asked to work in place.
  kOneBuffer = 1u << 4,    ///< Always works in place.
  kNoData = 1u << 5,       ///< Has no buffers.
  kUneven = 1u << 6,       ///< Each rank's block has its own count.
  kWholeVector = 1u << 7,  ///< The size is that of a vector of which each rank gets an equal part.
  kPairs = 1u << 8,        ///< Point to point.
  kWindow = 1u << 9,       ///< Sends a window of messages at once.
  kAllPairs = 1u << 10,    ///< All ranks take part, in pairs.
  kRing = 1u << 11,        ///< Every rank sends to the next one.
};

struct Benchmark {
  const char* name;
  const char* summary;
  const char* size;  ///< What a row's size is the size of.
  unsigned traits;
  size_t maxBytes;  ///< Where a sweep ends by default.
  Layout (*layOut)(const Seat& seat, size_t elements);

  /// Elements that a row of `elements` moves in the time it shows, as nccl-tests counts them.
  double (*busElements)(size_t elements, const Seat& seat);

  /// How the ranks' host times of one iteration make the iteration's time.
  AcrossRanks across;

  bool has(Trait trait) const { return (traits & trait) != 0; }
  bool isCollective() const { return !has(kPairs) && !has(kRing); }

  /// The buffers of a rank's group of calls.
  Layout place(const Seat& seat, size_t elements, bool inPlace) const;

  /// How many times what a row shows happens in one call.
  int timesPerCall(const Seat& seat) const;

  /// A row's size is a multiple of this.
  size_t quantum(const Seat& seat, size_t elementSize) const;
};

std::span<const Benchmark> benchmarks();

/// nullptr for a name that is not known.
const Benchmark* findBenchmark(std::string_view name);

/// Bytes that buffers of one size take on the ranks that have the most and the least.
struct Extent {
  size_t send = 0;          ///< Largest send buffer.
  size_t recv = 0;          ///< Largest receive buffer.
  size_t common = 0;        ///< Largest buffer in place.
  size_t leastTouched = 0;  ///< By any rank that takes part.
};
Extent extentOf(const Benchmark& benchmark, Seat seat, size_t bytes, size_t elementSize,
                bool inPlace);

}  // namespace rondo::bench

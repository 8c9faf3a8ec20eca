#pragma once
// How far clocks are apart, from what is known to have happened before what.

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo::status {

/// Something at `before` on one clock came no later than something at `after` on another.
struct Evidence {
  size_t from = 0, to = 0;  ///< The clocks.
  int64_t before = 0, after = 0;
};

/// One clock beside the first that it can be compared with.
struct ClockOffset {
  int64_t ahead = 0;        ///< What it shows more than clock 0, in ns.
  int64_t uncertainty = 0;  ///< More or less.
  bool known = false;       ///< False: nothing bounds it from both sides.
};

/// Of `clocks` clocks. Where the newest evidence contradicts older (a clock ran at another speed),
/// only the newest counts. The offsets contradict no evidence that counts.
std::vector<ClockOffset> offsetsOf(size_t clocks, std::vector<Evidence> evidence);

}  // namespace rondo::status

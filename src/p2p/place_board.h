#pragma once
// Where rondo-status asks a process what its communicators' ranks of other hosts are at, and where
// the answers come: the last part of a status area.

#include <cstdint>

#include "p2p/status_text.h"

namespace rondo {

/// The asker writes `wanted` and the bell, the process all else. An idle process sleeps on the
/// bell, a futex of both, so that nothing is looked at while nobody asks.
struct PlaceBoard {
  static constexpr uint32_t kMost = 256;  ///< Ranks; of more it is not asked.

  /// One rank of another host.
  struct Entry {
    uint32_t answered;  ///< Atomic: 1 once the rest is written, for its host has answered.
    int32_t rank;
    uint64_t comm;
    uint32_t flags;  ///< As of PlaceAnswer, as the next two.
    uint32_t ageMs;
    uint64_t sequence;
    SharedText<512> text;
  };

  uint32_t bell;    ///< Atomic: another one after each request, and whenever its thread is to look.
  uint32_t wanted;  ///< Atomic: so many requests.
  uint32_t served;  ///< Atomic: whose answers the entries are for. Before that they are made.
  uint32_t count;   ///< Atomic: of entries.
  Entry entries[kMost];
};

/// Sleeps until the bell is not `heard` any more, or for no reason.
void awaitBell(uint32_t* bell, uint32_t heard);
/// Rings it, in whatever process its sleeper is. Waits for nothing.
void ringBell(uint32_t* bell);

}  // namespace rondo

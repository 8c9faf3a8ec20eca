#pragma once
// A call in which a process waits for long, and for whom: told from host to host, so that a circle
// of such waits is seen where none of its processes sees all of it.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/hash.h"
#include "p2p/flight_ring.h"

namespace rondo {

struct WaitNote {
  static constexpr uint32_t kMostAwaited = 16;
  static constexpr uint32_t kMostFree = 4;
  struct Awaited {
    uint64_t process;  ///< keyOf(); 0: not known.
    int32_t rank;
    uint32_t sends;  ///< Of sends and receives: 1 if something goes to that rank.
  };

  uint64_t process;  ///< keyOf()
  uint64_t comm;     ///< The communicator's id, the same on all its ranks.
  OpWords call;      ///< OpFacts of coll/flight_recorder.h.
  /// When the call began, and when it was last seen to wait: nanoseconds of this host's
  /// CLOCK_MONOTONIC. On its way between hosts: so long ago.
  int64_t started, seen;
  int32_t rank, pid;
  uint32_t awaited;  ///< So many of `whom`.
  uint32_t whole;    ///< 1: these are all.
  Awaited whom[kMostAwaited];
  /// Communicators on which the process has calls that go on without it; 0: none.
  uint64_t free[kMostFree];
  char name[64];  ///< The communicator's.
  char host[64];

  /// What tells processes apart, as all ranks of a communicator know it.
  static uint64_t keyOf(std::string_view host, int pid) {
    return hashBytes(host, mixBits(static_cast<uint64_t>(static_cast<uint32_t>(pid)) + 1));
  }
  bool sameCall(const WaitNote& other) const {
    return process == other.process && comm == other.comm && rank == other.rank &&
           call.at[3] == other.call.at[3] && call.at[1] == other.call.at[1];
  }
};
static_assert(std::is_trivially_copyable_v<WaitNote> && sizeof(WaitNote) % 8 == 0);

/// What its host says of a rank that another host waits for.
struct LateNote {
  int32_t rank, unused;
  char text[504];  ///< Its last call, and what its process does.
};
static_assert(std::is_trivially_copyable_v<LateNote> && sizeof(LateNote) == 512);

}  // namespace rondo

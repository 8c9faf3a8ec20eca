#pragma once
// What a joiner and the service of a unique id say to each other, over a Unix stream.

#include <cstdint>

#include "p2p/bootstrap.h"

namespace rondo::wire {

enum class Kind : uint32_t {
  Hello = 1,    ///< joiner: Hello
  Welcome = 2,  ///< service: nothing; the group is complete
  Gather = 3,   ///< joiner: its part
  Result = 4,   ///< service: all parts in rank order
  Failure = 5   ///< service: int32 code, then the sentence; nothing follows it
};

/// Before every message.
struct Header {
  Kind kind;
  uint32_t bytes;  ///< That follow.
};

struct Hello {
  uint32_t version;
  int32_t rank;
  int32_t nranks;
  int32_t limitMs;  ///< How long this rank is ready to wait for others.
  Secret secret;
};

constexpr uint32_t kVersion = 1;
constexpr uint32_t kMostPart = 1u << 20;  ///< Bytes of one rank's part.
constexpr int kMostRanks = 1 << 16;       ///< Joined ranks of one group.

}  // namespace rondo::wire

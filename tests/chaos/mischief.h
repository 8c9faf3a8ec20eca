#pragma once
// Seeded ordeals of every kind: deaths, stops, mistakes, ranks that never come, resources that are
// not there. Each must end, on every rank, in a right result or in the right error.

#include "chaos/ordeal.h"

namespace rondo::chaos {

enum class Kind {
  Kill,         ///< As ordeal.h.
  Exit,         ///< The same, by exit status 3.
  Stop,         ///< SIGSTOP for some milliseconds: everything goes on as if nothing were.
  LongStop,     ///< Longer than RONDO_STALL_SECONDS: goes on, too, and was reported.
  WrongCount,   ///< One rank calls with another count.
  WrongOrder,   ///< One rank makes another call.
  NeverComes,   ///< One rank does not join.
  AbortInit,    ///< The making in the background is aborted, with or without all ranks there.
  Grow,         ///< New ranks join; one of them may be killed on the way.
  NoMemory,     ///< One rank may map little more.
  Memlock,      ///< Nobody may lock more than 64 KiB.
  Descriptors,  ///< One rank has few descriptors left.
};
constexpr int kKinds = 12;
const char* kindName(Kind kind);

/// What happens for a seed; most are deaths.
Kind kindOf(uint64_t seed);

/// Runs the seed's ordeal of `kind`; "" or what went wrong, beginning with the seed. What may have
/// gone wrong because the machine had no time for it is tried again, and added to `again`; wrong
/// results, crashes and leaks never are.
std::string runMischief(uint64_t seed, Kind kind, std::vector<std::string>* again);

}  // namespace rondo::chaos

#pragma once
// What collectives into memory registered as symmetric have in common.

#include <cstdint>

#include "coll/device_runner.h"
#include "coll/user_memory.h"

namespace rondo {

/// The registration, symmetric and mapped by every rank, that has the `bytes` of the call's result;
/// nullptr: none. Then all ranks say so, by their promise. Throws Error(rondoInvalidUsage) for
/// memory that was freed since it was registered.
const UserMemory::Entry* symmetricResult(const DeviceCall& call, uint64_t bytes,
                                         const UserMemory& memory, int rank);

/// The tag of a rank whose result has no such registration.
constexpr uint32_t kNowhere = 0;
/// What all ranks of such a call must agree on, in 24 bits; not kNowhere.
uint32_t symmetricTag(const DeviceCall& call, const UserMemory::Entry& into);

}  // namespace rondo

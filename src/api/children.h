#pragma once
// What the calls that make communicators of a communicator have in common.

#include "api/comm_create.h"
#include "api/handle.h"

namespace rondo {

/// Whether a child may be made in the background.
enum class Child { Waits, MayNotWait };

/// What a child is made with: its own configuration, or all of its parent's (`given` nullptr), but
/// blocking. RONDO_GROUPS is still the parent's. Throws Error.
Config childConfig(const char* call, const rondoComm& parent, const rondoConfig_t* given,
                   Child how = Child::Waits);

/// Throws Error if a group is open, or one of `comm` is under way.
void requireIdle(const rondoComm& comm);

/// Throws Error if there is nowhere to write the new communicator.
void requireOutput(rondoComm_t* newcomm);

}  // namespace rondo

#pragma once
// What rondoCommFinalize waits for.

#include "api/handle.h"

namespace rondo {

/// Waits until the groups that run on by themselves on `comm`, whose `use` the caller has, have
/// ended, and tells the peers that this rank makes no call on it any more. Gives the failure of the
/// first of them that failed, or never can end.
rondoResult_t drain(rondoComm* comm, const char* call);

}  // namespace rondo

#pragma once
// What rondoGroupStart opens on a thread.

#include <span>

#include "api/device_group.h"
#include "api/handle.h"
#include "coll/device_runner.h"
#include "coll/group_run.h"

namespace rondo {

/// Whether the calling thread has an open group.
bool groupOpen();

/// Puts a checked collective into the open group. `call` outlives everything; what request.uneven
/// points to is copied.
void addToGroup(rondoComm* comm, const char* call, const HostRequest& request);
/// The same for sends and receives.
void addToGroup(rondoComm* comm, const char* call, std::span<const Transfer> transfers);

/// The same on device memory, launched when the group ends.
void addToGroup(rondoComm* comm, const DeviceCall& call);
void addToGroup(rondoComm* comm, const TransferCall& call);

/// Remembers the calling thread's last failure as the group's, if it is the first one.
void deferFailure(rondoResult_t result);

/// Runs a checked collective, or transfers, to the end at once, after what is under way on `comm`.
/// Only without an open group.
rondoResult_t runAlone(rondoComm* comm, const char* call, const HostRequest& request);
rondoResult_t runAlone(rondoComm* comm, const char* call, std::span<const Transfer> transfers);

/// One public call that may stand in a group: `body` checks its arguments and runs or collects it.
/// Inside a group a failure is reported by the group's end, not here.
template <class Body>
rondoResult_t publicCall(rondoComm* comm, const char* name, const Body& body) {
  rondoResult_t result;
  {
    const Use use(comm, name);
    result = use.result();
    if (result == rondoSuccess) [[likely]] {
      try {
        result = body();
      } catch (...) {
        result = caught(comm, name);
      }
    }
  }
  if (result == rondoSuccess || !groupOpen()) [[likely]]
    return result;
  deferFailure(result);
  return rondoSuccess;
}

/// Whether the calling thread's open group has collected calls on `comm`.
bool groupHolds(const rondoComm* comm);

/// rondoInvalidUsage if the calling thread has a group open: `call` may not stand there.
rondoResult_t refuseInGroup(const char* call);

}  // namespace rondo

#pragma once
// The v-collectives on device memory: sends and receives, or a reduction for every rank's block.

#include "api/argument_checks.h"
#include "api/uneven_checks.h"
#include "coll/device_runner.h"

namespace rondo {

/// A checked call. The blocks are as checkUneven() left them; of a rank that gives or takes one
/// block only, that one is the entry of its own rank and lies at the buffer's begin.
struct UnevenDeviceCall {
  const char* name;  ///< "rondoAllGatherV"
  Collective collective;
  const void* send;
  void* recv;
  rondoDataType_t type;
  rondoRedOp_t op;  ///< Of reduce-scatters.
  int root;         ///< Of gathers and scatters.
  rondoStream_t stream;
  const UnevenBlocks& src;
  const UnevenBlocks& dst;
};

/// Enqueues it, or puts it into the open group. An all-to-all in place is refused
/// where the communicator spans hosts.
rondoResult_t runOnDevice(rondoComm* comm, const UnevenDeviceCall& call);

/// Whether a rank without any element calls on device memory, as its peers then do: by its stream,
/// or else by the first of its buffers, the receiving one first, that is not null.
bool namesDevice(const CollectiveArgs& args);

}  // namespace rondo

#pragma once
// ncclGroupStart and ncclGroupEnd: what the calling thread collects between them.

#include "drop_in/nccl/abi.h"
#include "drop_in/nccl/comm.h"

namespace rondo::nccl {

struct Job;

/// Levels of open groups on the calling thread. Apart, because every call asks.
extern constinit thread_local int groupDepth;

inline bool groupOpen() { return groupDepth > 0; }

void addToGroup(Job job);

/// A call on `comm` follows, which Rondo's group is to collect.
void noteInGroup(ncclComm* comm, cudaStream_t stream);

/// The group's end ends this rank's part of `inner` (rondoCommLeave), whatever becomes of the rest.
void leaveInGroup(rondoComm_t inner);

/// A failure inside the group: its end does nothing and returns it, too.
ncclResult_t failInGroup(ncclResult_t result);

}  // namespace rondo::nccl

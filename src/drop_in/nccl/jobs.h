#pragma once
// Operations that wait for other ranks: they run on the calling thread, on threads of their own
// when several belong together (a group), or in the background (a non-blocking communicator).

#include <functional>
#include <vector>

#include "drop_in/nccl/comm.h"

namespace rondo::nccl {

struct Job {
  const char* name;  ///< Of NCCL's call.
  /// Does it; fills in what it makes, if it makes anything.
  std::function<rondoResult_t(rondoComm_t* made)> run;
  ncclComm* makes = nullptr;  ///< The handle for it, busy.
  ncclComm* on = nullptr;     ///< The communicator that it uses. Jobs on one run in their order.
  bool frees = false;         ///< `on` is busy until it is done; runTogether() says so.
  ncclComm_t* written = nullptr;  ///< Where the program has `makes`; NULL comes there if it failed.
  bool blocking = true;
  Place place;  ///< Where it runs.
};

/// Runs the job, on the calling thread if it blocks, and with the others of the open group if there
/// is one. ncclInProgress if it goes on in the background.
ncclResult_t submit(Job job);

/// Runs all of them at once. Returns the first failure; else ncclInProgress if some go on in the
/// background.
ncclResult_t runTogether(std::vector<Job> jobs);

/// Lets go of what a job would have made: its group failed before.
void discard(const Job& job);

}  // namespace rondo::nccl

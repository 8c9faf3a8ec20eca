#pragma once
// The pool of requests: what groups collect into, and what rondoGroupEndAsync gives out.

#include <vector>

#include "api/rondo.h"
#include "coll/group_run.h"

/// What rondoGroupStart collects, runs, or lets run on by itself. Recycled, never freed: a stale
/// pointer is noticed, and a thread that still polls one polls memory.
struct rondoRequest {
  rondo::GroupRun run;
  std::vector<rondoComm*> comms;
  // Under the pool's mutex.
  bool outstanding = false;  ///< Given out by rondoGroupEndAsync.
  size_t slot = 0;           ///< Among all requests there are.
  uint64_t uses = 0;         ///< How often it was given out: each time by another handle.
};

namespace rondo {

rondoRequest* takeRequest();
/// Empties it; it stays the caller's.
void clear(rondoRequest& request);
void giveBack(rondoRequest* request);

/// From now on the caller of the library knows it: by this handle, which is no address, so that a
/// copy of it that is kept for too long is not taken for a later request.
rondoRequest_t giveOut(rondoRequest* request);
/// One that the caller knows and has not waited for; else nullptr, and *bad says what is wrong with
/// the argument `request` of `call`.
rondoRequest* findRequest(rondoRequest_t* request, const char* call, rondoResult_t* bad);

}  // namespace rondo

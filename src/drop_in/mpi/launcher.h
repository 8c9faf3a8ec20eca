#pragma once
// A thread that begins non-blocking calls of devices for a program that is busy elsewhere: a rank
// may be waiting for its device, where a kernel waits for this rank's. It calls the driver and
// Rondo, never MPI.

#include <string>

namespace rondo::drop_in {

struct KnownComm;

/// Starts the thread if there is none. Not empty: why there can be none.
std::string startLauncher();
/// Calls of this communicator, which goes through a queue, wait to be begun. It lives until
/// forgetQueue().
void watchQueue(const KnownComm& known);
void forgetQueue(const KnownComm& known);
/// A call waits in some queue.
void wakeLauncher();
/// In MPI_Finalize.
void stopLauncher();

}  // namespace rondo::drop_in

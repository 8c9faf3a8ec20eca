/* Of rondo.h: collectives on device memory whose end the caller waits for, one after the other. */
#ifndef RONDO_AWAIT_H_
#define RONDO_AWAIT_H_

#include "rondo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The longest that a kernel stays for the next call, in microseconds. */
#define RONDO_MOST_LINGER 1000

/**
 * Says that the next call on `comm` is a collective on device memory whose end this thread waits
 * for: its buffers are ready when it is called, nothing on its stream waits for other ranks by then
 * (it may be done before what is there), no group is open, and rondoCommAwaited is asked until the
 * call has ended before rondoCommAwaitNext is called again. Its kernel may then stay for
 * `microseconds` (at most RONDO_MOST_LINGER; below 20 that is of little use; 0: one that stays is
 * told to end), so that the next such call of about the same length on the same stream is handed to
 * it by host memory: that saves the launch, which takes longer than a short collective
 * (docs/gpu-launches.md#kernels-that-stand has figures). As long as it stays it keeps a block for
 * each of its lanes (at most 32) on the device, and what waits for the stream or the device
 * (cudaDeviceSynchronize, cudaFree) waits for it, while calls follow for up to 256 of them; any
 * other call on `comm` that uses the device ends it.
 *
 * *willing is 1 if Rondo thinks that worth while: this rank's awaited calls follow each other soon
 * enough, and find the kernel. 0: the call is enqueued as every other, and rondoCommAwaited says
 * RONDO_AWAITED_ON_STREAM. Local: ranks may be told differently, and any rank may do without.
 * Errors: rondoInvalidArgument (willing is NULL, microseconds out of range), rondoInvalidUsage (a
 * group is open). Since 0.24.
 */
RONDO_API rondoResult_t rondoCommAwaitNext(rondoComm_t comm, unsigned microseconds, int* willing);

/** What rondoCommAwaited says of the call after rondoCommAwaitNext. */
#define RONDO_AWAITED_RUNS 0
#define RONDO_AWAITED_DONE 1
/** It was enqueued as every other (other collectives than short all-reduces, several hosts, a
 * stream that captures, a communicator of one rank): its end is that of its stream. */
#define RONDO_AWAITED_ON_STREAM 2

/**
 * Whether the call after rondoCommAwaitNext has ended: *state is one of RONDO_AWAITED_*. Takes some
 * thirty nanoseconds; ask again and again. Once it is RONDO_AWAITED_DONE the result is in memory,
 * for whatever this process enqueues from then on, though the stream is not idle yet; before that,
 * its stream's events and order say nothing of the call. Whether a peer
 * has failed rondoCommGetAsyncError says, as of every call on a stream. Since 0.24.
 */
RONDO_API rondoResult_t rondoCommAwaited(rondoComm_t comm, int* state);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_AWAIT_H_ */

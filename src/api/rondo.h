/* Rondo: collectives on host and GPU buffers for jobs that have an MPI communicator.
 *
 * Its parts, by subject, are included below; programs include this header. It and they need the C
 * standard library only. Conventions that hold for every function:
 *  - The result is a rondoResult_t. Anything but rondoSuccess has a full sentence behind
 * rondoGetLastError().
 *  - Nothing throws, nothing exits. An output argument is written only on success.
 *  - Counts are numbers of elements, never bytes, and are 64 bits wide.
 *  - A communicator may be used by one thread at a time; different communicators may be used by
 * different threads at once. Two threads inside one communicator get rondoInvalidUsage, not
 * corruption.
 *  - Every rank of a communicator must make the same collective calls in the same order, with the
 * same count, type, operator and root. If they differ every rank gets rondoMismatch (a sender or
 * root that has returned already: from its next call), and the communicator is broken.
 */
#ifndef RONDO_H_
#define RONDO_H_

#include "rondo_await.h"
#include "rondo_collectives.h"
#include "rondo_comm.h"
#include "rondo_group.h"
#include "rondo_register.h"
#include "rondo_types.h"

#define RONDO_MAJOR 0
#define RONDO_MINOR 37
#define RONDO_PATCH 0
/** major * 10000 + minor * 100 + patch of the header; compare with rondoGetVersion(). */
#define RONDO_VERSION_CODE (RONDO_MAJOR * 10000 + RONDO_MINOR * 100 + RONDO_PATCH)

#endif /* RONDO_H_ */

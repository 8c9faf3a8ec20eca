/* Rondo's door for MPI programs: an MPI_Comm goes in, a Rondo communicator comes out. */
#ifndef RONDO_MPI_H_
#define RONDO_MPI_H_

#include <mpi.h>

#include "rondo.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a communicator whose ranks are those of `mpiComm`, in the same order. Collective over
 * `mpiComm`; works on a private duplicate and makes only completing MPI calls from the calling
 * thread, so MPI_THREAD_FUNNELED is enough (the calling thread must be MPI's main thread then).
 * `config` may be NULL. Free it with rondoCommDestroy; what is left is freed first thing in
 * MPI_Finalize. Since 0.1. Errors: rondoInvalidUsage (MPI not initialised or finalised, ranks that
 * disagree on the library or on options, each named), rondoInvalidArgument (MPI_COMM_NULL, an
 * inter-communicator), rondoRemoteError (a rank on another host that cannot be reached; it is
 * named; where MPI has ULFM, also a rank that has ended: call MPIX_Comm_shrink, and this with what
 * it gives), rondoMpiError, rondoSystemError. An error is returned on all ranks. Ranks may be on
 * several hosts: see docs/multi-node.md.
 *
 * With config.blocking 0, on all ranks or none, it returns rondoInProgress (rondo.h) when all ranks
 * have called it, for it duplicates mpiComm, and goes on in a thread of its own, which calls MPI:
 * MPI_THREAD_MULTIPLE is required (rondoInvalidUsage). rondoCommAbort ends it on this rank; MPI has
 * no way to tell the others, so that each must. Since 0.4.
 *
 * Blocking or not, it waits inside MPI until all ranks of mpiComm have called it, and nothing can
 * end that: MPI cannot take back a duplication which one rank never enters. Where that may happen,
 * hand round an id of rondoGetUniqueId and call rondoCommInitRankConfig, whose joining can be
 * aborted at any time and has a limit; or wait with an MPI_Ibarrier first. Both are written out in
 * docs/boot.md.
 */
RONDO_API rondoResult_t rondoCommInitMPI(rondoComm_t* comm, MPI_Comm mpiComm,
                                         const rondoConfig_t* config);

/**
 * The communicator that belongs to `mpiComm`: made at the first call (collective then), the same
 * handle afterwards (local then). It dies with MPI_Comm_free(mpiComm) or MPI_Finalize;
 * rondoCommDestroy on it is rondoInvalidUsage. A duplicate of `mpiComm` does not inherit it, nor
 * does what MPIX_Comm_shrink makes of it: there the first call makes a new one. Since 0.1. Errors:
 * as rondoCommInitMPI.
 */
RONDO_API rondoResult_t rondoCommFromMPI(MPI_Comm mpiComm, rondoComm_t* comm);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_MPI_H_ */

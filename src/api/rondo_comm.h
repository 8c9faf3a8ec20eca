/* Of rondo.h: communicators, how they are made and how they end; memory; the library itself. */
#ifndef RONDO_COMM_H_
#define RONDO_COMM_H_

#include "rondo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How to make a communicator. Start from RONDO_CONFIG_INITIALIZER, then set fields.
 *
 * A struct of an older header (smaller size) is accepted; the missing fields take their defaults. A
 * larger one is accepted if all bytes this library does not know are zero, and refused otherwise.
 * Since 0.1.
 */
typedef struct rondoConfig_t {
  size_t size;          /**< sizeof(rondoConfig_t) of the caller. */
  uint32_t version;     /**< RONDO_CONFIG_VERSION of the caller. */
  int32_t device;       /**< CUDA device ordinal, RONDO_DEVICE_AUTO or RONDO_DEVICE_NONE. */
  const char* name;     /**< Appears in errors and logs. NULL: "comm". Copied. */
  const char* hostId;   /**< This rank's host identity; overrides RONDO_HOSTID and the computed one.
                           NULL: unset. */
  const char* tune;     /**< As RONDO_TUNE, for this communicator; must be equal on all ranks. NULL:
                           RONDO_TUNE. */
  int32_t reproducible; /**< 1: every reduction is associated as the balanced binary tree over rank
                           numbers (split at the largest power of two below their number), partial
                           results of 8- and 16-bit floats are float32: the same bits whatever the
                           algorithm, the channels, the hosts. 0: as RONDO_REPRODUCIBLE says. Must
                           be equal on all ranks. Since 0.2. */
  int32_t smBudget;     /**< Multiprocessors of the device that this communicator's kernels may keep
                           busy; its GPU memory grows with them, 0.8 MiB each. Kernels of different
                           communicators wait for each other's peers, so the budgets of all that are
                           alive in a process must fit on the device together. 0: as
                           RONDO_SM_BUDGET says; there 0 is half of the device for the first
                           communicator and some for each further one. Since 0.3.
                           RONDO_SM_BUDGET_NONE: as 0, and if all ranks ask for it copy engines move
                           what needs no arithmetic, whatever its length, where they can: all-gather,
                           all-to-all, broadcast, gather and scatter into memory that is registered
                           for them (rondo_register.h says what that asks of gathers and scatters);
                           the rest goes by kernels. Since 0.11; gather and scatter, since 0.34.
                           RONDO_SM_BUDGET_AT_MOST(n): as 0, but no more than n, 1 to 1024 (between
                           hosts two more at most); where less is left for it, less, which is no
                           error, but for what RONDO_SM_BUDGET demands. Since 0.28. */
  int32_t blocking;     /**< 1: the call that makes the communicator returns when it is made. 0: it
                           returns rondoInProgress with a handle, and a thread of its own does the
                           rest; until rondoCommGetAsyncError gives another result the handle may
                           only be asked that, or be given to rondoCommAbort. For rondoCommInitRank,
                           rondoCommInitMPI and rondoCommGrow; a child of a parent that was made so
                           is made blocking. Since 0.4. */
  int32_t timeout;      /**< Milliseconds after which a call in which nothing has moved ends the
                           communicator on all ranks with rondoRemoteError, as rondoCommRevoke
                           would, and a sentence that says who has not entered which call, and
                           where that rank is. On device memory: milliseconds that a kernel has
                           waited for a peer. Ranks may differ: the first to run out counts. 0: as
                           RONDO_TIMEOUT_MS says; there 0, the default, is never, for a slow rank
                           is legal. Since 0.6. */
} rondoConfig_t;

#define RONDO_CONFIG_VERSION 5
#define RONDO_SM_BUDGET_NONE (-1)
#define RONDO_SM_BUDGET_AT_MOST(n) (-2 - (n))
#define RONDO_CONFIG_INITIALIZER \
  { sizeof(rondoConfig_t), RONDO_CONFIG_VERSION, RONDO_DEVICE_AUTO, NULL, NULL, NULL, 0, 0, 1, 0 }

/* ---- the library ---- */

/** The library's version, coded as RONDO_VERSION_CODE. Since 0.1. */
RONDO_API rondoResult_t rondoGetVersion(int* version);

/** The name of a result ("rondoInvalidArgument"); never NULL, also for unknown values. Since 0.1.
 */
RONDO_API const char* rondoGetErrorString(rondoResult_t result);

/**
 * The sentence of the calling thread's last failed Rondo call, or "" if none failed yet. The
 * pointer is valid until the thread's next failed call or rondoGetLastError. With a communicator,
 * the last failure of a call on it, by any thread; NULL: of any call. Since 0.1.
 */
RONDO_API const char* rondoGetLastError(rondoComm_t comm);

/* ---- communicators ---- */

/**
 * Makes an id for a new group. Call it on one rank and hand the 128 bytes to all, by whatever
 * channel there is. This process answers for the id until the group is complete, at an address of
 * this host that RONDO_NET_IF may choose; ranks may be on several hosts. Since 0.1.
 */
RONDO_API rondoResult_t rondoGetUniqueId(rondoUniqueId* id);

/**
 * Joins the group that `id` names as `rank` of `nranks` (0 <= rank < nranks). Blocks until all have
 * joined. Ranks may be processes or threads. Since 0.1. Errors: rondoInvalidArgument (null, rank
 * out of range), rondoInvalidUsage (ranks disagree), rondoSystemError.
 */
RONDO_API rondoResult_t rondoCommInitRank(rondoComm_t* comm, int nranks, rondoUniqueId id,
                                          int rank);

/**
 * rondoCommInitRank with a configuration; `config` may be NULL. With config.blocking 0 it returns
 * rondoInProgress, and *comm is a handle at once: rondoCommGetAsyncError tells when it is ready, or
 * why it will not be (then free it with rondoCommDestroy). Wrong arguments of this call are refused
 * at once. Since 0.1.
 */
RONDO_API rondoResult_t rondoCommInitRankConfig(rondoComm_t* comm, int nranks, rondoUniqueId id,
                                                int rank, const rondoConfig_t* config);

/**
 * rondoCommInitRankConfig with several ids, for very many ranks: the process that makes an id
 * serves every rank that joins by it with a connection and three small messages, and here it does
 * so for a part of the ranks only. `ids` are `idCount` different ids of rondoGetUniqueId
 * (1 <= idCount <= nranks, at most 4096), best made by processes of different hosts; all ranks give
 * the same ones in the same order. Ranks floor(i nranks / idCount) to
 * floor((i + 1) nranks / idCount) - 1 join by ids[i], and the first of them by ids[0] too; `ids` is
 * not read after the call has returned. Everything else is as with one id, `config` (may be NULL)
 * included. Since 0.5. Errors: rondoInvalidArgument (null, rank or idCount out of range, one id
 * twice), rondoInvalidUsage (ranks disagree, an id of a communicator that grows), rondoSystemError.
 */
RONDO_API rondoResult_t rondoCommInitRankScalable(rondoComm_t* comm, int nranks,
                                                  const rondoUniqueId* ids, int idCount, int rank,
                                                  const rondoConfig_t* config);

/**
 * Makes a communicator of `nranks` ranks that are all in this process: comms[r] becomes rank r's,
 * on device devices[r] (an ordinal, RONDO_DEVICE_AUTO or RONDO_DEVICE_NONE). devices NULL:
 * config->device for all if that is RONDO_DEVICE_NONE, else device r modulo visible devices, else
 * none. `config` holds for all ranks but for its device, and may be NULL. One thread may drive them
 * all, if calls on them that wait for each other are in one group. On failure nothing is made.
 * Since 0.4. Errors: rondoInvalidArgument (comms NULL, nranks < 1, a device that does not exist),
 * rondoSystemError (no threads to be had), and those of rondoCommInitRankConfig.
 */
RONDO_API rondoResult_t rondoCommInitAll(rondoComm_t* comms, int nranks, const int* devices,
                                         const rondoConfig_t* config);

/**
 * Ends use of the communicator: later calls on it get rondoInvalidUsage. First waits until its
 * groups that run on by themselves (rondoGroupEndAsync) have ended; their requests stay valid, and
 * rondoWait or rondoTest gives the result of each. Blocks meanwhile, also with config.blocking 0;
 * with nothing under way it returns at once, whatever the other ranks do. Work that calls enqueued
 * on streams is not waited for: synchronise these first.
 *
 * Errors: that of a group that failed, with its sentence: rondoRemoteError if it cannot end, as a
 * rank of this host that it waits for has finalized or let go of the communicator, or as all ranks
 * of a communicator of one host are in this call and nothing can move any more (a send that nobody
 * receives), or after a death, an abort, config.timeout; rondoMismatch if calls differ;
 * rondoOutOfMemory. A rank of another host is missed when it destroys the communicator.
 * rondoMismatch too if a message between this rank and another of its host will never be taken: one
 * that was sent to this rank before this call, or that this rank sent to one which has finalized or
 * destroyed the communicator without taking it (a short send waits for nobody), or that a rank of
 * another host sent here and that has come by then (since 0.18). rondoInvalidUsage: another thread
 * is in a call on `comm`, or a group is open on this thread that has calls on it, or while another
 * is under way. After an error the communicator is not finalized; rondoCommShrink,
 * rondoCommAbort and rondoCommDestroy may follow. Since 0.1; waits since 0.11.
 */
RONDO_API rondoResult_t rondoCommFinalize(rondoComm_t comm);

/** Frees the communicator. Local: peers that are still reading what this rank sent can finish.
 * Since 0.1. */
RONDO_API rondoResult_t rondoCommDestroy(rondoComm_t comm);

/**
 * Ends the communicator on all ranks: calls pending on this and other ranks return rondoRemoteError
 * soon after, and the handle is freed as by rondoCommDestroy. Waits for no other rank. With a
 * device it waits for what runs in the device's context, where this communicator's kernels end:
 * kernels of other communicators must be able to end, too, and where they cannot, rondoCommLeave
 * ends several at once. May be called while another thread of this process is inside a collective
 * on `comm`; the handle then stays valid until that call has returned. Memory of rondoMemAlloc that
 * a pending call used may be written by peers until their calls have returned too: do not free or
 * reuse it before. Since 0.1.
 *
 * Of a communicator that is still being made (config.blocking 0) it ends the making: the thread
 * that does it is waited for, which takes some milliseconds, and nothing is left of it; the other
 * ranks' making fails with rondoRemoteError. Since 0.4.
 */
RONDO_API rondoResult_t rondoCommAbort(rondoComm_t comm);

/**
 * Ends this rank's part of comms[0] to comms[count - 1], and frees their handles as
 * rondoCommDestroy does; NULL among them is nothing. Local, but for what cannot end without this
 * rank: kernels of this rank that wait give up, those of all `comms` before any is freed, and what
 * they wrote is not to be used. Where one did, that communicator ends for the other ranks, too, as
 * by rondoCommAbort; where none did, their calls under way go on, and a rank that makes a
 * collective that needs this one learns that it has let go of the communicator (one whose kernel of
 * sends and receives waits for it, or that of a graph, once all others have left). Waits until the
 * device is idle, so kernels of other communicators that wait for a peer are to be in `comms` as
 * well. As rondoCommAbort where nothing else is possible: while operations on host memory are under
 * way or another thread is inside a call, of several hosts, and while the communicator is still
 * being made. Since 0.34.
 *
 * Errors: rondoInvalidArgument (`count` below 0, `comms` NULL), rondoInvalidUsage (a handle that is
 * none, or the communicator belongs to MPI): all others are freed nonetheless.
 */
RONDO_API rondoResult_t rondoCommLeave(const rondoComm_t* comms, int count);

/** Number of ranks. Since 0.1. */
RONDO_API rondoResult_t rondoCommCount(rondoComm_t comm, int* count);
/** This rank, 0 .. count - 1. Since 0.1. */
RONDO_API rondoResult_t rondoCommUserRank(rondoComm_t comm, int* rank);
/** This rank's number among the ranks of its host, in rank order. Since 0.1. */
RONDO_API rondoResult_t rondoCommLocalRank(rondoComm_t comm, int* localRank);
/** Number of ranks on this rank's host. Since 0.1. */
RONDO_API rondoResult_t rondoCommLocalSize(rondoComm_t comm, int* localSize);
/** This rank's CUDA device ordinal, or RONDO_DEVICE_NONE. Since 0.1. */
RONDO_API rondoResult_t rondoCommCuDevice(rondoComm_t comm, int* device);

/* ---- memory ---- */

/**
 * Allocates `bytes` of host memory (0 gives NULL) that ranks of this host read in place instead of
 * through staging. Page aligned. Local: needs no communicator and no agreement. Since 0.1.
 */
RONDO_API rondoResult_t rondoMemAlloc(void** ptr, size_t bytes);

/**
 * Allocates `bytes` (0 gives NULL) of memory of CUDA device `device`, an ordinal, or
 * RONDO_DEVICE_AUTO: that of the calling thread's current context, or the first if it has none.
 * RONDO_DEVICE_NONE: host memory, as rondoMemAlloc. It comes in whole pages of the device, 2 MiB
 * on most, holds anything at first, can be addressed by every device of this process that reaches
 * `device`, and be registered for ranks of other processes (rondo_register.h); ranks of this
 * process send straight into it without that. A driver without virtual memory management gives
 * what cudaMalloc does. May wait for kernels that run, as
 * cudaMalloc may; needs no communicator and no agreement. Since 0.14. Errors: rondoInvalidArgument
 * (ptr NULL, no such device), rondoOutOfMemory, rondoUnsupported (no driver, no device, a build
 * without CUDA), rondoUnhandledCudaError.
 */
RONDO_API rondoResult_t rondoMemAllocDevice(void** ptr, size_t bytes, int device);

/** Frees memory of rondoMemAlloc or rondoMemAllocDevice, the latter after all work of its device
 * has ended; NULL is allowed. No collective may be using it. Since 0.1. */
RONDO_API rondoResult_t rondoMemFree(void* ptr);

/* ---- errors of others, and communicators made of communicators ---- */

/**
 * Whether `comm` still works: *result is rondoSuccess, or what every call on it returns from now on
 * (rondoRemoteError after the death of a rank or an abort; rondoMismatch after calls that
 * differed; what kernels found counts once they have ended). Local, returns at once, and may be
 * called while another thread is inside a call on `comm`, be it the one that frees it (asked of a
 * communicator that is gone, the function itself gives rondoInvalidUsage); the sentence is behind
 * rondoGetLastError(comm) if no thread is. The result of the function itself is that of asking.
 * Since 0.3. Of a communicator made with config.blocking 0 *result is rondoInProgress until it can
 * be used (rondoSuccess) or could not be made. Since 0.4.
 */
RONDO_API rondoResult_t rondoCommGetAsyncError(rondoComm_t comm, rondoResult_t* result);

/**
 * Ends pending and later calls on `comm` on all ranks, as rondoCommAbort does, but the handle stays
 * for rondoCommGetAsyncError, rondoCommShrink and rondoCommDestroy. Never blocks; may be called
 * while another thread of this process is inside a call on `comm`. Since 0.3.
 */
RONDO_API rondoResult_t rondoCommRevoke(rondoComm_t comm);

/** Color of a rank that becomes no rank of a part (rondoCommSplit). The value is NCCL's. */
#define RONDO_SPLIT_NOCOLOR (-1)

/**
 * Cuts `comm` into parts: ranks that give the same `color` (from 0) become one communicator, in
 * which they are ordered by `key`, and by their rank in `comm` where keys are equal. A rank with
 * RONDO_SPLIT_NOCOLOR gets *newcomm = NULL. Collective over all ranks of `comm`, which goes on as
 * before; host memory only travels, and the parts share the parent's mappings and pool. `config`
 * may be NULL: then everything is as for `comm`; a host identity is always that of `comm`, unless
 * config.hostId is given. Free a part with rondoCommDestroy, before or after `comm`. Since
 * 0.3. Errors are returned on all ranks of a part.
 */
RONDO_API rondoResult_t rondoCommSplit(rondoComm_t comm, int color, int key, rondoComm_t* newcomm,
                                       const rondoConfig_t* config);

/** A communicator of the same ranks in the same order. Collective; as rondoCommSplit with equal
 * colors and keys. Since 0.3. */
RONDO_API rondoResult_t rondoCommDup(rondoComm_t comm, rondoComm_t* newcomm,
                                     const rondoConfig_t* config);

/** Flags of rondoCommShrink. Values are NCCL's. */
#define RONDO_SHRINK_DEFAULT 0
/** First ends what is pending on `comm`, on all ranks (rondoCommRevoke). */
#define RONDO_SHRINK_ABORT 1

/**
 * Makes a communicator of the ranks of `comm` that are left without the dead ones and without
 * excludeRanks[0 .. excludeCount), in the same order. Every other rank calls it, with the same
 * list; the listed and the dead take no part. NULL and 0 leave out the dead only: those whose
 * process has ended and was found out by any caller, also while this call runs. Works on a
 * communicator that is broken by a death, an abort or rondoCommRevoke as well as on a sound one,
 * which goes on unless RONDO_SHRINK_ABORT is given. `config` as for rondoCommSplit. Across
 * hosts, too. Since 0.3. Errors: rondoInvalidArgument (a rank of the list is out of range or the
 * calling one), rondoInvalidUsage (lists differ, or a request is outstanding on a sound
 * communicator), rondoUnsupported (more than 1,024 ranks).
 */
RONDO_API rondoResult_t rondoCommShrink(rondoComm_t comm, const int* excludeRanks, int excludeCount,
                                        rondoComm_t* newcomm, const rondoConfig_t* config,
                                        int flags);

/**
 * Makes an id by which new ranks join `comm` in one rondoCommGrow. Local; call it on one rank of
 * `comm`, the only one that then passes it to rondoCommGrow, and hand the 128 bytes to every new
 * rank. This process answers for the id, as after rondoGetUniqueId. Since 0.4.
 */
RONDO_API rondoResult_t rondoCommGetUniqueId(rondoComm_t comm, rondoUniqueId* id);

/**
 * Makes a communicator of the ranks of `comm`, which keep their numbers, and of new ranks behind
 * them: `nranks` in all, more than `comm` has. Every rank of `comm` calls it with rank -1, and one
 * of them with the id of rondoCommGetUniqueId, the others with NULL (or the same id). A new rank
 * calls it with `comm` NULL, the id, and its number, from the size of `comm` to nranks - 1.
 * Collective over all of them. `comm` goes on as before; mappings, pool and connections are the
 * process's, so the two share them, and either may be destroyed first. `config` NULL: as for `comm`
 * on its ranks, the defaults on new ones, which must agree. With config.blocking 0 it returns
 * rondoInProgress, on ranks of `comm` once all of them have called it. Since 0.4.
 *
 * Errors, on all old ranks: rondoInvalidArgument (nranks, rank), rondoInvalidUsage (no id, several
 * ids, ranks that differ in nranks), rondoSystemError (new ranks that did not come within
 * RONDO_BOOT_TIMEOUT_MS, by number), rondoRemoteError (a rank ended meanwhile).
 */
RONDO_API rondoResult_t rondoCommGrow(rondoComm_t comm, int nranks, const rondoUniqueId* id,
                                      int rank, rondoComm_t* newcomm, const rondoConfig_t* config);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_COMM_H_ */

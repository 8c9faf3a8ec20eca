/* Rondo: collectives on host and GPU buffers for jobs that have an MPI communicator.
 *
 * This header is a leaf: it includes the C standard library only. Conventions that hold for every
 * function here:
 *  - The result is a rondoResult_t. Anything but rondoSuccess has a full sentence behind
 * rondoGetLastError().
 *  - Nothing throws, nothing exits. An output argument is written only on success.
 *  - Counts are numbers of elements, never bytes, and are 64 bits wide.
 *  - A communicator may be used by one thread at a time; different communicators may be used by
 * different threads at once. Two threads inside one communicator get rondoInvalidUsage, not
 * corruption.
 *  - Every rank of a communicator must make the same collective calls in the same order, with the
 * same count, type, operator and root.
 */
#ifndef RONDO_H_
#define RONDO_H_

#include <stddef.h>
#include <stdint.h>

#define RONDO_MAJOR 0
#define RONDO_MINOR 4
#define RONDO_PATCH 0
/** major * 10000 + minor * 100 + patch of the header; compare with rondoGetVersion(). */
#define RONDO_VERSION_CODE (RONDO_MAJOR * 10000 + RONDO_MINOR * 100 + RONDO_PATCH)

#if defined(__GNUC__)
#define RONDO_API __attribute__((visibility("default")))
#else
#define RONDO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What a call came to. Values 0 to 7 are NCCL's. */
typedef enum rondoResult_t {
  rondoSuccess = 0,
  rondoUnhandledCudaError = 1, /**< A CUDA call failed; its name and text are in the sentence. */
  rondoSystemError =
      2, /**< The operating system refused something; errno's text is in the sentence. */
  rondoInternalError = 3, /**< A defect of Rondo. */
  rondoInvalidArgument =
      4, /**< An argument is wrong; the sentence names it, its value, and what is allowed. */
  rondoInvalidUsage =
      5, /**< The call is wrong here: destroyed communicator, two threads, ranks that differ. */
  rondoRemoteError = 6,  /**< Another rank aborted or died. */
  rondoInProgress = 7,   /**< Not an error: a non-blocking operation has not finished. */
  rondoUnsupported = 32, /**< Meaningful, but not available in this build or on this machine. */
  rondoMpiError = 33,    /**< An MPI call failed; its name and text are in the sentence. */
  rondoOutOfMemory = 34  /**< Memory could not be had. */
} rondoResult_t;

/** Element types: open integer handles. Values below 32 are NCCL's. */
typedef int32_t rondoDataType_t;
enum {
  rondoInt8 = 0,
  rondoChar = 0,
  rondoUint8 = 1,
  rondoInt32 = 2,
  rondoInt = 2,
  rondoUint32 = 3,
  rondoInt64 = 4,
  rondoUint64 = 5,
  rondoFloat16 = 6,
  rondoHalf = 6,
  rondoFloat32 = 7,
  rondoFloat = 7,
  rondoFloat64 = 8,
  rondoDouble = 8,
  rondoBfloat16 = 9,
  rondoFloat8e4m3 = 10, /**< No infinities; overflow saturates to +-448. */
  rondoFloat8e5m2 = 11, /**< Overflow saturates to +-57344. */
  rondoInt16 = 32,
  rondoUint16 = 33,
  rondoBool = 34,         /**< One byte; 0 is false, anything else true; results are 0 or 1. */
  rondoComplex64 = 35,    /**< Two float32: real, imaginary. */
  rondoComplex128 = 36,   /**< Two float64. */
  rondoFloat32Int32 = 37, /**< {float, int32_t}, 8 bytes: MPI_FLOAT_INT. For minloc and maxloc. */
  rondoFloat64Int32 = 38, /**< {double, int32_t}, 16 bytes: MPI_DOUBLE_INT. */
  rondoInt64Int32 = 39,   /**< {int64_t, int32_t}, 16 bytes: MPI_LONG_INT. */
  rondoInt32Int32 = 40,   /**< {int32_t, int32_t}, 8 bytes: MPI_2INT. */
  rondoInt16Int32 = 41    /**< {int16_t, int32_t}, 8 bytes: MPI_SHORT_INT. */
};

/** Reduction operators: open integer handles. Values below 32 are NCCL's; operators made at run
 * time lie above. */
typedef int32_t rondoRedOp_t;
enum {
  rondoSum = 0,
  rondoProd = 1,
  rondoMax = 2,
  rondoMin = 3,
  rondoAvg = 4,
  rondoLogicalAnd = 32, /**< Integers and bool; the result is 0 or 1. */
  rondoLogicalOr = 33,
  rondoLogicalXor = 34,
  rondoBitAnd = 35, /**< Integers and bool. */
  rondoBitOr = 36,
  rondoBitXor = 37,
  rondoMinLoc = 38, /**< Pairs: the smaller value, of equal ones the smaller index. */
  rondoMaxLoc = 39  /**< Pairs: the larger value, of equal ones the smaller index. */
};

/** Where a scalar of rondoRedOpCreatePreMulSum lies. Values are NCCL's. */
typedef enum rondoScalarResidence_t {
  rondoScalarDevice = 0,       /**< Memory that the device reads when the collective runs. */
  rondoScalarHostImmediate = 1 /**< Host memory, read before the create call returns. */
} rondoScalarResidence_t;

/** A communicator: one rank's handle on a group of ranks. */
typedef struct rondoComm* rondoComm_t;

/** A CUDA stream (the same type as cudaStream_t), or NULL. */
typedef struct CUstream_st* rondoStream_t;

/** Names a group of ranks while it forms. Opaque bytes, copied by value from one rank to all
 * others. */
#define RONDO_UNIQUE_ID_BYTES 128
typedef struct rondoUniqueId {
  char internal[RONDO_UNIQUE_ID_BYTES];
} rondoUniqueId;

/** No device: the communicator works on host memory only. */
#define RONDO_DEVICE_NONE (-2)
/** Let Rondo choose: the current CUDA context's device, else local rank modulo visible devices,
 * else none. Where there are GPUs this makes a CUDA context, which takes some tenths of a second
 * and some hundred MiB of GPU memory: RONDO_DEVICE_NONE spares a program that has host buffers
 * only. */
#define RONDO_DEVICE_AUTO (-1)

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
                           communicator and some for each further one. Since 0.3. */
  int32_t blocking;     /**< 1: the call that makes the communicator returns when it is made. 0: it
                           returns rondoInProgress with a handle, and a thread of its own does the
                           rest; until rondoCommGetAsyncError gives another result the handle may
                           only be asked that, or be given to rondoCommAbort. For rondoCommInitRank,
                           rondoCommInitMPI and rondoCommGrow; a child of a parent that was made so
                           is made blocking. Since 0.4. */
} rondoConfig_t;

#define RONDO_CONFIG_VERSION 4
#define RONDO_CONFIG_INITIALIZER \
  { sizeof(rondoConfig_t), RONDO_CONFIG_VERSION, RONDO_DEVICE_AUTO, NULL, NULL, NULL, 0, 0, 1 }

/* ---- the library ---- */

/** The library's version, coded as RONDO_VERSION_CODE. Since 0.1. */
RONDO_API rondoResult_t rondoGetVersion(int* version);

/** The name of a result ("rondoInvalidArgument"); never NULL, also for unknown values. Since 0.1.
 */
RONDO_API const char* rondoGetErrorString(rondoResult_t result);

/**
 * The sentence of the calling thread's last failed Rondo call, or "" if none failed yet. The
 * pointer is valid until the thread's next failed call. With a communicator, the last failure of a
 * call on it; NULL: of any call. Since 0.1.
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

/** Ends use of the communicator: later collective calls get rondoInvalidUsage. Local. Since 0.1. */
RONDO_API rondoResult_t rondoCommFinalize(rondoComm_t comm);

/** Frees the communicator. Local: peers that are still reading what this rank sent can finish.
 * Since 0.1. */
RONDO_API rondoResult_t rondoCommDestroy(rondoComm_t comm);

/**
 * Ends the communicator on all ranks: calls pending on this and other ranks return rondoRemoteError
 * soon after, and the handle is freed as by rondoCommDestroy. Never blocks. May be called while
 * another thread of this process is inside a collective on `comm`; the handle then stays valid
 * until that call has returned. Memory of rondoMemAlloc that a pending call used may be written by
 * peers until their calls have returned too: do not free or reuse it before. Since 0.1.
 *
 * Of a communicator that is still being made (config.blocking 0) it ends the making: the thread
 * that does it is waited for, which takes some milliseconds, and nothing is left of it; the other
 * ranks' making fails with rondoRemoteError. Since 0.4.
 */
RONDO_API rondoResult_t rondoCommAbort(rondoComm_t comm);

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

/* ---- collectives ----
 *
 * On host memory a call is complete when it returns; `stream` must be NULL. On device memory a call
 * is ordered on `stream` and returns at once; the memory must belong to the communicator's device.
 * Calls of one communicator on different streams are ordered by the caller, with an event, for they
 * share its memory; calls in one group are ordered by the library. Different communicators are
 * independent of each other.
 * One call's two buffers are of the same kind; different ranks may differ only where a function
 * says so. Buffers need no registration; memory from rondoMemAlloc is used in place. The two
 * buffers must not overlap unless the function's in-place rule allows it.
 */

/**
 * recvbuff[i] = op over all ranks of their sendbuff[i], for 0 <= i < count, on every rank; the same
 * bits on every rank and in every run. In place: sendbuff == recvbuff. Within one reduction step
 * 16-bit floats are widened to float32 and rounded once. rondoAvg is the sum divided by the number
 * of ranks (integers: truncated towards zero). Since 0.1.
 */
RONDO_API rondoResult_t rondoAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                                       rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                                       rondoStream_t stream);

/**
 * recvbuff[i] = root's sendbuff[i], for 0 <= i < count, on every rank. sendbuff counts at the root
 * only. In place: sendbuff == recvbuff. Since 0.1.
 */
RONDO_API rondoResult_t rondoBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                                       rondoDataType_t datatype, int root, rondoComm_t comm,
                                       rondoStream_t stream);

/**
 * The root's recvbuff[i] = op over all ranks of their sendbuff[i], for 0 <= i < count. recvbuff
 * counts at the root only. In place at the root: sendbuff == recvbuff. Since 0.2.
 */
RONDO_API rondoResult_t rondoReduce(const void* sendbuff, void* recvbuff, size_t count,
                                    rondoDataType_t datatype, rondoRedOp_t op, int root,
                                    rondoComm_t comm, rondoStream_t stream);

/**
 * recvbuff[r * sendcount + i] = rank r's sendbuff[i], for 0 <= i < sendcount, on every rank.
 * recvbuff holds ranks * sendcount elements. In place: sendbuff == recvbuff + rank * sendcount
 * elements. Since 0.2.
 */
RONDO_API rondoResult_t rondoAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                                       rondoDataType_t datatype, rondoComm_t comm,
                                       rondoStream_t stream);

/**
 * recvbuff[displs[r] + i] = rank r's sendbuff[i], for 0 <= i < recvcounts[r], on every rank.
 * recvcounts must be equal on all ranks and recvcounts[rank] == sendcount; displs (elements) may
 * differ between ranks, and blocks must not overlap. displs NULL: blocks follow each other. In
 * place: sendbuff == recvbuff + displs[rank] elements. Since 0.2.
 */
RONDO_API rondoResult_t rondoAllGatherV(const void* sendbuff, size_t sendcount, void* recvbuff,
                                        const size_t* recvcounts, const size_t* displs,
                                        rondoDataType_t datatype, rondoComm_t comm,
                                        rondoStream_t stream);

/**
 * recvbuff[i] = op over all ranks of their sendbuff[rank * recvcount + i], for 0 <= i < recvcount:
 * each rank gets its block of the reduction. sendbuff holds ranks * recvcount elements. In place:
 * recvbuff == sendbuff + rank * recvcount elements. Since 0.2.
 */
RONDO_API rondoResult_t rondoReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                           rondoDataType_t datatype, rondoRedOp_t op,
                                           rondoComm_t comm, rondoStream_t stream);

/**
 * rondoReduceScatter with blocks of recvcounts[r] elements (equal on all ranks) that follow each
 * other in sendbuff. In place: recvbuff == sendbuff + the sum of the counts of the ranks before
 * this one. Since 0.2.
 */
RONDO_API rondoResult_t rondoReduceScatterV(const void* sendbuff, void* recvbuff,
                                            const size_t* recvcounts, rondoDataType_t datatype,
                                            rondoRedOp_t op, rondoComm_t comm,
                                            rondoStream_t stream);

/**
 * recvbuff[r * count + i] = rank r's sendbuff[rank * count + i], for 0 <= i < count: `count`
 * elements from every rank to every rank. Both buffers hold ranks * count elements. In place:
 * sendbuff == recvbuff. Since 0.2.
 */
RONDO_API rondoResult_t rondoAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                                      rondoDataType_t datatype, rondoComm_t comm,
                                      rondoStream_t stream);

/**
 * recvbuff[rdispls[r] + i] = rank r's sendbuff[sdispls[rank] + i], for 0 <= i < recvcounts[r].
 * recvcounts[r] must equal rank r's sendcounts[rank]. Receive blocks must not overlap.
 * Displacements are elements; NULL: blocks follow each other. In place: sendbuff == recvbuff, with
 * equal counts and displacements for sending and receiving. Since 0.2.
 */
RONDO_API rondoResult_t rondoAllToAllV(const void* sendbuff, const size_t* sendcounts,
                                       const size_t* sdispls, void* recvbuff,
                                       const size_t* recvcounts, const size_t* rdispls,
                                       rondoDataType_t datatype, rondoComm_t comm,
                                       rondoStream_t stream);

/**
 * The root's recvbuff[r * sendcount + i] = rank r's sendbuff[i], for 0 <= i < sendcount. recvbuff
 * counts at the root only. In place at the root: sendbuff == recvbuff + root * sendcount elements.
 * Since 0.2.
 */
RONDO_API rondoResult_t rondoGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                                    rondoDataType_t datatype, int root, rondoComm_t comm,
                                    rondoStream_t stream);

/**
 * The root's recvbuff[displs[r] + i] = rank r's sendbuff[i], for 0 <= i < recvcounts[r]. recvbuff,
 * recvcounts and displs count at the root only; recvcounts[r] must equal rank r's sendcount. displs
 * NULL: blocks follow each other. In place at the root: sendbuff == recvbuff + displs[root]. Since
 * 0.2.
 */
RONDO_API rondoResult_t rondoGatherV(const void* sendbuff, size_t sendcount, void* recvbuff,
                                     const size_t* recvcounts, const size_t* displs,
                                     rondoDataType_t datatype, int root, rondoComm_t comm,
                                     rondoStream_t stream);

/**
 * recvbuff[i] = the root's sendbuff[rank * recvcount + i], for 0 <= i < recvcount. sendbuff counts
 * at the root only. In place at the root: recvbuff == sendbuff + root * recvcount elements. Since
 * 0.2.
 */
RONDO_API rondoResult_t rondoScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                     rondoDataType_t datatype, int root, rondoComm_t comm,
                                     rondoStream_t stream);

/**
 * recvbuff[i] = the root's sendbuff[displs[rank] + i], for 0 <= i < recvcount. sendbuff, sendcounts
 * and displs count at the root only; sendcounts[r] must equal rank r's recvcount. displs NULL:
 * blocks follow each other. In place at the root: recvbuff == sendbuff + displs[root]. Since 0.2.
 */
RONDO_API rondoResult_t rondoScatterV(const void* sendbuff, const size_t* sendcounts,
                                      const size_t* displs, void* recvbuff, size_t recvcount,
                                      rondoDataType_t datatype, int root, rondoComm_t comm,
                                      rondoStream_t stream);

/**
 * recvbuff[i] = op over ranks 0 .. rank of their sendbuff[i], in rank order. In place: sendbuff ==
 * recvbuff. rondoAvg is not defined here. Since 0.2.
 */
RONDO_API rondoResult_t rondoScan(const void* sendbuff, void* recvbuff, size_t count,
                                  rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                                  rondoStream_t stream);

/**
 * recvbuff[i] = op over ranks 0 .. rank - 1 of their sendbuff[i]; rank 0's recvbuff is left alone.
 * In place: sendbuff == recvbuff. rondoAvg is not defined here. Since 0.2.
 */
RONDO_API rondoResult_t rondoExscan(const void* sendbuff, void* recvbuff, size_t count,
                                    rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                                    rondoStream_t stream);

/** Returns when every rank has called it. Host side only: `stream` must be NULL. Since 0.1. */
RONDO_API rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream);

/* ---- send and receive ----
 *
 * Sends from one rank to another are received in the order in which they were sent. A send or
 * receive outside a group blocks until its buffer may be reused; a send may need its receive to be
 * called first. What must overlap goes into a group, or is one rondoSendRecv.
 *
 * On device memory a call returns at once, and what follows on `stream` waits: a send until its
 * receive has taken what the library does not hold. The ranks of a pair both have device memory.
 * With count 0 and device memory or a stream nothing is done, nor waited for; on host memory peers
 * hear of it. Since 0.3.
 */

/** Sends sendbuff[0 .. count) to rank `peer`, which calls rondoRecv with the same count and type.
 * Since 0.2. */
RONDO_API rondoResult_t rondoSend(const void* sendbuff, size_t count, rondoDataType_t datatype,
                                  int peer, rondoComm_t comm, rondoStream_t stream);

/** Receives `count` elements that rank `peer` sends, into recvbuff. Since 0.2. */
RONDO_API rondoResult_t rondoRecv(void* recvbuff, size_t count, rondoDataType_t datatype, int peer,
                                  rondoComm_t comm, rondoStream_t stream);

/** A rondoSend to `dest` and a rondoRecv from `source` at once; the buffers must not overlap. Since
 * 0.2. */
RONDO_API rondoResult_t rondoSendRecv(const void* sendbuff, size_t sendcount, int dest,
                                      void* recvbuff, size_t recvcount, int source,
                                      rondoDataType_t datatype, rondoComm_t comm,
                                      rondoStream_t stream);

/* ---- operators made at run time ---- */

/**
 * Makes an operator that multiplies this rank's input by *scalar (of `datatype`, a floating-point,
 * complex or integer type), rounds to `datatype`, and sums. The handle is valid for `comm` and
 * `datatype` until rondoRedOpDestroy. Ranks may have different scalars, but must make their
 * operators in the same order. Since 0.2.
 */
RONDO_API rondoResult_t rondoRedOpCreatePreMulSum(rondoRedOp_t* op, const void* scalar,
                                                  rondoDataType_t datatype,
                                                  rondoScalarResidence_t residence,
                                                  rondoComm_t comm);

/** Frees an operator of rondoRedOpCreatePreMulSum. Since 0.2. */
RONDO_API rondoResult_t rondoRedOpDestroy(rondoRedOp_t op, rondoComm_t comm);

/* ---- groups and requests ---- */

/** A group that runs on by itself (rondoGroupEndAsync). */
typedef struct rondoRequest* rondoRequest_t;

/**
 * Opens a group on the calling thread: calls of collectives, sends and receives until the matching
 * end only check their arguments and are collected. Groups nest; the outermost end counts. An error
 * inside is remembered and reported by the end. Since 0.2.
 */
RONDO_API rondoResult_t rondoGroupStart(void);

/**
 * Runs everything collected, on all communicators concerned, and returns when it is done. Sends and
 * receives may stand in any order. Collectives of one communicator run in the order of their calls;
 * neighbours of one kind, datatype, operator and root that have at most 16 KiB each (of the larger
 * buffer) run as one call on the sum of their counts, for one latency instead of many. Therefore
 * all ranks make the same calls in the same groups, and of such neighbours none may write memory
 * that another one reads or writes (rondoInvalidUsage). A floating-point reduction in a group may
 * round otherwise than by itself, though the same way on every run; with config.reproducible its
 * bits are the same. Until it returns, other threads' calls on the communicators get
 * rondoInvalidUsage. Returns the first cause of failure. Since 0.2.
 *
 * What is on device memory is only enqueued, before anything on host memory runs: for each
 * communicator all its sends and receives as one launch on the stream of the first of them, which
 * their other streams wait for, and then its collectives in the order of their calls. Communicators
 * take turns in the order in which they were made, on all ranks. Since 0.3.
 */
RONDO_API rondoResult_t rondoGroupEnd(void);

/**
 * Like rondoGroupEnd, but returns at once; *request becomes the group's. Buffers belong to it until
 * the request is complete. Any number may be outstanding. Not inside another group. Since 0.2.
 */
RONDO_API rondoResult_t rondoGroupEndAsync(rondoRequest_t* request);

/** *done = 1 and *request = NULL if the group is complete, else *done = 0. Returns the group's
 * result once done. Since 0.2. */
RONDO_API rondoResult_t rondoTest(rondoRequest_t* request, int* done);

/** Waits for the group, sets *request to NULL and returns its result. Since 0.2. */
RONDO_API rondoResult_t rondoWait(rondoRequest_t* request);

/** rondoWait for each of requests[0 .. count), NULL ones skipped; returns the first failure, after
 * all are complete. Since 0.2. */
RONDO_API rondoResult_t rondoWaitAll(size_t count, rondoRequest_t* requests);

/* ---- memory ---- */

/**
 * Allocates `bytes` of host memory (0 gives NULL) that ranks of this host read in place instead of
 * through staging. Page aligned. Local: needs no communicator and no agreement. Since 0.1.
 */
RONDO_API rondoResult_t rondoMemAlloc(void** ptr, size_t bytes);

/** Frees memory of rondoMemAlloc; NULL is allowed. No collective may be using it. Since 0.1. */
RONDO_API rondoResult_t rondoMemFree(void* ptr);

/* ---- errors of others, and communicators made of communicators ---- */

/**
 * Whether `comm` still works: *result is rondoSuccess, or what every call on it returns from now on
 * (rondoRemoteError after the death of a rank or an abort; rondoInvalidUsage after calls that
 * differed). Local, returns at once, and may be called while another thread is inside a call on
 * `comm`; the sentence is behind rondoGetLastError(comm) if no thread is. The result of the
 * function itself is that of asking. Since 0.3. Of a communicator made with config.blocking 0
 * *result is rondoInProgress until it can be used (rondoSuccess) or could not be made. Since 0.4.
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

#endif /* RONDO_H_ */

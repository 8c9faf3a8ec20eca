/* Of rondo.h: collectives, and operators made at run time. */
#ifndef RONDO_COLLECTIVES_H_
#define RONDO_COLLECTIVES_H_

#include "rondo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- collectives ----
 *
 * On host memory a call is complete when it returns; `stream` must be NULL. On device memory a call
 * is ordered on `stream` and returns at once; the memory must belong to the communicator's device.
 * Calls of one communicator on different streams are ordered by the caller, with an event, for they
 * share its memory; calls in one group are ordered by the library. Different communicators are
 * independent of each other.
 * The barrier is for host memory. A rank that neither gives nor takes anything in a call
 * with counts of its own (rondoAllToAllV, rondoGatherV, rondoScatterV) says by its pointers whose
 * memory the call is on, or by a stream that is not NULL. On device memory rondoAllGatherV,
 * rondoAllToAllV, gathers, scatters and rondoAllToAll of more than 8 ranks are sends and receives:
 * there are none where more than 16 ranks meet on one host.
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
 * sendbuff == recvbuff; on device memory on all ranks or on none. Since 0.2.
 */
RONDO_API rondoResult_t rondoAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                                      rondoDataType_t datatype, rondoComm_t comm,
                                      rondoStream_t stream);

/**
 * recvbuff[rdispls[r] + i] = rank r's sendbuff[sdispls[rank] + i], for 0 <= i < recvcounts[r].
 * recvcounts[r] must equal rank r's sendcounts[rank]. Receive blocks must not overlap.
 * Displacements are elements; NULL: blocks follow each other. In place: sendbuff == recvbuff, with
 * equal counts and displacements for sending and receiving; not on devices of several hosts. Since
 * 0.2; on device memory, as all v-collectives, since 0.12; there in place, since 0.14.
 */
RONDO_API rondoResult_t rondoAllToAllV(const void* sendbuff, const size_t* sendcounts,
                                       const size_t* sdispls, void* recvbuff,
                                       const size_t* recvcounts, const size_t* rdispls,
                                       rondoDataType_t datatype, rondoComm_t comm,
                                       rondoStream_t stream);

/**
 * The root's recvbuff[r * sendcount + i] = rank r's sendbuff[i], for 0 <= i < sendcount. recvbuff
 * counts at the root only (but for copy engines: rondo_register.h). In place at the root: sendbuff
 * == recvbuff + root * sendcount elements. Since 0.2.
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
 * at the root only. In place at the root: recvbuff == sendbuff + root * recvcount elements (not by
 * copy engines: rondo_register.h). Since 0.2.
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

#ifdef __cplusplus
}
#endif

#endif /* RONDO_COLLECTIVES_H_ */

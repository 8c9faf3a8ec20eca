/* Of rondo.h: send and receive, groups and requests. */
#ifndef RONDO_GROUP_H_
#define RONDO_GROUP_H_

#include "rondo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/** Sends sendbuff[0 .. count) to rank `peer`, which calls rondoRecv with the same count and type:
 * other lengths are rondoMismatch there, and here from the next call. Since 0.2. */
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

/* ---- groups and requests ---- */

/**
 * Opens a group on the calling thread: calls of collectives, sends and receives until the matching
 * end only check their arguments and are collected. Groups nest; the outermost end counts. An error
 * inside is remembered and reported by the end. Since 0.2.
 */
RONDO_API rondoResult_t rondoGroupStart(void);

/**
 * Runs everything collected, on all communicators concerned, and returns when it is done. Sends and
 * receives may stand in any order. Collectives of one communicator run in the order of their calls;
 * neighbours alike in kind, type, operator and root, of at most 16 KiB each (the larger buffer),
 * run as one call on the sum of their counts, others (but v-collectives) as one where all ranks'
 * inputs are 16 KiB at most: for one latency. So all ranks make the same calls in the same groups,
 * and of alike neighbours none may write memory that another one reads or writes
 * (rondoInvalidUsage). A floating-point reduction may round otherwise in a group than alone, the
 * same way on every run; with config.reproducible its bits are the same. Until it returns, other
 * threads' calls on these communicators get rondoInvalidUsage. Returns the first cause of failure.
 * Since 0.2.
 *
 * What is on device memory is only enqueued, before anything on host memory runs: for each
 * communicator all its sends and receives as one launch on the stream of the first of them, which
 * their other streams wait for, and then its collectives in the order of their calls, also those
 * that are made of sends and receives (gathers, scatters, calls with counts of their own).
 * Short neighbours of one kind (all-reduces, all-gathers, reduce-scatters) may be one launch on the
 * first one's stream; they may depend on each other, which may differ by rank. Streams join the
 * capture of the first operation's, and are the caller's to join back; a first one outside the
 * others' capture is rondoInvalidUsage. Communicators take turns in order of age. Since 0.3.
 */
RONDO_API rondoResult_t rondoGroupEnd(void);

/**
 * Like rondoGroupEnd, but returns at once; *request becomes the group's. Buffers belong to it until
 * the request is complete. A million may be outstanding. Not inside another group. Since 0.2.
 */
RONDO_API rondoResult_t rondoGroupEndAsync(rondoRequest_t* request);

/**
 * Ends the group without running any of it, and writes how long it is predicted to take. What was
 * collected is dropped: communicators, streams and buffers are as if no call had been made, and
 * nothing of it is in what rondoCommGetPrediction tells and a rehearsal writes. The time is that by
 * which an algorithm is chosen (RONDO_EXPLAIN), of calls that all ranks make together;
 * a call on host memory counts as one of the next size of four binary digits. Calls follow each
 * other as rondoGroupEnd says, joined ones as one, communicators one after the other; ranks of one
 * communicator in this thread go on at once. What a rank copies to itself takes no time. Local:
 * other ranks need not do the same. Not inside another group. Since 0.29.
 *
 * Errors: those of rondoGroupEnd that need no other rank; rondoInvalidArgument (NULL);
 * rondoUnsupported: nothing predicts one of the calls (but on virtual communicators, where all have
 * a time). These are sends and receives on host memory, and collectives there with counts of their
 * own; on device memory sends, receives and what is made of them (gathers, scatters, counts of
 * their own) without NVLink and across hosts; across hosts collectives that cannot go in levels;
 * premultiplied sums of types that are multiplied by a kernel of their own. Nothing is written
 * then.
 */
RONDO_API rondoResult_t rondoGroupPredict(uint64_t* picoseconds);

/** *done = 1 and *request = NULL if the group is complete, else *done = 0. Returns the group's
 * result once done. Since 0.2. */
RONDO_API rondoResult_t rondoTest(rondoRequest_t* request, int* done);

/** Waits for the group, sets *request to NULL and returns its result. Since 0.2. */
RONDO_API rondoResult_t rondoWait(rondoRequest_t* request);

/** rondoWait for each of requests[0 .. count), NULL ones skipped; returns the first failure, after
 * all are complete. Since 0.2. */
RONDO_API rondoResult_t rondoWaitAll(size_t count, rondoRequest_t* requests);

/** What rondoGroupSetAside took off a thread. Since 0.12. */
typedef struct rondoGroup* rondoGroup_t;

/**
 * For a library that is called by a thread whose open group is not its own, and that uses Rondo
 * itself: takes what is open off the calling thread, whose calls then run as if no group were. NULL
 * in *group if none is open, which costs a nanosecond. Every one goes back by rondoGroupTakeBack on
 * the same thread. Errors: rondoInvalidArgument, rondoOutOfMemory (the group stays open). Since
 * 0.12.
 */
RONDO_API rondoResult_t rondoGroupSetAside(rondoGroup_t* group);

/** Opens again what rondoGroupSetAside took off, as deep and with all it had collected. NULL:
 * nothing. rondoInvalidUsage, and nothing done, while another group is open. Since 0.12. */
RONDO_API rondoResult_t rondoGroupTakeBack(rondoGroup_t group);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_GROUP_H_ */

/* Of rondo.h: device memory that the ranks of a communicator register with it. */
#ifndef RONDO_REGISTER_H_
#define RONDO_REGISTER_H_

#include "rondo_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A registration of device memory, the same number on all ranks of its communicator; 0: none.
 * Since 0.6. */
typedef uint64_t rondoRegistration_t;

/** Flags of rondoCommRegister. */
#define RONDO_REGISTER_DEFAULT 0
/**
 * All-gathers, all-to-alls and long all-reduces into this memory are left to the copy engines, and
 * with it a promise: wherever a collective's recvbuff lies in this registration on one rank, it
 * lies at the same distance from ptr of the same registration on all ranks, and the call is in
 * place on all ranks or on none. All ranks give the same `bytes`, not 0.
 */
#define RONDO_REGISTER_COPY_ENGINES 1
/**
 * A window, as ncclCommWindowRegister of NCCL's symmetric ones makes it: with the promise of
 * RONDO_REGISTER_COPY_ENGINES, and of the same calls those go by copy engines for which the cost
 * model says that it is quicker. Each rank ends it by itself, and until then what is sent to it
 * goes as if it were not registered. Of memory of cudaMalloc between processes (what is shared by
 * legacy handles) it is of no use: take rondoMemAllocDevice's. Since 0.30.
 */
#define RONDO_REGISTER_WINDOW 2

/**
 * Registers device memory [ptr, ptr + bytes) of this rank with `comm`, so that other ranks of the
 * host write into it instead of passing data through Rondo's own memory. Collective: every rank
 * calls it in the same place of its order of calls, each with its own memory, or with NULL and 0.
 * The memory is of one allocation (rondoMemAllocDevice, cudaMalloc, or cuMemCreate with file
 * descriptors as handles) on the communicator's device. *registration is written on success. Ranks
 * of one process send into each other's memory of rondoMemAllocDevice and cudaMalloc without it,
 * and those of several map each other's in the background, unless RONDO_REGISTER=off. Of
 * cudaMalloc's that is freed then, other ranks may keep an eighth of the device's memory in use, no
 * more than is free when it is first received into (or RONDO_REGISTER's bytes), until a
 * rondoCommDeregister or the end of `comm`; of what graphs receive 8 MiB or more into (4 MiB where
 * there are three ranks and more), memory of every kind, until the end of `comm`.
 *
 * Calls need not be changed afterwards. rondoRecv, rondoSendRecv, rondoGather, rondoScatter, and
 * rondoAllToAll where the cost model says that it is quicker: what is received into registered
 * memory, from 4 MiB on, is written there by the sender. With
 * RONDO_REGISTER_COPY_ENGINES, rondoAllGather and rondoAllToAll (not in place) into it, of 32 MiB
 * or more in all, keep no multiprocessor busy but for the copy of a rank's own block; by themselves
 * they may take longer than Rondo's kernels. rondoBroadcast of two ranks goes so where the cost
 * model says that it is quicker. With config.smBudget RONDO_SM_BUDGET_NONE that is so
 * at any length, for rondoBroadcast, rondoGather and rondoScatter too, and of the rank's own block.
 * The promise is of those, too: all ranks of a gather give a recvbuff in the registration, also
 * those that receive nothing there, and a scatter is in place on no rank; else the next call on
 * every rank returns rondoMismatch. rondoAllReduce into it,
 * of up to 8 ranks and not of a premultiplied sum, is moved by them where the cost model says that
 * they are quicker, from about 100 MiB on: 32 to 256 blocks of threads reduce what comes, each
 * element in the order of ranks (a ring's order depends on where the element lies). In place, from
 * about 200 MiB on, kernels make the sums, and copy engines move them. Memory of a rank
 * that another cannot map (memory of a pool, say) is accepted and used as if it were not
 * registered. A graph that was captured while memory was registered may be launched only while it
 * still is; one that was captured before the communicator's first registration goes on as before.
 *
 * Copies cannot be taken back: where a call by copy engines ends by an abort, the death of a rank
 * or config.timeout, other ranks' memory of the registration is written as the call would have,
 * also of a rank that has not made it.
 *
 * Waits for nothing that is enqueued, but mapping memory may make the driver wait for kernels that
 * run: none may wait for a later call of any rank. At most 256 registrations of a communicator at
 * once. Children of `comm` do not inherit them, and the end of `comm` ends them. Since 0.6.
 *
 * Errors, on all ranks: rondoInvalidArgument (host or managed memory, freed memory, memory of
 * another device, a range that goes past its allocation, flags, one of ptr and bytes 0),
 * rondoInvalidUsage (ranks differ in flags, or in bytes with RONDO_REGISTER_COPY_ENGINES or
 * RONDO_REGISTER_WINDOW; inside a group), rondoOutOfMemory (256 are there), rondoUnsupported
 * (`comm` has host memory only).
 */
RONDO_API rondoResult_t rondoCommRegister(rondoComm_t comm, void* ptr, size_t bytes, int flags,
                                          rondoRegistration_t* registration);

/**
 * Ends a registration: no rank has the memory mapped for it any more when it returns, and it may be
 * freed. Collective, all ranks with the same number; waits until the device is idle. Memory that is
 * freed while it is registered stays in use until then: later calls on the same addresses see that
 * they are another allocation and go through Rondo's own memory, but for those of
 * RONDO_REGISTER_COPY_ENGINES, which are refused. Since 0.6.
 *
 * Of a window (RONDO_REGISTER_WINDOW) a rank ends its own part, waits for nothing and nobody, and
 * has no other rank's memory mapped for it any more. Calls into it have ended by then, and all
 * ranks end it between the same two of their collectives. A window whose memory was freed ends by
 * itself. Errors, on all ranks, of a window on the caller:
 * rondoInvalidArgument (no such registration of `comm`), rondoInvalidUsage (ranks differ; inside a
 * group).
 */
RONDO_API rondoResult_t rondoCommDeregister(rondoComm_t comm, rondoRegistration_t registration);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_REGISTER_H_ */

/* Rehearsal: communicators on machines that need not be there. Calls on them check their arguments,
 * and are planned and timed instead of moving data. */
#ifndef RONDO_VIRTUAL_H_
#define RONDO_VIRTUAL_H_

#include "rondo.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How to rehearse. Start from RONDO_VIRTUAL_CONFIG_INITIALIZER, then set fields. Sizes and
 * versions are treated as those of rondoConfig_t. Since 0.4. */
typedef struct rondoVirtualConfig_t {
  size_t size;        /**< sizeof(rondoVirtualConfig_t) of the caller. */
  uint32_t version;   /**< RONDO_VIRTUAL_CONFIG_VERSION of the caller. */
  int32_t ownData;    /**< 0: buffers are neither read nor written. 1: what this rank contributes
                         itself is put where it belongs (its own input of a reduction is the result,
                         its own block of a gathering is in its place), and nothing else is. */
  const char* name;   /**< Appears in errors. NULL: "virtual". Copied. */
  const char* output; /**< What rondoCommDestroy writes begins so: OUTPUT.calls.csv (every call with
                         its predicted time), OUTPUT.flows.csv (every transfer of every call,
                         columns as of rondo-sim --flows) and OUTPUT.trace.json (a timeline for
                         Perfetto). Every split that takes a rule is noted in OUTPUT.splits.csv,
                         which is kept and added to: ranks that are rehearsed one after the other
                         with the same output find out where a rule parts them otherwise than
                         their colors and keys do (rondoInvalidArgument). A place that takes no
                         files is refused (rondoInvalidArgument). NULL: nothing is written.
                         Copied. */
  const char* splits; /**< What all ranks say in rondoCommSplit, as rules of rondoCommSplitVirtual
                         parted by ';': the first is for the first split of a communicator that
                         comes of this one, the last one for all further ones. NULL: rondoCommSplit
                         is rondoUnsupported. Copied. Since 0.8. */
} rondoVirtualConfig_t;

#define RONDO_VIRTUAL_CONFIG_VERSION 2
#define RONDO_VIRTUAL_CONFIG_INITIALIZER \
  { sizeof(rondoVirtualConfig_t), RONDO_VIRTUAL_CONFIG_VERSION, 0, NULL, NULL, NULL }

/**
 * Makes a communicator of `nranks` ranks on a machine that need not be there, of which this process
 * is rank `rank` alone; no other process takes part. `topology` is a file (Rondo's, NCCL's or
 * hwloc's XML) or a description, as in "64 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail".
 * Ranks sit on its GPUs, host by host, or on the CPUs' cores where there are no GPUs; nranks 0: on
 * all of them. `config` may be NULL.
 *
 * Collectives, sends, receives and groups on it check their arguments, return at once and add their
 * predicted time to what rondoCommGetPrediction tells: collectives as if all ranks called together,
 * sends and receives as if the peer were there. Buffers may be of any kind and must not be NULL
 * where a call would not allow it, but are not touched (see ownData); `stream` is not looked at.
 * What rondoGroupEndAsync gives is complete. Local. Since 0.4.
 *
 * Communicators that are made of it (rondoCommSplit by config.splits, rondoCommSplitVirtual,
 * rondoCommShrink, rondoCommGrow, rondoCommDup) are virtual too: their ranks keep their places,
 * calls on all of them follow each other on one clock, and OUTPUT's files are written when the last
 * one is destroyed; they name each call's communicator, and number ranks as here. A child is called
 * as its config->name says, else PARENT.split0, PARENT.shrink1, numbered in turn; nothing else of
 * its configuration matters. rondoCommDup without one gives another handle on the same
 * communicator. The other parts of a split are taken to make the same calls at the same time, over
 * the same links, as far as they have as many ranks. New ranks of rondoCommGrow are there at once,
 * on the machine's first places where no rank has been, and then on those of ranks that
 * rondoCommShrink left out; more than there are places is rondoInvalidArgument. What
 * rondoCommGetUniqueId gives is for rondoCommGrow on this rank alone.
 *
 * Errors: rondoInvalidArgument (NULL; a topology that cannot be read, with file and line; more
 * ranks than places; rank out of range), rondoUnsupported (a build without libxml2).
 */
RONDO_API rondoResult_t rondoCommInitVirtual(rondoComm_t* comm, const char* topology, int nranks,
                                             int rank, const rondoVirtualConfig_t* config);

/** What rondoCommGetPrediction tells. Set `size` to sizeof(rondoPrediction_t) before the call; of a
 * smaller one only its fields are written. Since 0.4. */
typedef struct rondoPrediction_t {
  size_t size;              /**< Of the caller's struct. */
  uint64_t calls;           /**< Calls so far; a group's joined calls are one. */
  uint64_t picoseconds;     /**< Their predicted time, one after the other. */
  uint64_t lastPicoseconds; /**< Of the last call. */
  uint64_t lastBytes;       /**< Of the last call: all slots of its larger buffer together; of sends
                               and receives all of them. */
  uint64_t planningNanoseconds; /**< Real time that the calls took here. */
  char lastCall[32];            /**< "rondoAllReduce"; "" before the first. */
  char lastAlgorithm[32]; /**< "ring"; "p2p" for sends and receives, "none" where nothing moves. */
  char comm[32];          /**< The communicator's name, as far as there is room. Since 0.8. */
} rondoPrediction_t;

/**
 * The predicted time of the calls so far on a virtual communicator, without those on others that
 * were made of it. Local. Since 0.4. Errors: rondoInvalidArgument (NULL, prediction->size),
 * rondoInvalidUsage (`comm` is not virtual).
 */
RONDO_API rondoResult_t rondoCommGetPrediction(rondoComm_t comm, rondoPrediction_t* prediction);

/**
 * rondoCommSplit of a virtual communicator, where `rule` says what every rank of it gives: a color,
 * and after a comma a key, which is equal for all if left out. They are whole numbers computed with
 * + - * / % < > == and brackets (< > == are 1 or 0) of `rank` and `size` of the communicator,
 * `host`, the number of the rank's host among the communicator's, and `local`, the rank's number on
 * it: "rank / 8", "local", "rank % 4, size - rank", "(rank < 6) - 1". Ranks of a negative color get
 * *newcomm = NULL. `config` may be NULL; what a child has of it, rondoCommInitVirtual says. Local.
 * Since 0.8. Errors: rondoInvalidArgument (NULL; a rule that cannot be read, or has no value for a
 * rank), rondoInvalidUsage (`comm` is not virtual, a group is open), rondoUnsupported
 * (config->blocking 0).
 */
RONDO_API rondoResult_t rondoCommSplitVirtual(rondoComm_t comm, const char* rule,
                                              rondoComm_t* newcomm, const rondoConfig_t* config);

#ifdef __cplusplus
}
#endif

#endif /* RONDO_VIRTUAL_H_ */

/* Of rondo.h: results, element types, operators and handles. */
#ifndef RONDO_TYPES_H_
#define RONDO_TYPES_H_

#include <stddef.h>
#include <stdint.h>

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
      5, /**< The call is wrong here: destroyed communicator, two threads, options that differ. */
  rondoRemoteError = 6,  /**< Another rank aborted or died. */
  rondoInProgress = 7,   /**< Not an error: a non-blocking operation has not finished. */
  rondoUnsupported = 32, /**< Meaningful, but not available in this build or on this machine. */
  rondoMpiError = 33,    /**< An MPI call failed; its name and text are in the sentence. */
  rondoOutOfMemory = 34, /**< Memory could not be had. */
  rondoMismatch = 35 /**< Ranks made different calls; the sentence names two of them and what each
                        called. Since 0.11. */
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

/** No device: the communicator works on host memory only. */
#define RONDO_DEVICE_NONE (-2)
/** Let Rondo choose: the current CUDA context's device, else local rank modulo visible devices,
 * else none. Where there are GPUs this makes a CUDA context, which takes some tenths of a second
 * and some hundred MiB of GPU memory: RONDO_DEVICE_NONE spares a program that has host buffers
 * only. */
#define RONDO_DEVICE_AUTO (-1)

/** Names a group of ranks while it forms. Opaque bytes, copied by value from one rank to all
 * others. */
#define RONDO_UNIQUE_ID_BYTES 128
typedef struct rondoUniqueId {
  char internal[RONDO_UNIQUE_ID_BYTES];
} rondoUniqueId;

/** A group that runs on by itself (rondoGroupEndAsync). */
typedef struct rondoRequest* rondoRequest_t;

#ifdef __cplusplus
}
#endif

#endif /* RONDO_TYPES_H_ */

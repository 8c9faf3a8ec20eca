#pragma once
// The binary interface of NCCL 2.28 as its documentation gives it: what unmodified programs call.

#include <climits>
#include <cstddef>

#define RONDO_NCCL_EXPORT __attribute__((visibility("default")))

extern "C" {

typedef struct CUstream_st* cudaStream_t;
typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;

typedef struct {
  char internal[128];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8
} ncclResult_t;

// Programs may pass any int for these three, and an enumeration that holds fewer values would make
// that undefined here.
typedef int ncclDataType_t;
typedef int ncclRedOp_t;
typedef int ncclScalarResidence_t;

// The caller's; fields that a program does not set have these values.
#define NCCL_CONFIG_UNDEF_INT INT_MIN
typedef struct {
  size_t size;  // sizeof, of the caller's header
  unsigned int magic;
  unsigned int version;  // coded as ncclGetVersion's
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;  // since 2.18; before, the struct ended with the field above
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
} ncclConfig_t;

typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  float estimatedTime;
} ncclSimInfo_t;

/// A set of ranks at equal distances, for code on the device.
typedef struct {
  int nRanks;
  int rank;
  int stride;
} ncclTeam_t;

}  // extern "C"

namespace rondo::nccl {

constexpr int kVersion = 22809;  ///< What ncclGetVersion answers: 2.28.9.
constexpr unsigned kConfigMagic = 0xcafebeef;
constexpr unsigned kSimInfoMagic = 0x74685283;
constexpr int kTypes = 12;           ///< Element types of NCCL: 0 to 11.
constexpr int kOwnOperators = 5;     ///< Operators that need not be made: 0 to 4.
constexpr int kPolicyZero = 2;       ///< NCCL_CTA_POLICY_ZERO; NCCL_CTA_POLICY_EFFICIENCY is 1.
constexpr int kSymmetricWindow = 1;  ///< NCCL_WIN_COLL_SYMMETRIC; NCCL_WIN_DEFAULT is 0.

}  // namespace rondo::nccl

/// Begins the definition of a call of the interface, which has two names as in NCCL's library:
/// profilers define ncclX before this one and call pncclX from there.
#define RONDO_NCCL_CALL(result, name, arguments)                                              \
  extern "C" RONDO_NCCL_EXPORT result p##name arguments;                                      \
  extern "C" RONDO_NCCL_EXPORT __attribute__((weak, alias("p" #name))) result name arguments; \
  result p##name arguments

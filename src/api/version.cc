// What the library is: its version, and the names of its results.

#include <string_view>

#include "api/comm_create.h"
#include "config.h"

#define RONDO_TEXT_(x) #x
#define RONDO_TEXT(x) RONDO_TEXT_(x)

// The header carries numbers, VERSION carries text; they must not drift apart.
static_assert(std::string_view(PACKAGE_VERSION) ==
                  RONDO_TEXT(RONDO_MAJOR) "." RONDO_TEXT(RONDO_MINOR) "." RONDO_TEXT(RONDO_PATCH),
              "VERSION and rondo.h name different versions");

rondoResult_t rondoGetVersion(int* version) {
  if (version == nullptr) {
    return rondo::fail(
        nullptr, rondoInvalidArgument,
        "rondoGetVersion: argument version is NULL; allowed: where to write the version");
  }
  *version = RONDO_VERSION_CODE;
  return rondoSuccess;
}

const char* rondoGetErrorString(rondoResult_t result) {
  switch (result) {
    case rondoSuccess:
      return "rondoSuccess";
    case rondoUnhandledCudaError:
      return "rondoUnhandledCudaError";
    case rondoSystemError:
      return "rondoSystemError";
    case rondoInternalError:
      return "rondoInternalError";
    case rondoInvalidArgument:
      return "rondoInvalidArgument";
    case rondoInvalidUsage:
      return "rondoInvalidUsage";
    case rondoRemoteError:
      return "rondoRemoteError";
    case rondoInProgress:
      return "rondoInProgress";
    case rondoUnsupported:
      return "rondoUnsupported";
    case rondoMpiError:
      return "rondoMpiError";
    case rondoOutOfMemory:
      return "rondoOutOfMemory";
    case rondoMismatch:
      return "rondoMismatch";
  }
  return "unknown result";
}

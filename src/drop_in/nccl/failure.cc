#include "drop_in/nccl/failure.h"

#include <mutex>

#include "drop_in/nccl/comm.h"
#include "drop_in/nccl/settings.h"

namespace rondo::nccl {
namespace {

thread_local std::string threadSentence;

/// The process's last sentence, for threads that had no failure of their own: watchdogs ask for it.
struct Shared {
  std::mutex mutex;
  std::string sentence;
};
Shared& shared() {
  static Shared* const one = new Shared;  // outlives every static
  return *one;
}

}  // namespace

ncclResult_t codeOf(rondoResult_t result) {
  switch (result) {
    case rondoUnsupported:
    case rondoMismatch:
      return ncclInvalidUsage;
    case rondoMpiError:
    case rondoOutOfMemory:
      return ncclSystemError;
    default:
      return static_cast<ncclResult_t>(result);
  }
}

void note(const std::string& sentence) {
  {
    const std::lock_guard<std::mutex> lock(shared().mutex);
    shared().sentence = sentence;
  }
  threadSentence = sentence;
}

ncclResult_t fail(ncclComm_t comm, ncclResult_t code, const std::string& sentence) {
  logLine(Loud::Warn, sentence);
  if (comm != nullptr) comm->setSentence(sentence);
  note(sentence);
  return code;
}

ncclResult_t failAs(ncclComm_t comm, const char* name, rondoResult_t result) {
  return fail(comm, codeOf(result), format("%s: %s", name, rondoGetLastError(nullptr)));
}

const char* lastSentence() {
  if (!threadSentence.empty()) return threadSentence.c_str();
  thread_local std::string copy;
  const std::lock_guard<std::mutex> lock(shared().mutex);
  copy = shared().sentence;
  return copy.c_str();
}

}  // namespace rondo::nccl

RONDO_NCCL_CALL(const char*, ncclGetLastError, (ncclComm_t comm)) {
  if (comm != nullptr && comm->known()) {
    if (const char* own = comm->sentence(); *own != '\0') return own;
  }
  return rondo::nccl::lastSentence();
}

RONDO_NCCL_CALL(const char*, ncclGetErrorString, (ncclResult_t result)) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (ncclGetLastError and NCCL_DEBUG=WARN say more)";
    case ncclSystemError:
      return "unhandled system error (ncclGetLastError and NCCL_DEBUG=WARN say more)";
    case ncclInternalError:
      return "internal error of Rondo (ncclGetLastError and NCCL_DEBUG=WARN say more)";
    case ncclInvalidArgument:
      return "invalid argument (ncclGetLastError and NCCL_DEBUG=WARN say more)";
    case ncclInvalidUsage:
      return "invalid usage (ncclGetLastError and NCCL_DEBUG=WARN say more)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

#pragma once
// The handle behind ncclComm_t: Rondo's communicator, and what NCCL's interface wants beside it.

#include <atomic>
#include <mutex>
#include <string>

#include "api/rondo.h"
#include "drop_in/nccl/abi.h"
#include "drop_in/nccl/driver.h"
#include "drop_in/nccl/streams.h"

/// Handles are used again much later, never freed, so that a call on a destroyed one can say so.
struct ncclComm {
  enum Word : uint32_t {
    kDead = 0x64656164,
    kReady = 0x72656479,
    kBusy = 0x62757379,  ///< Being made, or an operation on it runs on a thread of the library.
    kFailed = 0x6661696c,
  };
  std::atomic<uint32_t> word{kDead};

  /// An abort takes it away beside other threads' calls.
  std::atomic<rondoComm_t> inner{nullptr};
  bool blocking = true;
  std::atomic<bool> unwanted{false};  ///< Aborted while busy: the thread that has it frees it.
  std::atomic<bool> finalized{false};
  rondo::nccl::Place place;
  rondo::nccl::StreamOrder order;

  /// Not destroyed, whatever else.
  bool known() const { return word.load(std::memory_order_acquire) != kDead; }
  void setSentence(const std::string& text);
  void setCause(const std::string& text);
  /// A copy for the calling thread, valid until its next question.
  const char* sentence();

  std::mutex mutex;  ///< Guards what follows, and changes of `word`.
  /// Of kFailed; else of the last operation in the background.
  ncclResult_t failure = ncclSuccess;
  std::string text;   ///< Of the last failure of any call.
  std::string cause;  ///< Of `failure`, or of the end that ncclCommGetAsyncError tells of.
  bool told = false;  ///< The cause is in the log.
};

namespace rondo::nccl {

/// A new handle, busy.
ncclComm* makeHandle(bool blocking, const Place& place);
/// Makes it busy, which it is not yet; else records why it cannot be used.
ncclResult_t holdHandle(ncclComm* comm, const char* name);
/// An operation on it in the background failed: ncclCommGetAsyncError says so until the next one
/// begins. The sentence is the calling thread's last.
void noteFailure(ncclComm* comm, ncclResult_t result);
/// The operation that made it busy is over; `inner` may be nullptr where that failed. False: it was
/// aborted meanwhile, and is gone.
bool finishHandle(ncclComm* comm, rondoComm_t inner, ncclResult_t result);
/// Takes the handle out of use; what it held is the caller's. `inCalls`: other threads may be in
/// calls on it.
void retireHandle(ncclComm* comm, bool inCalls = false);

/// Why `comm` cannot be used, recorded.
ncclResult_t refuse(ncclComm_t comm, const char* name);

/// ncclSuccess if collectives and questions may be asked of `comm`.
inline ncclResult_t usable(ncclComm_t comm, const char* name) {
  if (comm != nullptr && comm->word.load(std::memory_order_acquire) == ncclComm::kReady) [[likely]]
    return ncclSuccess;
  return refuse(comm, name);
}

}  // namespace rondo::nccl

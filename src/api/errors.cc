// The sentences behind rondoGetLastError, and the C boundary.

#include <exception>

#include "api/comm_create.h"
#include "api/handle.h"
#include "base/error.h"
#include "base/of_thread.h"

namespace rondo {
namespace {

std::string& threadError() { return ofThread<std::string, struct OfErrors>(); }

}  // namespace

rondoResult_t fail(rondoComm* comm, rondoResult_t code, std::string sentence) {
  if (comm != nullptr) comm->noteError(sentence);
  threadError() = std::move(sentence);
  return code;
}

namespace {

/// What is being thrown, as a failure of `call`.
rondoResult_t failed(rondoComm* comm, const char* call) {
  try {
    throw;
  } catch (const std::exception& error) {
    const std::string sentence = sentenceOf(error);
    const bool named = sentence.rfind(call, 0) == 0;
    return fail(comm, resultOf(error), named ? sentence : std::string(call) + ": " + sentence);
  }
}

}  // namespace

rondoResult_t caught(rondoComm* comm, const char* call) noexcept {
  try {
    return failed(comm, call);
  } catch (...) {  // there is no memory for the sentence either
    return rondoOutOfMemory;
  }
}

rondoResult_t guarded(rondoComm* comm, const char* call, const std::function<void()>& body) {
  try {
    body();
    return rondoSuccess;
  } catch (...) {
    return caught(comm, call);
  }
}

}  // namespace rondo

const char* rondoGetLastError(rondoComm_t comm) {
  const uint32_t state =
      comm == nullptr ? rondoComm::kDead : comm->state.load(std::memory_order_acquire);
  const bool has =
      state == rondoComm::kAlive || state == rondoComm::kFinalized || state == rondoComm::kUnmade;
  if (!has) return rondo::threadError().c_str();
  thread_local std::string copy;  // its own may be written by another thread
  copy = comm->notedError();
  return copy.c_str();
}

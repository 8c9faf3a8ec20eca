// The sentences behind rondoGetLastError, and the C boundary.

#include <exception>
#include <new>
#include <stdexcept>

#include "api/comm_create.h"
#include "api/handle.h"
#include "base/error.h"

namespace rondo {
namespace {

std::string& threadError() {
  thread_local std::string sentence;
  return sentence;
}

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
  } catch (const Error& error) {
    const std::string& sentence = error.sentence();
    const bool named = sentence.rfind(call, 0) == 0;
    return fail(comm, error.code(), named ? sentence : std::string(call) + ": " + sentence);
  } catch (const std::bad_alloc&) {
    return fail(comm, rondoOutOfMemory, std::string(call) + ": out of memory");
  } catch (const std::invalid_argument& error) {
    return fail(comm, rondoInvalidArgument, std::string(call) + ": " + error.what());
  } catch (const std::exception& error) {
    return fail(comm, rondoInternalError, std::string(call) + ": " + error.what());
  }
}

}  // namespace

rondoResult_t guarded(rondoComm* comm, const char* call, const std::function<void()>& body) {
  try {
    body();
    return rondoSuccess;
  } catch (...) {
    try {
      return failed(comm, call);
    } catch (...) {  // there is no memory for the sentence either
      return rondoOutOfMemory;
    }
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

#pragma once
// How failures leave the library: NCCL's code, and a sentence behind ncclGetLastError and in the
// log.

#include <string>

#include "api/rondo.h"
#include "base/error.h"
#include "drop_in/nccl/abi.h"

namespace rondo::nccl {

/// NCCL's code for Rondo's.
ncclResult_t codeOf(rondoResult_t result);

/// Notes the sentence for the calling thread, for the process and for `comm` (may be nullptr),
/// writes it to the log, and returns `code`.
ncclResult_t fail(ncclComm_t comm, ncclResult_t code, const std::string& sentence);

/// Notes the sentence for the calling thread and for the process, as somebody asks what became of a
/// communicator.
void note(const std::string& sentence);

/// What Rondo's last call on the calling thread failed with: `name` is that of NCCL's call.
ncclResult_t failAs(ncclComm_t comm, const char* name, rondoResult_t result);

/// The calling thread's last sentence; if it has none, the process's.
const char* lastSentence();

/// Runs what may throw; nothing leaves a C function.
template <class Body>
ncclResult_t guarded(const char* name, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    return fail(nullptr, codeOf(error.code()), std::string(name) + ": " + error.sentence());
  } catch (const std::exception& error) {
    return fail(nullptr, ncclSystemError, std::string(name) + ": " + error.what());
  }
}

}  // namespace rondo::nccl

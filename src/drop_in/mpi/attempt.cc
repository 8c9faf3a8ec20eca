#include "drop_in/mpi/attempt.h"

#include <iterator>
#include <new>
#include <string>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/types.h"

namespace rondo::drop_in {

bool Attempt::isSmall(long long count, MPI_Datatype type) {
  if (devicesOn) [[unlikely]]
    return false;
  if (!open()) return true;
  const TypeRow* const row = predefined(type);
  if (row == nullptr || count < 0 || static_cast<size_t>(count) * row->size >= leastLater) {
    return false;
  }
  return !need(false, Why::Small);
}

/// A failure is the communicator's, and told by the call that this is a part of.
bool Attempt::sum(MeasuredChoice::Times* times) const {
  const MeasuredChoice::Times mine = *times;
  return rondoAllReduce(mine.of, times->of, std::size(mine.of), rondoUint64, rondoSum, known_.rondo,
                        nullptr) == rondoSuccess;
}

void Attempt::abort() {
  if (rehearsing) flushTransfers();
  if (known_.aborted.exchange(true)) return;
  known_.devices.abort();
  rondoCommAbort(known_.rondo);
}

int Attempt::refused() {
  done();
  return raise(comm_, rondoRemoteError,
               std::string(name(call_)) + ": an earlier error has ended the communicator");
}

int Attempt::failed(rondoResult_t result) {
  const std::string sentence = rondoGetLastError(nullptr);
  // An argument that Rondo refuses, such as buffers that overlap: the others have called already.
  if (result == rondoInvalidArgument) abort();
  done();
  return raise(comm_, result, std::string(name(call_)) + ": " + sentence);
}

/// Kernels of other ranks may wait for this one's.
int Attempt::failedOnDevices(rondoResult_t result) {
  const std::string sentence = rondoGetLastError(nullptr);
  abort();
  done();
  return raise(comm_, result, std::string(name(call_)) + ": on device memory: " + sentence);
}

int Attempt::caught(const std::exception_ptr& thrown) {
  rondoResult_t result = rondoInternalError;
  std::string sentence = "unknown exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    result = error.code();
    sentence = error.sentence();
  } catch (const std::bad_alloc&) {
    result = rondoOutOfMemory;
    sentence = "no memory for a packed copy of a buffer";
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  abort();
  done();
  return raise(comm_, result, std::string(name(call_)) + ": " + sentence);
}

}  // namespace rondo::drop_in

#include "api/mpi_bootstrap.h"

#include <climits>
#include <cstring>

#include "base/error.h"

namespace rondo {

void checkMpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(rondoMpiError, format("%s failed: %s", what, text));
}

MpiBootstrap::MpiBootstrap(MPI_Comm comm) {
  checkMpi(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  try {
    // The duplicate inherits the application's error handler, which may be the one that aborts.
    checkMpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    checkMpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    checkMpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    shareSecret();
  } catch (...) {
    MPI_Comm_free(&comm_);
    throw;
  }
}

MpiBootstrap::~MpiBootstrap() { MPI_Comm_free(&comm_); }

// A rank 0 without random bits must not leave the others in the broadcast.
void MpiBootstrap::shareSecret() {
  struct {
    int32_t failed;
    Secret secret;
    char sentence[256];
  } word{};
  if (rank_ == 0) {
    try {
      word.secret = makeSecret();
    } catch (const Error& error) {
      word.failed = error.code();
      error.sentence().copy(word.sentence, sizeof word.sentence - 1);
    }
  }
  checkMpi(MPI_Bcast(&word, sizeof word, MPI_BYTE, 0, comm_), "MPI_Bcast");
  if (word.failed != 0) throw Error(static_cast<rondoResult_t>(word.failed), word.sentence);
  secret_ = word.secret;
}

void MpiBootstrap::allGather(const void* mine, size_t bytes, void* all) {
  if (bytes > INT_MAX) {
    throw Error(rondoInternalError, format("allGather of %zu bytes a rank", bytes));
  }
  const int count = static_cast<int>(bytes);
  checkMpi(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_), "MPI_Allgather");
}

void MpiBootstrap::idle() {
  int found = 0;
  checkMpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

}  // namespace rondo

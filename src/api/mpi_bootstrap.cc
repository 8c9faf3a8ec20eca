#include "api/mpi_bootstrap.h"

#include <sched.h>
#include <time.h>
#ifdef HAVE_MPI_ULFM
#include <mpi-ext.h>
#endif

#include <climits>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "p2p/interrupt.h"

namespace rondo {

namespace {

/// Whether MPI says that a rank has ended, or that somebody has revoked the communicator.
bool saysThatARankEnded([[maybe_unused]] int code) {
#ifdef HAVE_MPI_ULFM
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_PROC_FAILED_PENDING ||
         kind == MPIX_ERR_REVOKED;
#else
  return false;
#endif
}

}  // namespace

void checkMpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  if (saysThatARankEnded(code)) {
    throw Error(rondoRemoteError,
                format("%s failed: %s; allowed: a communicator without the ranks that ended, as "
                       "MPIX_Comm_shrink makes it",
                       what, text));
  }
  throw Error(rondoMpiError, format("%s failed: %s", what, text));
}

struct MpiBootstrap::Pending {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<char> mine, all;
};

namespace {

/// MPI cannot be told to forget a collective operation: what it may still write to stays.
template <class T>
void keepForever(std::unique_ptr<T> kept) {
  static std::mutex mutex;
  static auto* const all = new std::vector<std::unique_ptr<T>>;
  const std::lock_guard<std::mutex> lock(mutex);
  all->push_back(std::move(kept));
}

}  // namespace

MpiBootstrap::MpiBootstrap(MPI_Comm comm) {
  checkMpi(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
  settle();
}

// Not MPI_Comm_idup: one that is never completed on some rank, for it was aborted, makes Open MPI
// 4.1 mix up those that follow on the same communicator.
MpiBootstrap::MpiBootstrap(MPI_Comm comm, Begin) : polls_(true) {
  checkMpi(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
}

void MpiBootstrap::finish() { settle(); }

void MpiBootstrap::settle() {
  try {
    // The duplicate inherits the application's error handler, which may be the one that aborts.
    checkMpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    checkMpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    checkMpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    shareSecret();
  } catch (...) {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    throw;
  }
}

MpiBootstrap::~MpiBootstrap() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

/// Waits for the request without blocking in MPI.
void MpiBootstrap::complete(std::unique_ptr<Pending>& pending) {
  constexpr int kYields = 1000;
  for (int i = 0;; ++i) {
    int done = 0;
    checkMpi(MPI_Test(&pending->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) return;
    if (BootWait::interrupted()) {
      comm_ = MPI_COMM_NULL;
      keepForever(std::move(pending));
      throw Error(rondoRemoteError, "rondoCommAbort was called while the communicator was made");
    }
    const timespec nap{0, 100000};
    i < kYields ? sched_yield() : nanosleep(&nap, nullptr);
  }
}

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
  if (polls_) {
    std::vector<decltype(word)> all(static_cast<size_t>(size_));
    allGather(&word, sizeof word, all.data());
    word = all[0];
  } else {
    checkMpi(MPI_Bcast(&word, sizeof word, MPI_BYTE, 0, comm_), "MPI_Bcast");
  }
  if (word.failed != 0) throw Error(static_cast<rondoResult_t>(word.failed), word.sentence);
  secret_ = word.secret;
}

void MpiBootstrap::allGather(const void* mine, size_t bytes, void* all) {
  if (bytes > INT_MAX) {
    throw Error(rondoInternalError, format("allGather of %zu bytes a rank", bytes));
  }
  const int count = static_cast<int>(bytes);
  if (polls_) {
    auto pending = std::make_unique<Pending>();
    const char* const begin = static_cast<const char*>(mine);
    pending->mine.assign(begin, begin + bytes);
    pending->all.resize(bytes * static_cast<size_t>(size_));
    checkMpi(MPI_Iallgather(pending->mine.data(), count, MPI_BYTE, pending->all.data(), count,
                            MPI_BYTE, comm_, &pending->request),
             "MPI_Iallgather");
    complete(pending);
    std::memcpy(all, pending->all.data(), pending->all.size());
    return;
  }
  checkMpi(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_), "MPI_Allgather");
}

void MpiBootstrap::idle() {
  if (BootWait::interrupted()) {
    throw Error(rondoRemoteError, "rondoCommAbort was called while the communicator was made");
  }
  int found = 0;
  checkMpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

}  // namespace rondo

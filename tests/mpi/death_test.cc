// Under mpirun --enable-recovery: one rank kills itself; the others get an error that names it, go
// on without it and without MPI, and each says so in one line.

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "rondo_mpi.h"

namespace {

constexpr int kVictim = 1;
constexpr int kCalls = 50;  // on a crowded machine each takes a time slice of every other process

int fail(int rank, const char* what, rondoComm_t comm) {
  std::printf("rank %d: %s: %s\n", rank, what, rondoGetLastError(comm));
  std::fflush(stdout);
  _exit(1);
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// By how much longer short sleeps of this process took than they should, up to now: as long as
/// that the machine was busy elsewhere, which no limit of time counts.
class Lateness {
 public:
  Lateness() {
    std::thread([this] {
      constexpr double kNap = 0.02, kUsual = 0.01;
      for (double before = seconds();;) {
        std::this_thread::sleep_for(std::chrono::duration<double>(kNap));
        const double now = seconds(), late = now - before - kNap;
        if (late > kUsual) sum_ = sum_ + late;
        before = now;
      }
    }).detach();
  }
  double sum() const { return sum_; }

 private:
  std::atomic<double> sum_{0};
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rondoComm_t comm = nullptr, rest = nullptr;
  int rank = -1, size = 0, left = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rondoCommFromMPI(MPI_COMM_WORLD, &comm) != rondoSuccess) {
    fail(rank, "rondoCommFromMPI", nullptr);
  }
  static Lateness lateness;
  rondoResult_t result = rondoSuccess;
  double last = 0, late = 0;
  for (int call = 0; result == rondoSuccess; ++call) {
    if (rank == kVictim && call == kCalls) kill(getpid(), SIGKILL);
    last = seconds();
    late = lateness.sum();
    const int one = 1;
    int sum = 0;
    result = rondoAllReduce(&one, &sum, 1, rondoInt32, rondoSum, comm, nullptr);
    if (result == rondoSuccess && sum != size) fail(rank, "a wrong sum", comm);
  }
  const double waited = seconds() - last;
  if (waited - (lateness.sum() - late) > 1) fail(rank, "the error came late", comm);
  if (result != rondoRemoteError || std::strstr(rondoGetLastError(comm), "rank 1 (") == nullptr) {
    fail(rank, "not the expected error", comm);
  }
  const double start = seconds();
  late = lateness.sum();
  if (rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT) != rondoSuccess) {
    fail(rank, "rondoCommShrink", comm);
  }
  const double shrunk = seconds() - start;
  if (shrunk - (lateness.sum() - late) > 1) fail(rank, "the shrink took long", comm);
  int sum = 0;
  rondoCommCount(rest, &left);
  if (rondoAllReduce(&rank, &sum, 1, rondoInt32, rondoSum, rest, nullptr) != rondoSuccess ||
      sum != size * (size - 1) / 2 - kVictim || left != size - 1) {
    fail(rank, "the all-reduce of the survivors", rest);
  }
  std::printf("survivor: error after %.3f s, shrunk to %d in %.3f s: %s\n", waited, left, shrunk,
              rondoGetLastError(comm));
  std::fflush(stdout);
  rondoBarrier(rest, nullptr);
  _exit(0);  // MPI_Finalize would wait for the dead
}

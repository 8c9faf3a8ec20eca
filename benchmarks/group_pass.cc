// What a group of small all-reduces costs, against one after the other and against MPI's
// non-blocking ones. Run it under mpirun; rank 0 prints one row for each number of calls and size:
// microseconds for all calls, the least of several repetitions.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "api/rondo.h"
#include "api/rondo_mpi.h"

namespace {

constexpr int kRepetitions = 7;
/// Bytes that one repetition moves, about.
constexpr size_t kBytesPerRepetition = 16u << 20;
constexpr int kMostIterations = 2000;

void check(rondoResult_t result) {
  if (result == rondoSuccess) return;
  std::fprintf(stderr, "group_pass: %s\n", rondoGetLastError(nullptr));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// `calls` all-reduces of `bytes` each, in buffers that do not touch each other.
class Calls {
 public:
  Calls(rondoComm_t comm, size_t calls, size_t bytes)
      : comm_(comm),
        in_(calls, std::vector<float>(bytes / sizeof(float), 1.0f)),
        out_(in_),
        requests_(calls) {}

  void plain() {
    for (size_t i = 0; i < in_.size(); ++i) {
      check(rondoAllReduce(in_[i].data(), out_[i].data(), in_[i].size(), rondoFloat32, rondoSum,
                           comm_, nullptr));
    }
  }
  void grouped() {
    check(rondoGroupStart());
    plain();
    check(rondoGroupEnd());
  }
  void requested() {
    rondoRequest_t request = nullptr;
    check(rondoGroupStart());
    plain();
    check(rondoGroupEndAsync(&request));
    check(rondoWait(&request));
  }
  void mpi() {
    for (size_t i = 0; i < in_.size(); ++i) {
      MPI_Iallreduce(in_[i].data(), out_[i].data(), static_cast<int>(in_[i].size()), MPI_FLOAT,
                     MPI_SUM, MPI_COMM_WORLD, &requests_[i]);
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  rondoComm_t comm_;
  std::vector<std::vector<float>> in_, out_;
  std::vector<MPI_Request> requests_;
};

double microseconds(int iterations, const std::function<void()>& body) {
  body();
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) body();
  return (MPI_Wtime() - begin) / iterations * 1e6;
}

void row(rondoComm_t comm, bool prints, size_t calls, size_t bytes) {
  Calls all(comm, calls, bytes);
  const size_t fit = kBytesPerRepetition / (calls * bytes);
  const int iterations = static_cast<int>(std::clamp<size_t>(fit, 10, kMostIterations));
  const std::function<void()> ways[] = {[&all] { all.plain(); }, [&all] { all.grouped(); },
                                        [&all] { all.requested(); }, [&all] { all.mpi(); }};
  double least[4] = {};
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    for (size_t way = 0; way < 4; ++way) {
      const double usec = microseconds(iterations, ways[way]);
      least[way] = repetition == 0 ? usec : std::min(least[way], usec);
    }
  }
  if (!prints) return;
  std::printf("%8zu %8zu %12.2f %12.2f %12.2f %12.2f\n", calls, bytes, least[0], least[1], least[2],
              least[3]);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rondoComm_t comm = nullptr;
  check(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr));
  if (rank == 0) std::puts("   calls    bytes   one by one        group      request Iallreduces");
  for (const size_t calls : {2, 8, 64}) {
    for (const size_t bytes : {8, 1024, 4096, 16384, 65536}) row(comm, rank == 0, calls, bytes);
  }
  check(rondoCommDestroy(comm));
  MPI_Finalize();
  return 0;
}

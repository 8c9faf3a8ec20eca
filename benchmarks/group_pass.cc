// What a group of small collectives costs, against one after the other and against MPI's
// non-blocking ones: all-reduces, then all-reduces, broadcasts, reduces, scans and all-gathers in
// turn. Run it under mpirun; rank 0 prints one row for each number of calls and size: microseconds
// for all calls, the least of several repetitions.

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

/// `calls` collectives of `bytes` each, in buffers that do not touch each other.
class Calls {
 public:
  Calls(rondoComm_t comm, size_t calls, size_t bytes, bool mixed)
      : comm_(comm),
        mixed_(mixed),
        in_(calls, std::vector<float>(bytes / sizeof(float), 1.0f)),
        out_(in_),
        requests_(calls) {
    int ranks = 0;
    check(rondoCommCount(comm, &ranks));
    for (size_t i = 4; mixed && i < calls; i += kKinds) {
      out_[i].resize(in_[i].size() * static_cast<size_t>(ranks));
    }
  }

  void plain() {
    for (size_t i = 0; i < in_.size(); ++i) check(call(i));
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
    for (size_t i = 0; i < in_.size(); ++i) mpiCall(i);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  static constexpr size_t kKinds = 5;

  rondoResult_t call(size_t i) {
    const float* in = in_[i].data();
    float* out = out_[i].data();
    const size_t n = in_[i].size();
    switch (mixed_ ? i % kKinds : 0) {
      case 0:
        return rondoAllReduce(in, out, n, rondoFloat32, rondoSum, comm_, nullptr);
      case 1:
        return rondoBroadcast(out, out, n, rondoFloat32, 0, comm_, nullptr);
      case 2:
        return rondoReduce(in, out, n, rondoFloat32, rondoMax, 0, comm_, nullptr);
      case 3:
        return rondoScan(in, out, n, rondoFloat32, rondoSum, comm_, nullptr);
      default:
        return rondoAllGather(in, out, n, rondoFloat32, comm_, nullptr);
    }
  }
  void mpiCall(size_t i) {
    const float* in = in_[i].data();
    float* out = out_[i].data();
    const int n = static_cast<int>(in_[i].size());
    MPI_Request* request = &requests_[i];
    switch (mixed_ ? i % kKinds : 0) {
      case 0:
        MPI_Iallreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request);
        return;
      case 1:
        MPI_Ibcast(out, n, MPI_FLOAT, 0, MPI_COMM_WORLD, request);
        return;
      case 2:
        MPI_Ireduce(in, out, n, MPI_FLOAT, MPI_MAX, 0, MPI_COMM_WORLD, request);
        return;
      case 3:
        MPI_Iscan(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request);
        return;
      default:
        MPI_Iallgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD, request);
    }
  }

  rondoComm_t comm_;
  bool mixed_;
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

void row(rondoComm_t comm, bool prints, size_t calls, size_t bytes, bool mixed) {
  Calls all(comm, calls, bytes, mixed);
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
  for (const bool mixed : {false, true}) {
    if (rank == 0) {
      std::puts(mixed ? "five kinds in turn" : "all-reduces");
      std::puts("   calls    bytes   one by one        group      request          MPI");
    }
    for (const size_t calls : {2, 8, 64}) {
      for (const size_t bytes : {8, 64, 256, 1024, 4096, 16384, 65536}) {
        row(comm, rank == 0, calls, bytes, mixed);
      }
    }
  }
  check(rondoCommDestroy(comm));
  MPI_Finalize();
  return 0;
}

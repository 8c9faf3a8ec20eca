// Non-blocking collectives of a program that computes and only now and then calls MPI_Test: by the
// MPI_ names, which the layer before MPI sees, beside the PMPI_ names, which MPI does, in turn.
// Usage: mpirun -n 2 -x LD_PRELOAD=librondo_mpi.so drop_in_tested [MICROSECONDS [BYTES...]]
// The microseconds (1000) are those of the computing between two tests when nothing else has the
// core: it is counted in steps, so that it takes longer where a thread of the library's takes turns
// with it. What is shown is how long it took from the call to the test that finds it done, and how
// many tests that took. Floats; the bytes are those of a rank's block, of the whole vector in
// reductions and broadcasts. What arrives is compared.

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "drop_in_turns.h"

using namespace drop_in_bench;

namespace {

const MPI_Comm kWorld = MPI_COMM_WORLD;
const MPI_Datatype kFloat = MPI_FLOAT;
constexpr int kRounds = 41;
constexpr int kFirst = 256;  // calls before, in which the layer may find out who is quicker
constexpr int kStepsAtOnce = 1000;

/// Work of a known length.
class Computing {
 public:
  explicit Computing(double microseconds) {
    constexpr double kLook = 0.05;
    MPI_Barrier(kWorld);
    const double begin = PMPI_Wtime();
    int64_t turns = 0;
    for (; PMPI_Wtime() - begin < kLook; ++turns) steps();
    turns_ = std::max(
        int64_t{1}, static_cast<int64_t>(microseconds * 1e-6 / kLook * static_cast<double>(turns)));
  }
  void operator()() {
    for (int64_t turn = 0; turn < turns_; ++turn) steps();
  }

 private:
  void steps() {
    for (int k = 0; k < kStepsAtOnce; ++k) value_ = value_ + k;
  }
  volatile double value_ = 0;
  int64_t turns_ = 1;
};

struct Times {
  std::vector<double> seconds;
  int tests = 0;
  double at(double part) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[static_cast<size_t>(part * static_cast<double>(seconds.size() - 1))] * 1e6;
  }
};

class Size {
 public:
  Size(size_t bytes, Computing& computing)
      : bytes_(bytes),
        n_(static_cast<int>(bytes / sizeof(float))),
        in_(bytes / sizeof(float) * static_cast<size_t>(ranks)),
        computing_(computing) {
    std::mt19937 random(static_cast<unsigned>(rank) + 1);
    for (float& value : in_) value = static_cast<float>(random() % 1024);  // sums are exact
    for (auto& out : out_) out.resize(in_.size());
  }

  void all() {
    row("iallreduce", MPI_Iallreduce, PMPI_Iallreduce, [this](auto f, float* r, MPI_Request* q) {
      f(in_.data(), r, n_, kFloat, MPI_SUM, kWorld, q);
    });
    row("ibcast", MPI_Ibcast, PMPI_Ibcast, [this](auto f, float* r, MPI_Request* q) {
      if (rank == 0) std::copy_n(in_.data(), n_, r);
      f(r, n_, kFloat, 0, kWorld, q);
    });
    row("iallgather", MPI_Iallgather, PMPI_Iallgather, [this](auto f, float* r, MPI_Request* q) {
      f(in_.data(), n_, kFloat, r, n_, kFloat, kWorld, q);
    });
    row("ialltoall", MPI_Ialltoall, PMPI_Ialltoall, [this](auto f, float* r, MPI_Request* q) {
      f(in_.data(), n_, kFloat, r, n_, kFloat, kWorld, q);
    });
  }

 private:
  template <class Function, class Test, class Call>
  void once(Function begin, Test test, const Call& call, int which, Times& times) {
    MPI_Barrier(kWorld);
    const double start = PMPI_Wtime();
    MPI_Request request;
    call(begin, out_[which].data(), &request);
    for (int done = 0; done == 0;) {
      computing_();
      test(&request, &done, MPI_STATUS_IGNORE);
      ++times.tests;
    }
    times.seconds.push_back(PMPI_Wtime() - start);
  }

  template <class Function, class Call>
  void row(const char* name, Function layer, Function mpi, const Call& call) {
    Times first, ours, theirs;
    for (int n = 0; n < kFirst; ++n) once(layer, MPI_Test, call, 0, first);
    for (int round = 0; round < kRounds; ++round) {
      once(layer, MPI_Test, call, 0, ours);
      once(mpi, PMPI_Test, call, 1, theirs);
    }
    if (out_[0] != out_[1]) {
      std::fprintf(stderr, "%s of %zu bytes: rank %d has other results\n", name, bytes_, rank);
      MPI_Abort(kWorld, 1);
    }
    if (rank != 0) return;
    std::printf("%-11s %9zu %9.0f %9.0f %9.0f %6.1f %9.0f %9.0f %9.0f %6.1f %7.2f\n", name, bytes_,
                ours.at(0.25), ours.at(0.5), ours.at(0.75), 1.0 * ours.tests / kRounds,
                theirs.at(0.25), theirs.at(0.5), theirs.at(0.75), 1.0 * theirs.tests / kRounds,
                ours.at(0.5) / theirs.at(0.5));
    std::fflush(stdout);
  }

  const size_t bytes_;
  const int n_;
  std::vector<float> in_, out_[2];
  Computing& computing_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(kWorld, &rank);
  MPI_Comm_size(kWorld, &ranks);
  Computing computing(argc > 1 ? std::strtod(argv[1], nullptr) : 1000);
  std::vector<size_t> sizes = {65536, 1 << 20, 4 << 20};
  if (argc > 2) sizes.clear();
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoul(argv[i], nullptr, 10));
  if (rank == 0) {
    std::printf("%-11s %9s %36s %36s\n%21s %9s %9s %9s %6s %9s %9s %9s %6s %7s\n", "", "bytes",
                "MPI_, us", "PMPI_, us", "", "quarter", "median", "3/4", "tests", "quarter",
                "median", "3/4", "tests", "ratio");
  }
  for (const size_t bytes : sizes) Size(bytes, computing).all();
  MPI_Finalize();
}

// What the layer before MPI gives: every collective by its MPI_ name, which the layer sees, beside
// its PMPI_ name, which MPI does, in turn in one process, blocking, non-blocking and persistent.
// Usage: mpirun -n 2 -x LD_PRELOAD=librondo_mpi.so drop_in_sizes [BYTES...]
// "slower": by more than 3 % and 50 ns. "short": over 0.77 of MPI's time, from 64 KiB up. Floats;
// the bytes are those of a rank's block, of the whole vector in reductions and broadcasts.

#include <mpi.h>
#if MPI_VERSION < 4 && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <cstdio>
#include <cstdlib>

#include "drop_in_turns.h"

using namespace drop_in_bench;

namespace {

const MPI_Comm kWorld = MPI_COMM_WORLD;
const MPI_Datatype kFloat = MPI_FLOAT;
int slower = 0, shortOnes = 0, all = 0;

void report(const char* name, size_t bytes, double layer, double mpi) {
  ++all;
  const bool isSlower = layer > 1.03 * mpi && layer > mpi + 50e-9;
  const bool isShort = bytes >= (size_t{64} << 10) && layer > 0.77 * mpi;
  slower += isSlower;
  shortOnes += isShort;
  std::printf("%-22s %9zu %12.2f %12.2f %8.2f%s%s\n", name, bytes, layer * 1e6, mpi * 1e6,
              layer / mpi, isSlower ? " slower" : "", isShort ? " short" : "");
  std::fflush(stdout);
}

/// Every collective with blocks of one size.
class Size {
 public:
  explicit Size(size_t bytes)
      : bytes_(bytes),
        n_(static_cast<int>(bytes / sizeof(float))),
        in_(static_cast<size_t>(n_) * static_cast<size_t>(ranks) + 16, 1),
        out_(in_.size()),
        counts_(static_cast<size_t>(ranks), n_),
        shares_(static_cast<size_t>(ranks), std::max(1, n_ / ranks)),
        s_(in_.data()),
        r_(out_.data()),
        c_(counts_.data()) {
    for (int rank = 0; rank < ranks; ++rank) places_.push_back(rank * n_);
    d_ = places_.data();
  }
  void all() {
    reductions();
    movements();
    uneven();
    later();
    started();
  }

 private:
  void row(const char* name, const Run& layer, const Run& mpi) const {
    const int batch = static_cast<int>(std::max<size_t>(1, (size_t{1} << 18) / (bytes_ + 1024)));
    const int rounds = bytes_ > (1u << 20) ? 9 : 21;
    const std::vector<double> seconds = compare({layer, mpi}, batch, rounds);
    if (rank == 0) report(name, bytes_, seconds[0], seconds[1]);
  }
  /// `call` makes one with the function that it is given.
  template <class Function, class Call>
  void both(const char* name, Function layer, Function mpi, const Call& call) const {
    row(
        name, [&] { call(layer); }, [&] { call(mpi); });
  }
  template <class Function, class Call>
  void later(const char* name, Function layer, Function mpi, const Call& call) const {
    const auto whole = [&](Function begin, auto wait) {
      MPI_Request request;
      call(begin, &request);
      wait(&request, MPI_STATUS_IGNORE);
    };
    row(
        name, [&] { whole(layer, MPI_Wait); }, [&] { whole(mpi, PMPI_Wait); });
  }
  template <class Function, class Call>
  void started(const char* name, Function layer, Function mpi, const Call& init) const {
    MPI_Request ours, theirs;
    init(layer, &ours);
    init(mpi, &theirs);
    const auto whole = [](MPI_Request* request, auto start, auto wait) {
      start(request);
      wait(request, MPI_STATUS_IGNORE);
    };
    row(
        name, [&] { whole(&ours, MPI_Start, MPI_Wait); },
        [&] { whole(&theirs, PMPI_Start, PMPI_Wait); });
    MPI_Request_free(&ours);
    PMPI_Request_free(&theirs);
  }
  void reductions() const;
  void movements() const;
  void uneven() const;
  void later() const;
  void started() const;

  const size_t bytes_;
  const int n_;
  std::vector<float> in_, out_;
  std::vector<int> counts_, shares_, places_;  ///< `shares_`: of the whole vector.
  float *const s_, *const r_;
  const int *const c_, *d_;
};

void Size::reductions() const {
  both("allreduce", MPI_Allreduce, PMPI_Allreduce,
       [this](auto f) { f(s_, r_, n_, kFloat, MPI_SUM, kWorld); });
  both("reduce", MPI_Reduce, PMPI_Reduce,
       [this](auto f) { f(s_, r_, n_, kFloat, MPI_SUM, 0, kWorld); });
  both("reduce_scatter_block", MPI_Reduce_scatter_block, PMPI_Reduce_scatter_block,
       [this](auto f) { f(s_, r_, shares_[0], kFloat, MPI_SUM, kWorld); });
  both("reduce_scatter", MPI_Reduce_scatter, PMPI_Reduce_scatter,
       [this](auto f) { f(s_, r_, shares_.data(), kFloat, MPI_SUM, kWorld); });
  both("scan", MPI_Scan, PMPI_Scan, [this](auto f) { f(s_, r_, n_, kFloat, MPI_SUM, kWorld); });
  both("exscan", MPI_Exscan, PMPI_Exscan,
       [this](auto f) { f(s_, r_, n_, kFloat, MPI_SUM, kWorld); });
}

void Size::movements() const {
  if (bytes_ == 8) both("barrier", MPI_Barrier, PMPI_Barrier, [](auto f) { f(kWorld); });
  both("bcast", MPI_Bcast, PMPI_Bcast, [this](auto f) { f(r_, n_, kFloat, 0, kWorld); });
  both("allgather", MPI_Allgather, PMPI_Allgather,
       [this](auto f) { f(s_, n_, kFloat, r_, n_, kFloat, kWorld); });
  both("gather", MPI_Gather, PMPI_Gather,
       [this](auto f) { f(s_, n_, kFloat, r_, n_, kFloat, 0, kWorld); });
  both("scatter", MPI_Scatter, PMPI_Scatter,
       [this](auto f) { f(s_, n_, kFloat, r_, n_, kFloat, 0, kWorld); });
  both("alltoall", MPI_Alltoall, PMPI_Alltoall,
       [this](auto f) { f(s_, n_, kFloat, r_, n_, kFloat, kWorld); });
}

void Size::uneven() const {
  both("allgatherv", MPI_Allgatherv, PMPI_Allgatherv,
       [this](auto f) { f(s_, n_, kFloat, r_, c_, d_, kFloat, kWorld); });
  both("gatherv", MPI_Gatherv, PMPI_Gatherv,
       [this](auto f) { f(s_, n_, kFloat, r_, c_, d_, kFloat, 0, kWorld); });
  both("scatterv", MPI_Scatterv, PMPI_Scatterv,
       [this](auto f) { f(s_, c_, d_, kFloat, r_, n_, kFloat, 0, kWorld); });
  both("alltoallv", MPI_Alltoallv, PMPI_Alltoallv,
       [this](auto f) { f(s_, c_, d_, kFloat, r_, c_, d_, kFloat, kWorld); });
}

void Size::later() const {
  using Q = MPI_Request*;
  later("iallreduce", MPI_Iallreduce, PMPI_Iallreduce,
        [this](auto f, Q q) { f(s_, r_, n_, kFloat, MPI_SUM, kWorld, q); });
  later("ireduce", MPI_Ireduce, PMPI_Ireduce,
        [this](auto f, Q q) { f(s_, r_, n_, kFloat, MPI_SUM, 0, kWorld, q); });
  later("ireduce_scatter_block", MPI_Ireduce_scatter_block, PMPI_Ireduce_scatter_block,
        [this](auto f, Q q) { f(s_, r_, shares_[0], kFloat, MPI_SUM, kWorld, q); });
  later("ireduce_scatter", MPI_Ireduce_scatter, PMPI_Ireduce_scatter,
        [this](auto f, Q q) { f(s_, r_, shares_.data(), kFloat, MPI_SUM, kWorld, q); });
  later("iscan", MPI_Iscan, PMPI_Iscan,
        [this](auto f, Q q) { f(s_, r_, n_, kFloat, MPI_SUM, kWorld, q); });
  later("iexscan", MPI_Iexscan, PMPI_Iexscan,
        [this](auto f, Q q) { f(s_, r_, n_, kFloat, MPI_SUM, kWorld, q); });
  if (bytes_ == 8)
    later("ibarrier", MPI_Ibarrier, PMPI_Ibarrier, [](auto f, Q q) { f(kWorld, q); });
  later("ibcast", MPI_Ibcast, PMPI_Ibcast,
        [this](auto f, Q q) { f(r_, n_, kFloat, 0, kWorld, q); });
  later("iallgather", MPI_Iallgather, PMPI_Iallgather,
        [this](auto f, Q q) { f(s_, n_, kFloat, r_, n_, kFloat, kWorld, q); });
  later("igather", MPI_Igather, PMPI_Igather,
        [this](auto f, Q q) { f(s_, n_, kFloat, r_, n_, kFloat, 0, kWorld, q); });
  later("iscatter", MPI_Iscatter, PMPI_Iscatter,
        [this](auto f, Q q) { f(s_, n_, kFloat, r_, n_, kFloat, 0, kWorld, q); });
  later("ialltoall", MPI_Ialltoall, PMPI_Ialltoall,
        [this](auto f, Q q) { f(s_, n_, kFloat, r_, n_, kFloat, kWorld, q); });
  later("iallgatherv", MPI_Iallgatherv, PMPI_Iallgatherv,
        [this](auto f, Q q) { f(s_, n_, kFloat, r_, c_, d_, kFloat, kWorld, q); });
  later("igatherv", MPI_Igatherv, PMPI_Igatherv,
        [this](auto f, Q q) { f(s_, n_, kFloat, r_, c_, d_, kFloat, 0, kWorld, q); });
  later("iscatterv", MPI_Iscatterv, PMPI_Iscatterv,
        [this](auto f, Q q) { f(s_, c_, d_, kFloat, r_, n_, kFloat, 0, kWorld, q); });
  later("ialltoallv", MPI_Ialltoallv, PMPI_Ialltoallv,
        [this](auto f, Q q) { f(s_, c_, d_, kFloat, r_, c_, d_, kFloat, kWorld, q); });
}

void Size::started() const {
#if MPI_VERSION < 4 && defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
  using Q = MPI_Request*;
  const MPI_Info none = MPI_INFO_NULL;
  started("allreduce, started", MPIX_Allreduce_init, PMPIX_Allreduce_init,
          [=, this](auto f, Q q) { f(s_, r_, n_, kFloat, MPI_SUM, kWorld, none, q); });
  started("bcast, started", MPIX_Bcast_init, PMPIX_Bcast_init,
          [=, this](auto f, Q q) { f(r_, n_, kFloat, 0, kWorld, none, q); });
  started("alltoall, started", MPIX_Alltoall_init, PMPIX_Alltoall_init,
          [=, this](auto f, Q q) { f(s_, n_, kFloat, r_, n_, kFloat, kWorld, none, q); });
#endif
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<size_t> sizes = {8, 1024, 16384, 65536, 262144, size_t{1} << 20};
  if (argc > 1) sizes.clear();
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoul(argv[i], nullptr, 10));
  if (rank == 0) {
    std::printf("%-22s %9s %12s %12s %8s\n", "", "bytes", "MPI_, us", "PMPI_, us", "ratio");
  }
  for (const size_t bytes : sizes) Size(bytes).all();
  if (rank == 0) {
    std::printf("%d rows, %d slower by more than 3 %% and 50 ns, %d over 0.77 from 64 KiB\n", all,
                slower, shortOnes);
  }
  MPI_Finalize();
}

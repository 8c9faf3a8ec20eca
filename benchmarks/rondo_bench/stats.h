#pragma once
// From every rank's times to the four numbers of a row.

#include <mpi.h>

#include <span>
#include <vector>

namespace rondo::bench {

/// How the ranks' times of one iteration become that iteration's time. Host collectives are
/// averaged, rooted ones too, as OSU does; device samples and several pairs take the slowest rank;
/// one pair's time is rank 0's.
enum class AcrossRanks { kMean, kMax, kFirst };

/// Microseconds. p50 and p99 are nearest-rank percentiles of the iterations' times. min and max are
/// over ranks and iterations (kMean) or over iterations (kMax, kFirst).
struct Summary {
  double min = 0;
  double p50 = 0;
  double p99 = 0;
  double max = 0;
};

/// The smallest value that at least `percent` % of `sorted` do not exceed.
double percentile(std::span<const double> sorted, double percent);

/// `times` holds all iterations of rank 0, then all of rank 1, and so on.
Summary summarize(std::span<const double> times, int ranks, AcrossRanks across);

/// Gathers every rank's `times` (equally many) on rank 0, where the result is valid.
Summary summarizeOverRanks(std::span<const double> times, AcrossRanks across, MPI_Comm comm);

/// OSU's overlap: 100 where the whole took no longer than the computation, 0 where communication
/// came on top.
double overlapPercent(double overall, double compute, double communication);

}  // namespace rondo::bench

#include "drop_in/mpi/stats.h"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdio>

#include "base/error.h"
#include "drop_in/mpi/comms.h"

namespace rondo::drop_in {
namespace {

/// Of one call and one reason: how often, and nanoseconds in all.
struct Cell {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> nanoseconds{0};
};
Cell cells[kCalls][kWhys];

struct Sum {
  uint64_t calls = 0;
  uint64_t nanoseconds = 0;
  double seconds() const { return static_cast<double>(nanoseconds) * 1e-9; }
};
using Sums = std::array<std::array<Sum, kWhys>, kCalls>;

Sums sumOverRanks() {
  Sums mine{}, all{};
  for (size_t call = 0; call < kCalls; ++call) {
    for (size_t why = 0; why < kWhys; ++why) {
      const Cell& cell = cells[call][why];
      mine[call][why] = {cell.calls.load(), cell.nanoseconds.load()};
    }
  }
  PMPI_Reduce(mine.data(), all.data(), static_cast<int>(sizeof mine / sizeof(uint64_t)),
              MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  return all;
}

std::string line(Call call, const std::array<Sum, kWhys>& sums) {
  Sum taken, passed;
  std::string whys;
  for (size_t why = 0; why < kWhys; ++why) {
    if (sums[why].calls == 0 && sums[why].nanoseconds == 0) continue;
    Sum& sum = isTaken(static_cast<Why>(why)) ? taken : passed;
    sum.calls += sums[why].calls;
    sum.nanoseconds += sums[why].nanoseconds;
    if (why == 0) continue;
    whys += format("%s%s %llu", whys.empty() ? "  " : ", ", text(static_cast<Why>(why)),
                   static_cast<unsigned long long>(sums[why].calls));
  }
  if (taken.calls + passed.calls == 0) return "";
  return format("rondo_mpi: %-25s %10llu %11.6f %10llu %11.6f%s\n", name(call),
                static_cast<unsigned long long>(taken.calls), taken.seconds(),
                static_cast<unsigned long long>(passed.calls), passed.seconds(), whys.c_str());
}

}  // namespace

void count(Call call, Why why, uint64_t nanoseconds) {
  if (why == Why::Inside) return;
  Cell& cell = cells[static_cast<size_t>(call)][static_cast<size_t>(why)];
  cell.calls.fetch_add(1, std::memory_order_relaxed);
  cell.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
}

void addTime(Call call, uint64_t nanoseconds) {
  cells[static_cast<size_t>(call)][static_cast<size_t>(Why::Taken)].nanoseconds.fetch_add(
      nanoseconds, std::memory_order_relaxed);
}

void printStats(const std::string& mode) {
  const Sums sums = sumOverRanks();
  int rank = 0, size = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0) return;
  std::string table = format(
      "rondo_mpi: %d ranks, RONDO_MPI=%s; calls and seconds are sums over the ranks\n"
      "rondo_mpi: %-25s %10s %11s %10s %11s  why\n",
      size, mode.c_str(), "call", "taken", "seconds", "passed on", "seconds");
  for (size_t call = 0; call < kCalls; ++call) table += line(static_cast<Call>(call), sums[call]);
  for (const std::string& sentence : refusals()) {
    table += "rondo_mpi: " + sentence + "\n";
  }
  std::fputs(table.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace rondo::drop_in

#include "drop_in/mpi/stats.h"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <vector>

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

/// Calls that are no collectives, of which those are counted that copied device memory.
struct Staged {
  std::mutex mutex;
  std::map<std::string, Sum> calls;
};
Staged& staged() {
  static Staged* const one = new Staged;  // outlives every static
  return *one;
}
thread_local bool insideStaged = false;

/// Ranks may have made other calls: each sends what it has as text, "MPI_Send 3 1200" and so on.
std::map<std::string, Sum> stagedOverRanks(int rank, int size) {
  std::string mine;
  for (const auto& [call, sum] : staged().calls) {
    mine += format("%s %llu %llu\n", call.c_str(), static_cast<unsigned long long>(sum.calls),
                   static_cast<unsigned long long>(sum.nanoseconds));
  }
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<size_t>(size)), places(static_cast<size_t>(size));
  PMPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::exclusive_scan(lengths.begin(), lengths.end(), places.begin(), 0);
  std::string all(rank == 0 ? static_cast<size_t>(places.back() + lengths.back()) : 0, ' ');
  PMPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR,
               0, MPI_COMM_WORLD);
  std::map<std::string, Sum> sums;
  std::istringstream lines(all);
  std::string call;
  for (Sum one; lines >> call >> one.calls >> one.nanoseconds;) {
    sums[call].calls += one.calls;
    sums[call].nanoseconds += one.nanoseconds;
  }
  return sums;
}

std::string line(const char* call, const Sum& taken, const Sum& passed, const std::string& whys) {
  return format("rondo_mpi: %-28s %10llu %11.6f %10llu %11.6f%s\n", call,
                static_cast<unsigned long long>(taken.calls), taken.seconds(),
                static_cast<unsigned long long>(passed.calls), passed.seconds(), whys.c_str());
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
  return line(name(call), taken, passed, whys);
}

}  // namespace

void StagedCall::begin(const char* call) {
  if (insideStaged) return;
  insideStaged = true;
  call_ = call;
  since_ = statsClock();
}

void StagedCall::leave() {
  insideStaged = false;
  call_ = nullptr;
}

void StagedCall::end() {
  const uint64_t nanoseconds = statsClock() - since_;
  {
    const std::lock_guard<std::mutex> lock(staged().mutex);
    Sum& sum = staged().calls[call_];
    ++sum.calls;
    sum.nanoseconds += nanoseconds;
  }
  leave();
}

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
  const std::map<std::string, Sum> others = stagedOverRanks(rank, size);
  if (rank != 0) return;
  std::string table = format(
      "rondo_mpi: %d ranks, RONDO_MPI=%s; calls and seconds are sums over the ranks\n"
      "rondo_mpi: %-28s %10s %11s %10s %11s  why\n",
      size, mode.c_str(), "call", "taken", "seconds", "passed on", "seconds");
  for (size_t call = 0; call < kCalls; ++call) table += line(static_cast<Call>(call), sums[call]);
  for (const auto& [call, sum] : others) {
    table += line(call.c_str(), sum, {},
                  format("  by way of the host %llu", static_cast<unsigned long long>(sum.calls)));
  }
  for (const std::string& sentence : refusals()) {
    table += "rondo_mpi: " + sentence + "\n";
  }
  std::fputs(table.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace rondo::drop_in

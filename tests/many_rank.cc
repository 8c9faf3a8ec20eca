// One rank of many, which says at each stage what its process holds: how a communicator grows with
// ranks and hosts. many_hosts.sh spreads ranks over pretended hosts and makes a table.
//
// many_rank FILE RANKS RANK [COPIES]: rank 0 makes the id and writes it to FILE, the others wait
// for it. COPIES: so many communicators are made beside it at the end.

#include <malloc.h>

#include <cmath>
#include <filesystem>
#include <thread>

#include "support/hosts_job.h"

namespace rondo::testing {
namespace {

size_t entries(const char* folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists();
  return count;
}

class Stages {
 public:
  explicit Stages(const Job& job) : job_(job) {}
  /// `what` is one word. Since the last stage.
  void say(const char* what) {
    const double seconds = secondsSince(since_);
    const struct mallinfo2 memory = mallinfo2();
    long resident = 0, shared = 0;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      if (word == "RssAnon:") status >> resident;
      if (word == "RssShmem:") status >> shared;
    }
    std::printf(
        "rank %d %s ms %.1f descriptors %zu threads %zu heap-KiB %zu resident-KiB %ld "
        "shared-KiB %ld\n",
        job_.rank, what, seconds * 1e3, entries("/proc/self/fd"), entries("/proc/self/task"),
        (memory.uordblks + memory.hblkhd) >> 10, resident, shared);
    std::fflush(stdout);
    since_ = Clock::now();
  }

 private:
  const Job& job_;
  Clock::time_point since_ = Clock::now();
};

void sum(const Job& job, rondoComm_t comm, size_t count) {
  int ranks = 0;
  rondoCommCount(comm, &ranks);
  const std::vector<int32_t> in(count, 1);
  std::vector<int32_t> out(count);
  if (rondoAllReduce(in.data(), out.data(), count, rondoInt32, rondoSum, comm, nullptr) !=
          rondoSuccess ||
      out.back() != ranks) {
    fail(job, "a sum", comm);
  }
}

rondoComm_t split(const Job& job, rondoComm_t comm, int color) {
  rondoComm_t made = nullptr;
  if (rondoCommSplit(comm, color, job.rank, &made, nullptr) != rondoSuccess) {
    fail(job, "rondoCommSplit", comm);
  }
  return made;
}

int run(const Job& job) {
  const auto n = static_cast<size_t>(job.ranks);
  const rondoUniqueId id = meet(job);
  Stages stages(job);
  rondoComm_t comm = nullptr;
  if (rondoCommInitRank(&comm, job.ranks, id, job.rank) != rondoSuccess) {
    fail(job, "rondoCommInitRank", nullptr);
  }
  stages.say("made");
  sum(job, comm, 1);
  stages.say("sum-4-B");
  sum(job, comm, 65536);
  stages.say("sum-256-KiB");
  // Others tell each other what they wait in, and find out for whom.
  if (job.rank == job.ranks / 2) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  sum(job, comm, 1);
  stages.say("one-late-by-2.5-s");

  const int columns = static_cast<int>(std::lround(std::sqrt(job.ranks)));
  rondoComm_t row = split(job, comm, job.rank / columns);
  rondoComm_t column = split(job, comm, job.rank % columns);
  stages.say("rows-and-columns");
  sum(job, row, 1000);
  sum(job, column, 1000);
  stages.say("their-sums");

  std::vector<rondoComm_t> copies(job.count);
  for (rondoComm_t& copy : copies) {
    if (rondoCommDup(comm, &copy, nullptr) != rondoSuccess) fail(job, "rondoCommDup", comm);
  }
  stages.say("copies");
  for (rondoComm_t copy : copies) sum(job, copy, 1);
  stages.say("their-sums-4-B");

  std::vector<int32_t> out(n, job.rank), in(n);
  if (rondoAllToAll(out.data(), in.data(), 1, rondoInt32, comm, nullptr) != rondoSuccess) {
    fail(job, "rondoAllToAll", comm);
  }
  stages.say("all-to-all-4-B");
  for (rondoComm_t copy : copies) rondoCommDestroy(copy);
  rondoCommDestroy(column);
  rondoCommDestroy(row);
  rondoCommDestroy(comm);
  stages.say("destroyed");
  return 0;
}

}  // namespace
}  // namespace rondo::testing

int main(int count, char** words) {
  rondo::testing::Job job;
  if (count < 4) return 2;
  job.file = words[1];
  job.ranks = std::atoi(words[2]);
  job.rank = std::atoi(words[3]);
  job.count = count > 4 ? std::strtoull(words[4], nullptr, 10) : 0;
  return rondo::testing::run(job);
}

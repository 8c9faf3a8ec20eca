// One rank that sums over and over, for scripts that spread ranks over hosts and then do something
// to them.
//
// hosts_rank FILE RANKS RANK COUNT [shrink|revoke|idle|aside|create|last|grow|again]: rank 0 makes
// the id and writes it to FILE, the others wait for it. Sums COUNT numbers with all ranks until
// FILE.stop exists or a call fails. Writes its process id to FILE.pid.RANK once calls work. Prints
// how it ended in one line; with "shrink" it goes on with those who are left until FILE.end exists,
// with "revoke" rank 0 revokes the communicator when FILE.stop exists and all shrink; with "idle"
// ranks make no calls between the first few and FILE.stop, with "aside" rank 1 makes none then;
// with "last" rank 0 sends rank 1 COUNT numbers once FILE.end exists, and ends; with "grow" the
// last rank joins a communicator of the others; with "again" ranks that could not join try it once
// more when FILE.again exists. Exit status 0, or 1 when a result was wrong.

#include <malloc.h>
#include <sys/resource.h>

#include <filesystem>

#include "support/hosts_job.h"

namespace rondo::testing {
namespace {

rondoComm_t join(const Job& job) {
  rondoComm_t comm = nullptr;
  if (rondoCommInitRank(&comm, job.ranks, meet(job), job.rank) == rondoSuccess) return comm;
  if (job.then != "again") fail(job, "rondoCommInitRank", nullptr);
  std::printf("rank %d: at first: %s\n", job.rank, rondoGetLastError(nullptr));
  std::fflush(stdout);
  while (!exists(job.file + ".again")) usleep(1000);
  Job second = job;
  second.file += ".second";
  second.then.clear();
  comm = join(second);
  return comm;
}

/// All but the last make a communicator, which then takes the last one in.
rondoComm_t grow(const Job& job) {
  const bool isNew = job.rank == job.ranks - 1;
  Job first = job;
  first.ranks = job.ranks - 1;
  rondoComm_t comm = isNew ? nullptr : join(first), grown = nullptr;
  rondoUniqueId id{};
  const std::string file = job.file + ".grown";
  if (job.rank == 0) {
    if (rondoCommGetUniqueId(comm, &id) != rondoSuccess) fail(job, "rondoCommGetUniqueId", comm);
    writeFile(file, &id, sizeof id);
  } else if (isNew) {
    readId(file, &id);
  }
  const bool knows = job.rank == 0 || isNew;
  if (rondoCommGrow(comm, job.ranks, knows ? &id : nullptr, isNew ? job.rank : -1, &grown,
                    nullptr) != rondoSuccess) {
    fail(job, "rondoCommGrow", comm);
  }
  if (comm != nullptr) rondoCommDestroy(comm);
  return grown;
}

rondoResult_t sumOf(rondoComm_t comm, const std::vector<int32_t>& in, std::vector<int32_t>& out) {
  return rondoAllReduce(in.data(), out.data(), in.size(), rondoInt32, rondoSum, comm, nullptr);
}

size_t entries(const char* folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists();
  return count;
}

/// What a process has of what may run out.
struct Holdings {
  size_t descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  size_t allocated = mallinfo2().uordblks;
  long kibibytes = 0;
  Holdings() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      if (word == "VmRSS:") status >> kibibytes;
    }
  }
};

/// Handles of destroyed communicators are not used again before a thousand others were destroyed
/// (src/api/handle.cc), so that a late call on one is told so: until then each takes so much.
constexpr size_t kHandleBytes = 320;
/// Strings and tables that grow once more.
constexpr size_t kSlackBytes = 4096;

/// From here on a communicator more takes no memory. Some seconds of a core.
void fillQuarantine(const Job& job) {
  rondoUniqueId id{};
  rondoComm_t alone = nullptr;
  if (rondoGetUniqueId(&id) != rondoSuccess ||
      rondoCommInitRank(&alone, 1, id, 0) != rondoSuccess) {
    fail(job, "a communicator of one rank", nullptr);
  }
  for (int k = 0; k < 1100; ++k) {
    rondoComm_t copy = nullptr;
    if (rondoCommDup(alone, &copy, nullptr) != rondoSuccess) fail(job, "rondoCommDup", alone);
    rondoCommDestroy(copy);
  }
  rondoCommDestroy(alone);
}

void makeMany(const Job& job, rondoComm_t comm) {
  const auto make = [&](int count) {
    for (int k = 0; k < count; ++k) {
      rondoComm_t made = nullptr;
      int32_t sum = 0;
      if (rondoCommDup(comm, &made, nullptr) != rondoSuccess) fail(job, "rondoCommDup", comm);
      if (rondoAllReduce(&job.rank, &sum, 1, rondoInt32, rondoSum, made, nullptr) != rondoSuccess ||
          sum != job.ranks * (job.ranks - 1) / 2) {
        fail(job, "a sum on a new communicator", made);
      }
      rondoCommDestroy(made);
    }
  };
  const bool exact = job.count >= 1000;
  if (exact) fillQuarantine(job);
  make(100);
  // What communicators leave, each round of them leaves. Pools of UCX's and of early messages grow
  // when the ranks' turns first happen to want it, and then no more.
  for (int round = 0;; ++round) {
    const Holdings before;
    const auto start = Clock::now();
    make(static_cast<int>(job.count));
    const double seconds = secondsSince(start);
    const Holdings after;
    std::printf(
        "rank %d: %zu communicators in %.1f s; descriptors %zu, then %zu, threads %zu, then %zu, "
        "memory %ld KiB, then %ld (allocated %zu, then %zu)\n",
        job.rank, job.count, seconds, before.descriptors, after.descriptors, before.threads,
        after.threads, before.kibibytes, after.kibibytes, before.allocated, after.allocated);
    int32_t left = after.descriptors > before.descriptors || after.threads > before.threads ||
                   after.kibibytes > before.kibibytes + 1024 ||
                   after.allocated > before.allocated + kSlackBytes +
                                         (exact ? 0 : job.count * kHandleBytes);
    int32_t any = 0;
    if (rondoAllReduce(&left, &any, 1, rondoInt32, rondoMax, comm, nullptr) != rondoSuccess) {
      fail(job, "whether a rank has more than before", comm);
    }
    if (any == 0) return;
    if (round == 5) fail(job, left != 0 ? "they left something" : "a rank is left with more", comm);
  }
}

/// The process ends right after this.
void lastWords(const Job& job, rondoComm_t comm) {
  std::vector<int32_t> words(job.count);
  for (size_t i = 0; i < job.count; ++i) words[i] = job.rank == 0 ? static_cast<int32_t>(i) : -1;
  while (job.rank == 0 && !exists(job.file + ".end")) usleep(1000);
  const rondoResult_t result =
      job.rank == 0 ? rondoSend(words.data(), job.count, rondoInt32, 1, comm, nullptr)
                    : rondoRecv(words.data(), job.count, rondoInt32, 0, comm, nullptr);
  if (result != rondoSuccess) fail(job, "the last words", comm);
  for (size_t i = 0; i < job.count; ++i) {
    if (words[i] != static_cast<int32_t>(i)) fail(job, "wrong last words", comm);
  }
  std::printf("rank %d: the last words are there\n", job.rank);
}

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int run(const Job& job) {
  rondoComm_t comm = job.then == "grow" ? grow(job) : join(job);
  uint64_t calls = 0;
  Clock::time_point last;
  const auto start = Clock::now();
  const double cpu = cpuSeconds();
  rondoResult_t result = sumUntil(job, comm, sumOf, job.file + ".stop", &calls, &last);
  if (result == rondoSuccess && job.then == "create") makeMany(job, comm);
  if (result == rondoSuccess && job.then == "last") lastWords(job, comm);
  if (result == rondoSuccess && job.then == "revoke") {
    if (job.rank == 0) rondoCommRevoke(comm);
    result = sumUntil(job, comm, sumOf, job.file + ".never", &calls, &last);
  }
  if (result != rondoSuccess) {
    sayError(job, result, last, comm);
    if (job.then == "shrink" || job.then == "revoke") goOn(job, comm, sumOf);
  } else {
    std::printf("rank %d: %llu sums in %.1f s, %.3f s of a core\n", job.rank,
                static_cast<unsigned long long>(calls), secondsSince(start), cpuSeconds() - cpu);
  }
  std::fflush(stdout);
  rondoCommDestroy(comm);
  return 0;
}

}  // namespace
}  // namespace rondo::testing

int main(int count, char** words) {
  return rondo::testing::run(rondo::testing::readJob(count, words));
}

// One rank that sums over and over, for scripts that spread ranks over hosts and then do something
// to them.
//
// hosts_rank FILE RANKS RANK COUNT [shrink|revoke|idle|create|last]: rank 0 makes the id and writes
// it to FILE, the others wait for it. Sums COUNT numbers with all ranks until FILE.stop exists or a
// call fails. Writes its process id to FILE.pid.RANK once calls work. Prints how it ended in one
// line; with "shrink" it goes on with those who are left until FILE.end exists, with "revoke" rank
// 0 revokes the communicator when FILE.stop exists and all shrink; with "idle" ranks make no calls
// between the first few and FILE.stop; with "last" rank 0 sends rank 1 COUNT numbers once FILE.end
// exists, and ends. Exit status 0, or 1 when a result was wrong.

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "rondo.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Job {
  std::string file;
  int ranks = 0, rank = 0;
  size_t count = 0;
  std::string then;
};

/// From so many numbers on a call takes seconds, and one is enough to see that calls work.
constexpr size_t kLarge = size_t{1} << 24;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool exists(const std::string& name) { return access(name.c_str(), F_OK) == 0; }

void writeFile(const std::string& name, const void* bytes, size_t count) {
  std::ofstream(name + ".new").write(static_cast<const char*>(bytes), static_cast<long>(count));
  if (std::rename((name + ".new").c_str(), name.c_str()) != 0) std::perror(name.c_str());
}

[[noreturn]] void fail(const Job& job, const char* what, rondoComm_t comm) {
  std::printf("rank %d: WRONG: %s: %s\n", job.rank, what, rondoGetLastError(comm));
  std::fflush(stdout);
  _exit(1);
}

rondoComm_t join(const Job& job) {
  rondoUniqueId id{};
  rondoComm_t comm = nullptr;
  if (job.rank == 0) {
    if (rondoGetUniqueId(&id) != rondoSuccess) fail(job, "rondoGetUniqueId", nullptr);
    writeFile(job.file, &id, sizeof id);
  } else {
    for (int i = 0; i < 4000 && !exists(job.file); ++i) usleep(5000);
    std::ifstream(job.file).read(id.internal, sizeof id);
  }
  if (rondoCommInitRank(&comm, job.ranks, id, job.rank) != rondoSuccess) {
    fail(job, "rondoCommInitRank", nullptr);
  }
  return comm;
}

/// Sums until `stop` exists, as rank 0 of `comm` sees it, or a call fails. `last`: when the last
/// call began.
rondoResult_t sumUntil(const Job& job, rondoComm_t comm, const std::string& stop, uint64_t* calls,
                       Clock::time_point* last) {
  int rank = 0, size = 0;
  rondoCommUserRank(comm, &rank);
  rondoCommCount(comm, &size);
  std::vector<int32_t> in(job.count + 1), out(job.count + 1);
  for (*calls = 0;; ++*calls) {
    for (size_t i = 0; i < job.count; ++i) in[i] = rank + static_cast<int32_t>(i + *calls);
    in[job.count] = rank == 0 && exists(stop) ? 1 : 0;
    *last = Clock::now();
    const rondoResult_t result =
        rondoAllReduce(in.data(), out.data(), in.size(), rondoInt32, rondoSum, comm, nullptr);
    if (result != rondoSuccess) return result;
    for (size_t i = 0; i < job.count; ++i) {
      const int32_t wanted = size * static_cast<int32_t>(i + *calls) + size * (size - 1) / 2;
      if (out[i] != wanted) fail(job, "a wrong sum", comm);
    }
    if (out[job.count] != 0) return rondoSuccess;
    if (*calls == (job.count < kLarge ? 20 : 0)) {
      const std::string pid = std::to_string(getpid());
      writeFile(job.file + ".pid." + std::to_string(job.rank), pid.data(), pid.size());
      while (job.then == "idle" && !exists(stop)) usleep(20000);
    }
  }
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
  make(100);
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
  if (after.descriptors > before.descriptors || after.threads > before.threads ||
      after.kibibytes > before.kibibytes + 1024) {
    fail(job, "they left something", comm);
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

void goOn(const Job& job, rondoComm_t comm) {
  rondoResult_t state = rondoSuccess;
  if (rondoCommGetAsyncError(comm, &state) != rondoSuccess || state == rondoSuccess) {
    fail(job, "rondoCommGetAsyncError says nothing", comm);
  }
  const auto start = Clock::now();
  rondoComm_t rest = nullptr;
  if (rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT) != rondoSuccess) {
    fail(job, "rondoCommShrink", comm);
  }
  const double shrunk = secondsSince(start);
  int left = 0;
  rondoCommCount(rest, &left);
  uint64_t calls = 0;
  Clock::time_point last;
  if (left > 1 && sumUntil(job, rest, job.file + ".end", &calls, &last) != rondoSuccess) {
    fail(job, "a sum of those who are left", rest);
  }
  std::printf("rank %d: shrunk to %d in %.3f s, then %llu sums\n", job.rank, left, shrunk,
              static_cast<unsigned long long>(calls));
  rondoCommDestroy(rest);
}

int run(const Job& job) {
  rondoComm_t comm = join(job);
  uint64_t calls = 0;
  Clock::time_point last;
  const auto start = Clock::now();
  const double cpu = cpuSeconds();
  rondoResult_t result = sumUntil(job, comm, job.file + ".stop", &calls, &last);
  if (result == rondoSuccess && job.then == "create") makeMany(job, comm);
  if (result == rondoSuccess && job.then == "last") lastWords(job, comm);
  if (result == rondoSuccess && job.then == "revoke") {
    if (job.rank == 0) rondoCommRevoke(comm);
    result = sumUntil(job, comm, job.file + ".never", &calls, &last);
  }
  if (result != rondoSuccess) {
    std::printf("rank %d: error %d after %.2f s: %s\n", job.rank, result, secondsSince(last),
                rondoGetLastError(comm));
    std::fflush(stdout);
    if (job.then == "shrink" || job.then == "revoke") goOn(job, comm);
  } else {
    std::printf("rank %d: %llu sums in %.1f s, %.3f s of a core\n", job.rank,
                static_cast<unsigned long long>(calls), secondsSince(start), cpuSeconds() - cpu);
  }
  std::fflush(stdout);
  rondoCommDestroy(comm);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) return 2;
  Job job;
  job.file = words[1];
  job.ranks = std::atoi(words[2]);
  job.rank = std::atoi(words[3]);
  job.count = std::strtoull(words[4], nullptr, 10);
  if (count > 5) job.then = words[5];
  return run(job);
}

#pragma once
// A rank that sums over and over, for scripts that spread ranks over hosts and then do something to
// them: what tests/hosts_rank.cc (host memory) and tests/far_rank.cc (device memory) share.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "rondo.h"

namespace rondo::testing {

using Clock = std::chrono::steady_clock;

struct Job {
  std::string file;
  int ranks = 0, rank = 0;
  size_t count = 0;
  std::string then;
};

/// From so many numbers on a call takes seconds, and one is enough to see that calls work.
constexpr size_t kLarge = size_t{1} << 24;

inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline bool exists(const std::string& name) { return access(name.c_str(), F_OK) == 0; }

inline void writeFile(const std::string& name, const void* bytes, size_t count) {
  std::ofstream(name + ".new").write(static_cast<const char*>(bytes), static_cast<long>(count));
  if (std::rename((name + ".new").c_str(), name.c_str()) != 0) std::perror(name.c_str());
}

[[noreturn]] inline void fail(const Job& job, const char* what, rondoComm_t comm) {
  std::printf("rank %d: WRONG: %s: %s\n", job.rank, what, rondoGetLastError(comm));
  std::fflush(stdout);
  _exit(1);
}

/// Once another rank has written it.
inline void readId(const std::string& file, rondoUniqueId* id) {
  for (int i = 0; i < 4000 && !exists(file); ++i) usleep(5000);
  std::ifstream(file).read(id->internal, sizeof *id);
}

/// Rank 0 makes the id and writes it to the job's file, where the others find it.
inline rondoUniqueId meet(const Job& job) {
  rondoUniqueId id{};
  if (job.rank == 0) {
    if (rondoGetUniqueId(&id) != rondoSuccess) fail(job, "rondoGetUniqueId", nullptr);
    writeFile(job.file, &id, sizeof id);
  } else {
    readId(job.file, &id);
  }
  return id;
}

/// FILE RANKS RANK COUNT [THEN]
inline Job readJob(int count, char** words) {
  if (count < 5) std::exit(2);
  Job job;
  job.file = words[1];
  job.ranks = std::atoi(words[2]);
  job.rank = std::atoi(words[3]);
  job.count = std::strtoull(words[4], nullptr, 10);
  if (count > 5) job.then = words[5];
  return job;
}

/// Sums until `stop` exists, as rank 0 of `comm` sees it, or a call fails. sum(comm, in, out): one
/// call, to its end. `last`: when the last call began.
template <class Sum>
rondoResult_t sumUntil(const Job& job, rondoComm_t comm, const Sum& sum, const std::string& stop,
                       uint64_t* calls, Clock::time_point* last) {
  int rank = 0, size = 0;
  rondoCommUserRank(comm, &rank);
  rondoCommCount(comm, &size);
  std::vector<int32_t> in(job.count + 1), out(job.count + 1);
  for (*calls = 0;; ++*calls) {
    for (size_t i = 0; i < job.count; ++i) in[i] = rank + static_cast<int32_t>(i + *calls);
    in[job.count] = rank == 0 && exists(stop) ? 1 : 0;
    *last = Clock::now();
    const rondoResult_t result = sum(comm, in, out);
    if (result != rondoSuccess) return result;
    for (size_t i = 0; i < job.count; ++i) {
      const int32_t wanted = size * static_cast<int32_t>(i + *calls) + size * (size - 1) / 2;
      if (out[i] != wanted) fail(job, "a wrong sum", comm);
    }
    if (out[job.count] != 0) return rondoSuccess;
    if (*calls == (job.count < kLarge ? 20 : 0)) {
      const std::string pid = std::to_string(getpid());
      writeFile(job.file + ".pid." + std::to_string(job.rank), pid.data(), pid.size());
      const bool aside = job.then == "idle" || (job.then == "aside" && rank == 1);
      while (aside && !exists(stop)) usleep(20000);
    }
  }
}

inline void sayError(const Job& job, rondoResult_t result, Clock::time_point last,
                     rondoComm_t comm) {
  std::printf("rank %d: error %d after %.2f s: %s\n", job.rank, result, secondsSince(last),
              rondoGetLastError(comm));
  std::fflush(stdout);
}

/// After an error: those who are left go on.
template <class Sum>
void goOn(const Job& job, rondoComm_t comm, const Sum& sum) {
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
  if (left > 1 && sumUntil(job, rest, sum, job.file + ".end", &calls, &last) != rondoSuccess) {
    fail(job, "a sum of those who are left", rest);
  }
  std::printf("rank %d: shrunk to %d in %.3f s, then %llu sums\n", job.rank, left, shrunk,
              static_cast<unsigned long long>(calls));
  rondoCommDestroy(rest);
}

}  // namespace rondo::testing

#pragma once
// Ranks of a test, as threads or as processes.

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "p2p/id_bootstrap.h"
#include "support/quiet_fork.h"

namespace rondo::test {

inline const IdHost kHost{42, "here"};

/// How a rank ended: code rondoSuccess, or its Error.
struct Outcome {
  rondoResult_t code = rondoSuccess;
  std::string sentence;
};

inline Outcome outcomeOf(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.sentence()};
  }
}

/// body(rank) on `n` threads at once.
inline std::vector<Outcome> onThreads(int n, const std::function<void(int)>& body) {
  std::vector<Outcome> outcomes(static_cast<size_t>(n));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back(
        [&, rank] { outcomes[static_cast<size_t>(rank)] = outcomeOf([&] { body(rank); }); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

/// body(rank) in a forked process; it ends with exit status 0 if `body` returned true.
inline pid_t inProcess(int rank, const std::function<bool(int)>& body) {
  const pid_t pid = quietFork();
  if (pid != 0) return pid;
  bool good = false;
  try {
    good = body(rank);
  } catch (const Error& error) {
    fprintf(stderr, "rank %d: %s\n", rank, error.what());
  }
  _exit(good ? 0 : 1);
}

inline bool endedWell(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// body(id, rank) in `n` processes that are forked before the id's service thread exists (a fork of
/// a process with threads is beyond what sanitizers support), with an id of this process.
inline std::vector<pid_t> inProcesses(int n,
                                      const std::function<bool(const rondoUniqueId&, int)>& body) {
  std::vector<pid_t> pids;
  int channel[2];
  if (pipe(channel) != 0) return pids;
  for (int rank = 0; rank < n; ++rank) {
    pids.push_back(inProcess(rank, [&](int me) {
      rondoUniqueId id;
      return read(channel[0], &id, sizeof id) == static_cast<ssize_t>(sizeof id) && body(id, me);
    }));
  }
  rondoUniqueId id;
  makeUniqueId(kHost, &id);
  for (int rank = 0; rank < n; ++rank) {  // one pipe write of 128 bytes is whole
    if (write(channel[1], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) break;
  }
  close(channel[0]);
  close(channel[1]);
  return pids;
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

inline int openDescriptors() {
  int count = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

/// The same once nothing changes any more: the id service closes what earlier tests' ranks have
/// left.
inline int settledDescriptors() {
  int count = openDescriptors();
  for (int same = 0; same < 20;) {
    usleep(5000);
    const int now = openDescriptors();
    same = now == count ? same + 1 : 0;
    count = now;
  }
  return count;
}

inline int runningThreads() {
  int count = 0;
  DIR* dir = opendir("/proc/self/task");
  while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

/// Waits up to five seconds for something that another thread brings about.
inline bool soon(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    usleep(1000);
  }
  return condition();
}

}  // namespace rondo::test

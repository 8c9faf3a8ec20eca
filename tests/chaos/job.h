#pragma once
// Ranks as processes that may be killed: forked by a process of their own, joined by unique id.

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/rondo.h"
#include "base/error.h"

namespace rondo::chaos {

constexpr int kMostRanks = 8;
constexpr int kHangSeconds = 60;

/// By how much limits of time are longer, on a machine with other work: chaos_run --slack.
inline int slack() {
  const char* const text = std::getenv("RONDO_CHAOS_SLACK");
  return text != nullptr && std::atoi(text) > 0 ? std::atoi(text) : 1;
}

inline int64_t nowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// What a rank leaves for the test to read, in memory that all processes share.
struct Note {
  char failure[800];   ///< Empty: all was as it should be.
  char sentence[800];  ///< Of the error that it met.
  int64_t errorMs;     ///< From the death to that error.
  int64_t shrinkMs;
  int rest;  ///< Ranks of the communicator that it ended with.
};
struct Shared {
  std::atomic<int64_t> killedAt;  ///< When somebody was about to be killed.
  std::atomic<int64_t> diedAt;    ///< When the launcher saw the end of the rank that it reaps last.
  std::atomic<int> ready, done;
  rondoUniqueId more;  ///< By which ranks join later; there once `moreMade` is.
  std::atomic<int> moreMade;
  std::atomic<int64_t> lateMs;  ///< By how much ranks woke up too late, together.
  std::atomic<pid_t> pids[kMostRanks];
  Note notes[kMostRanks];
};

/// One rank's view; its check ends the process if it fails.
struct Me {
  int rank, size;
  Shared* shared;
  rondoUniqueId id;

  Note& note() const { return shared->notes[rank]; }
  void check(bool good, const std::string& what) const {
    if (good) return;
    std::snprintf(note().failure, sizeof note().failure, "rank %d: %s", rank, what.c_str());
    _exit(1);
  }
  void ok(rondoResult_t result, rondoComm_t comm, const char* what) const {
    check(result == rondoSuccess, format("%s gave %d: %s", what, result, rondoGetLastError(comm)));
  }
  rondoComm_t join() const {
    rondoComm_t comm = nullptr;
    ok(rondoCommInitRank(&comm, size, id, rank), nullptr, "rondoCommInitRank");
    return comm;
  }
  void die(bool byExit = false) const {
    shared->killedAt = nowMs();
    if (byExit) _exit(3);
    kill(getpid(), SIGKILL);
  }
};

/// A thread that sleeps for short times and writes down how much longer they were: as long as that,
/// the machine had no time for its process (other work, or everything was stopped), which limits of
/// time must not count.
class Pulse {
 public:
  static void start(Shared* shared) {
    threads() = 1;
    std::thread([shared] {
      for (int64_t before = nowMs();;) {
        usleep(1000 * kEveryMs);
        const int64_t now = nowMs(), late = now - before - kEveryMs;
        if (late > kUsualMs) shared->lateMs += late;
        before = now;
      }
    }).detach();
  }
  /// Those of this process, which are none of Rondo's.
  static int& threads() {
    static int count = 0;
    return count;
  }

 private:
  static constexpr int kEveryMs = 20, kUsualMs = 10;
};

/// Waits up to `ms` for it, and as much longer as the ranks of the job wake up too late meanwhile.
inline bool holdsSoon(const Shared& shared, int64_t ms, const std::function<bool()>& condition) {
  const int64_t start = nowMs(), late = shared.lateMs;
  while (!condition()) {
    if (nowMs() - start > ms * slack() + shared.lateMs - late) return condition();
    usleep(1000);
  }
  return true;
}

inline Shared* newShared() {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Shared{};
}

struct Outcome {
  std::string failure;  ///< Of the first rank that has one; empty: none.
  std::string errors;   ///< What the ranks wrote to stderr.
  int64_t lateMs = 0;   ///< See Pulse.
  std::vector<Note> notes;
};

inline std::string readAll(int fd) {
  std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  if (pread(fd, text.data(), text.size(), 0) < 0) return "";
  return text;
}

using Body = std::function<void(const Me&)>;
using Meddle = std::function<void(Shared&)>;

/// In the launcher: whether any rank has written to stderr, waiting for it.
inline bool somethingIsSaid() {
  struct stat file {};
  for (int i = 0; i < 1000 * 20 * slack() && file.st_size == 0; ++i) {
    usleep(1000);
    if (fstat(2, &file) != 0) return false;
  }
  return file.st_size != 0;
}

/// In the launcher: forks the ranks, makes the id, meddles, and reaps `last` after all others, so
/// that how it ended stays to be read. Never returns.
[[noreturn]] inline void launch(int n, Shared* shared, const Body& body, const Meddle& meddle,
                                int last) {
  int channel[2];
  if (pipe(channel) != 0) _exit(2);
  std::vector<pid_t> pids;
  for (int rank = 0; rank < n; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(static_cast<unsigned>(kHangSeconds * slack()));
      Pulse::start(shared);
      Me me{rank, n, shared, {}};
      if (read(channel[0], &me.id, sizeof me.id) != static_cast<ssize_t>(sizeof me.id)) _exit(2);
      body(me);
      _exit(0);
    }
    shared->pids[rank] = pid;
    pids.push_back(pid);
  }
  rondoUniqueId id;
  if (rondoGetUniqueId(&id) != rondoSuccess) _exit(3);
  for (int rank = 0; rank < n; ++rank) {
    if (write(channel[1], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) _exit(3);
  }
  // Not the victim's own word: on a busy machine seconds may pass before its last call is made.
  if (last >= 0) {
    std::thread([pid = pids[static_cast<size_t>(last)], shared] {
      siginfo_t info{};
      waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
      shared->diedAt = nowMs();
    }).detach();
  }
  if (meddle) meddle(*shared);
  for (int pass = 0; pass < 2; ++pass) {
    for (int rank = 0; rank < n; ++rank) {
      if ((rank == last) != (pass == 1)) continue;
      int status = 0;
      waitpid(pids[static_cast<size_t>(rank)], &status, 0);
      Note& note = shared->notes[rank];
      if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && note.failure[0] == '\0') {
        std::snprintf(note.failure, sizeof note.failure, "rank %d ended by signal %d (%s)", rank,
                      WTERMSIG(status), WTERMSIG(status) == SIGALRM ? "it hung" : "crash");
      }
    }
  }
  _exit(0);
}

/// Runs `body` on n processes. The calling process has no threads of its own.
inline Outcome run(int n, const Body& body, const Meddle& meddle = {}, int last = -1) {
  Shared* const shared = newShared();
  std::FILE* const errors = std::tmpfile();
  std::fflush(nullptr);
  const pid_t launcher = fork();
  if (launcher == 0) {
    dup2(fileno(errors), 2);
    launch(n, shared, body, meddle, last);
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  Outcome out;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) out.failure = "the launcher failed";
  out.errors = readAll(fileno(errors));
  out.lateMs = shared->lateMs;
  std::fclose(errors);
  for (int rank = 0; rank < n; ++rank) {
    out.notes.push_back(shared->notes[rank]);
    if (out.failure.empty()) out.failure = shared->notes[rank].failure;
  }
  munmap(shared, sizeof(Shared));
  return out;
}

inline int openDescriptors() {
  int count = 0;
  DIR* const dir = opendir("/proc/self/fd");
  while (readdir(dir) != nullptr) ++count;
  closedir(dir);
  return count;
}

/// What they are, for a sentence.
inline std::string descriptorsText() {
  std::string out;
  for (int fd = 0; fd < 256; ++fd) {
    char target[100] = {};
    if (readlink(format("/proc/self/fd/%d", fd).c_str(), target, sizeof target - 1) <= 0) continue;
    out += format(" %d:%s", fd, target);
  }
  return out;
}

/// Without the test's own.
inline int runningThreads() {
  int count = -Pulse::threads();
  DIR* const dir = opendir("/proc/self/task");
  while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

/// Segments of shared memory that this process maps, its own among them.
inline int mappedSegments() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("memfd:rondo") != std::string::npos;
  }
  return count;
}

}  // namespace rondo::chaos

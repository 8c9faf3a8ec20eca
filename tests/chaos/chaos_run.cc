// Many seeded ordeals, several at a time: chaos_run [--runs N] [--seed FIRST] [--every STEP]
// [--jobs J] [--seconds S] [--kind NAME] [--slack X]. Every one that goes wrong is printed with its
// seed, and what was tried again because the machine was late; the last lines count. Exit status 0:
// none went wrong and nothing is left.

#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "chaos/mischief.h"

namespace rondo::chaos {
namespace {

struct Wish {
  uint64_t runs = 200, seed = 1, every = 1, jobs = 6, seconds = 0;
  int kind = -1;
};

[[noreturn]] void usage(const char* what) {
  std::fprintf(
      stderr,
      "chaos_run: %s\nusage: chaos_run [--runs N] [--seed FIRST] [--every STEP] [--jobs J] "
      "[--seconds S] [--kind NAME] [--slack X]\n",
      what);
  std::exit(2);
}

[[noreturn]] void noSuchKind(const char* name) {
  std::string said = std::string("--kind is \"") + name + "\"; allowed:";
  for (int k = 0; k < kKinds; ++k) {
    said += std::string(k == 0 ? " \"" : ", \"") + kindName(static_cast<Kind>(k)) + '"';
  }
  usage(said.c_str());
}

Wish read(int argc, char** argv) {
  Wish wish;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) usage("an option without a value");
    const std::string name = argv[i];
    char* end = nullptr;
    const uint64_t number = std::strtoull(argv[i + 1], &end, 10);
    if (name == "--slack") {
      setenv("RONDO_CHAOS_SLACK", argv[i + 1], 1);
      continue;
    }
    if (name == "--kind") {
      for (int k = 0; k < kKinds; ++k) {
        if (std::strcmp(kindName(static_cast<Kind>(k)), argv[i + 1]) == 0) wish.kind = k;
      }
      if (wish.kind < 0) noSuchKind(argv[i + 1]);
      continue;
    }
    uint64_t* const to = name == "--runs"      ? &wish.runs
                         : name == "--seed"    ? &wish.seed
                         : name == "--every"   ? &wish.every
                         : name == "--jobs"    ? &wish.jobs
                         : name == "--seconds" ? &wish.seconds
                                               : nullptr;
    if (to == nullptr || *end != '\0') usage("no such option or number");
    *to = number;
  }
  if (wish.jobs == 0 || wish.jobs > 64) usage("--jobs is from 1 to 64");
  return wish;
}

/// What the workers have done, in memory that they share.
struct Tally {
  std::atomic<uint64_t> next;
  std::atomic<uint64_t> done[kKinds], wrong[kKinds];
  std::atomic<uint64_t> again;  ///< Tried again, for the machine was late.
  std::atomic<int> leaks;
};

void worker(const Wish& wish, Tally& tally) {
  const int descriptors = openDescriptors(), threads = runningThreads();
  const int64_t end =
      wish.seconds == 0 ? INT64_MAX : nowMs() + 1000 * static_cast<int64_t>(wish.seconds);
  while (nowMs() < end) {
    const uint64_t at = tally.next.fetch_add(1);
    if (at >= wish.runs) break;
    const uint64_t seed = wish.seed + at * wish.every;
    const Kind kind = wish.kind < 0 ? kindOf(seed) : static_cast<Kind>(wish.kind);
    std::vector<std::string> again;
    const std::string wrong = runMischief(seed, kind, &again);
    for (const std::string& each : again) std::printf("AGAIN: %s\n", each.c_str());
    tally.again += again.size();
    ++tally.done[static_cast<int>(kind)];
    std::fflush(stdout);
    if (wrong.empty()) continue;
    ++tally.wrong[static_cast<int>(kind)];
    std::printf("WRONG: %s\n", wrong.c_str());
    std::fflush(stdout);
  }
  if (openDescriptors() != descriptors || runningThreads() != threads ||
      waitpid(-1, nullptr, WNOHANG) != -1) {
    std::printf("LEFT: %d descriptors, %d threads, or a process\n", openDescriptors() - descriptors,
                runningThreads() - threads);
    ++tally.leaks;
  }
}

int main(const Wish& wish) {
  auto* const tally =
      new (mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Tally{};
  const int64_t start = nowMs();
  std::vector<pid_t> pids;
  for (uint64_t j = 0; j < wish.jobs; ++j) {
    const pid_t pid = fork();
    if (pid == 0) {
      worker(wish, *tally);
      _exit(0);
    }
    pids.push_back(pid);
  }
  int crashed = 0;
  for (const pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    crashed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  uint64_t done = 0, wrong = 0;
  for (int k = 0; k < kKinds; ++k) {
    if (tally->done[k] == 0) continue;
    std::printf("%-12s %6llu runs, %llu wrong\n", kindName(static_cast<Kind>(k)),
                static_cast<unsigned long long>(tally->done[k]),
                static_cast<unsigned long long>(tally->wrong[k]));
    done += tally->done[k];
    wrong += tally->wrong[k];
  }
  std::printf(
      "seeds %llu to %llu: %llu runs in %.1f s, %llu wrong, %llu tried again (the machine was "
      "late), %d with something left, %d workers crashed\n",
      static_cast<unsigned long long>(wish.seed),
      static_cast<unsigned long long>(wish.seed + (std::max<uint64_t>(done, 1) - 1) * wish.every),
      static_cast<unsigned long long>(done), static_cast<double>(nowMs() - start) / 1000,
      static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(tally->again.load()),
      tally->leaks.load(), crashed);
  return wrong == 0 && tally->leaks == 0 && crashed == 0 && done > 0 ? 0 : 1;
}

}  // namespace
}  // namespace rondo::chaos

int main(int argc, char** argv) { return rondo::chaos::main(rondo::chaos::read(argc, argv)); }

// The programs of OSU's manner with several threads or processes on a rank: osu_latency_mt, whose
// second rank answers from two threads, and osu_latency_mp, whose ranks have forked children that
// end while the ranks go on.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "drop_in/osu_pattern.h"

namespace drop_in_test {
namespace {

constexpr int kThere = 1, kBack = 2;

/// Rank 0 sends and gets the same back.
int ask(size_t bytes, int round) {
  const int count = asInt(bytes / typeBytes());
  std::vector<char> out(bytes), back(bytes, 99);
  for (size_t i = 0; i < bytes / typeBytes(); ++i) put(out.data(), i, valueOf(0, 1, i, round));
  MPI_Send(out.data(), count, options.type, 1, kThere, MPI_COMM_WORLD);
  MPI_Recv(back.data(), count, options.type, 1, kBack, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return out != back;
}
void answer(size_t bytes) {
  const int count = asInt(bytes / typeBytes());
  std::vector<char> got(bytes);
  MPI_Recv(got.data(), count, options.type, 0, kThere, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(got.data(), count, options.type, 0, kBack, MPI_COMM_WORLD);
}

/// The first rank asks, the second one answers by `threads` threads.
bool latency(size_t bytes, int threads) {
  setRounds(bytes, 1000, 100, 100, 10);
  const int all = (rounds + skip) / threads * threads;
  int wrong = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (rank == 0) {
    for (int i = 0; i < all; ++i) wrong += ask(bytes, i);
  } else {
    std::vector<std::thread> answering;
    for (int t = 0; t < threads; ++t) {
      answering.emplace_back([=] {
        for (int i = 0; i < all / threads; ++i) answer(bytes);
      });
    }
    for (std::thread& each : answering) each.join();
  }
  const double seconds = MPI_Wtime() - begin;
  // What Rondo does, after what the threads, or the children, have done.
  int sum = 0, last = rank == 1 ? all : -1;
  MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(&last, 1, MPI_INT, 1, MPI_COMM_WORLD);
  const bool right = sum == 0 && last == all && all > 0;
  if (rank == 0) {
    std::printf("%-10zu%14.2f%14s\n", bytes, seconds / all * 1e6 / 2, right ? "Pass" : "Fail");
  }
  return right;
}

bool byThreads() {
  int level = 0;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) return false;
  return everySize([](size_t bytes) { return latency(bytes, 2); });
}

/// Children that know nothing of MPI sleep and end as programs do.
class Children {
 public:
  Children() {
    for (int i = 0; i < 2; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        usleep(50'000);
        std::exit(0);
      }
      all_.push_back(child);
    }
  }
  /// Whether all ended well.
  bool wait() const {
    bool well = true;
    for (const pid_t child : all_) {
      int status = -1;
      well &= child > 0 && waitpid(child, &status, 0) == child && status == 0;
    }
    return well;
  }

 private:
  std::vector<pid_t> all_;
};

bool byProcesses() {
  std::fflush(stdout);
  const Children children;
  const auto run = [] { return everySize([](size_t bytes) { return latency(bytes, 1); }); };
  const bool beside = run();
  int well = children.wait(), all = 0;
  MPI_Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return beside && all == 1 && run();
}

}  // namespace

bool isOfThreads(const std::string& name) {
  return ranks == 2 && !options.device && (name == "latency_mt" || name == "latency_mp");
}

bool runThreads(const std::string& name) {
  return name == "latency_mt" ? byThreads() : byProcesses();
}

}  // namespace drop_in_test

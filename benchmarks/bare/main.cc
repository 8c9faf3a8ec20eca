// bare_allreduce: Rondo's all-reduce of two processes beside kernels without a library around them,
// in turn, under one clock and one meeting. float32 sum, out of place, one hot set of buffers.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "api/rondo.h"
#include "kernels.h"
#include "pair.h"

namespace rondo::bare {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls before those that are timed: each contender finds its buffers as warm as they can be.
constexpr int kWarmUps = 2;

struct Options {
  uint64_t min = 16 << 10, max = 64 << 20, step = 4;
  int runs = 9;
};

void check(rondoResult_t result) {
  if (result != rondoSuccess) throw std::runtime_error(rondoGetLastError(nullptr));
}

/// The pair's communicator, and buffers of rondoMemAlloc.
class Rondo {
 public:
  Rondo(Pair& pair, size_t bytes) {
    rondoUniqueId id;
    Shared& shared = *pair.shared;
    static_assert(sizeof id == sizeof shared.rondoId);
    if (pair.rank == 0) {
      check(rondoGetUniqueId(&id));
      std::memcpy(shared.rondoId, &id, sizeof id);
    }
    pair.meet();
    std::memcpy(&id, shared.rondoId, sizeof id);
    check(rondoCommInitRank(&comm_, 2, id, pair.rank));
    check(rondoMemAlloc(reinterpret_cast<void**>(&send), bytes));
    check(rondoMemAlloc(reinterpret_cast<void**>(&recv), bytes));
  }
  ~Rondo() { rondoCommDestroy(comm_); }
  Rondo(const Rondo&) = delete;
  Rondo& operator=(const Rondo&) = delete;

  void sum(const float* from, float* to, size_t count) {
    check(rondoAllReduce(from, to, count, rondoFloat32, rondoSum, comm_, nullptr));
  }

  float* send;
  float* recv;

 private:
  rondoComm_t comm_ = nullptr;
};

/// One row: what runs, on which buffers the result is.
struct Contender {
  std::string name;
  bool direct;  ///< On memory that both map.
  std::function<void(size_t)> run;
  float* result;
  std::vector<double> usec;  ///< One mean a run, of both ranks.
};

void fill(Pair& pair, Rondo& rondo, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    pair.send[pair.rank][i] = rondo.send[i] =
        static_cast<float>((i * 7 + static_cast<size_t>(pair.rank)) % 1001);
  }
}

bool right(const float* result, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (result[i] != static_cast<float>(i * 7 % 1001 + (i * 7 + 1) % 1001)) return false;
  }
  return true;
}

double meanOf(Pair& pair, Contender& contender, size_t count, int iterations) {
  double total = 0;
  for (int i = -kWarmUps; i < iterations; ++i) {
    pair.meet();
    const Clock::time_point before = Clock::now();
    contender.run(count);
    const Clock::time_point after = Clock::now();
    if (i >= 0) total += std::chrono::duration<double, std::micro>(after - before).count();
    pair.meet();
  }
  pair.shared->usec[pair.rank] = total / iterations;
  pair.meet();
  const double mean = (pair.shared->usec[0] + pair.shared->usec[1]) / 2;
  pair.meet();
  return mean;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Medians of the two kinds: Rondo's, the best bare kernel's, and the median ratio of a run.
void print(const std::vector<Contender>& all, size_t bytes, bool direct) {
  const Contender* rondo = nullptr;
  const Contender* best = nullptr;
  for (const Contender& c : all) {
    if (c.direct != direct) continue;
    if (c.name == "rondo") {
      rondo = &c;
    } else if (best == nullptr || median(c.usec) < median(best->usec)) {
      best = &c;
    }
  }
  {
    std::printf("%zu %s:", bytes, direct ? "mapped" : "ordinary");
    for (const Contender& c : all)
      if (c.direct == direct) std::printf("  %s %.2f", c.name.c_str(), median(c.usec));
    std::printf("\n");
    return;
  }
  std::vector<double> ratios;
  for (size_t i = 0; i < rondo->usec.size(); ++i) ratios.push_back(rondo->usec[i] / best->usec[i]);
  std::printf("%10zu  %-8s %10.2f %10.2f  %-22s %6.2f\n", bytes, direct ? "mapped" : "ordinary",
              median(rondo->usec), median(best->usec), best->name.c_str(), median(ratios));
  std::fflush(stdout);
}

std::vector<std::pair<std::string, Rondo*>> others;
bool runSize(Pair& pair, Rondo& rondo, size_t bytes, int runs) {
  const size_t count = bytes / sizeof(float);
  const int iterations = static_cast<int>(std::clamp<size_t>((16 << 20) / bytes, 1, 500));
  float* own = pair.recv[pair.rank];
  std::vector<Contender> all;
  all.push_back(
      {"rondo", false, [&](size_t n) { rondo.sum(pair.send[pair.rank], own, n); }, own, {}});
  all.push_back(
      {"rondo", true, [&](size_t n) { rondo.sum(rondo.send, rondo.recv, n); }, rondo.recv, {}});
  for (auto& [name, r] : others) {
    all.push_back({name,
                   false,
                   [&pair, own, r](size_t n) { r->sum(pair.send[pair.rank], own, n); },
                   own,
                   {}});
    all.push_back({name, true, [r](size_t n) { r->sum(r->send, r->recv, n); }, r->recv, {}});
    fill(pair, *r, count);
  }
  for (const Kernel& k : kernels()) {
    all.push_back({k.name, k.direct, [&pair, &k](size_t n) { k.run(pair, n); }, own, {}});
  }
  fill(pair, rondo, count);
  for (int run = -1; run < runs; ++run) {  // the first warms up, and is checked
    for (Contender& c : all) {
      if (run < 0) std::memset(c.result, 0, bytes);
      const double usec = meanOf(pair, c, count, iterations);
      if (run >= 0) c.usec.push_back(usec);
      if (run < 0 && !right(c.result, count)) {
        std::fprintf(stderr, "bare_allreduce: %s, %zu bytes: wrong result\n", c.name.c_str(),
                     bytes);
        return false;
      }
    }
  }
  if (pair.rank == 0) {
    print(all, count * sizeof(float), false);
    print(all, count * sizeof(float), true);
  }
  return true;
}

int run(const Options& options) {
  Pair pair(options.max);
  Rondo rondo(pair, options.max);
  if (const char* list = getenv("OTHERS")) {
    std::string l = list;
    for (size_t at = 0; at < l.size();) {
      size_t end = std::min(l.find(' ', at), l.size());
      std::string one = l.substr(at, end - at);
      if (one[0] == 'w')
        setenv("RONDO_WIDE", one.c_str() + 1, 1);
      else
        setenv("RONDO_TUNE", ("allreduce:host:0-:" + one).c_str(), 1);
      others.push_back({one, new Rondo(pair, options.max)});
      at = end + 1;
    }
  }
  if (pair.rank == 0) {
    std::printf("%10s  %-8s %10s %10s  %-22s %6s\n", "bytes", "memory", "Rondo, us", "bare, us",
                "best bare kernel", "ratio");
    std::fflush(stdout);
  }
  for (uint64_t bytes = options.min; bytes <= options.max; bytes *= options.step) {
    if (!runSize(pair, rondo, bytes, options.runs)) return 1;
  }
  return pair.rank == 1 || pair.joined() ? 0 : 1;
}

}  // namespace
}  // namespace rondo::bare

int main(int argc, char** argv) {
  rondo::bare::Options options;
  CLI::App app(
      "Rondo's all-reduce of two processes beside bare kernels, interleaved; microseconds, "
      "medians of runs, and the median ratio");
  const CLI::AsSizeValue bytes(false);
  app.add_option("--min", options.min, "bytes of the first size")
      ->transform(bytes)
      ->check(CLI::Range(64, 1 << 30));
  app.add_option("--max", options.max, "bytes of the last size")
      ->transform(bytes)
      ->check(CLI::Range(64, 1 << 30));
  app.add_option("--step", options.step, "factor from size to size")->check(CLI::Range(2, 1024));
  app.add_option("--runs", options.runs, "runs of every contender")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  if (options.max < options.min) {
    std::fprintf(stderr, "bare_allreduce: --max %llu is below --min %llu\n",
                 static_cast<unsigned long long>(options.max),
                 static_cast<unsigned long long>(options.min));
    return 1;
  }
  try {
    return rondo::bare::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bare_allreduce: %s\n", error.what());
    return 1;
  }
}

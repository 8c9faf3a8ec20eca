// bare_allreduce: Rondo's all-reduce of two processes beside kernels without a library around them,
// in turn, under one clock and one meeting. float32 sum, out of place, one hot set of buffers, or
// sets that rotate as rondo-bench's do.

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
  bool rotate = false;
};

/// The sets of buffers of one size, one after the other in an area.
struct Sets {
  size_t count, stride;  ///< Bytes from one to the next: lines of different sets do not collide.

  Sets(uint64_t bytes, bool rotate) : count(1), stride(bytes / kLine * kLine + kLine) {
    if (!rotate) return;
    count = std::clamp<size_t>(kRotating / bytes, 2, 64);
    if (stride / kLine % 2 == 0) stride += kLine;
  }
  size_t area() const { return count * stride; }

 private:
  static constexpr size_t kLine = 64, kRotating = 64 << 20;
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
    check(rondoMemAlloc(reinterpret_cast<void**>(&sendArea_), bytes));
    check(rondoMemAlloc(reinterpret_cast<void**>(&recvArea_), bytes));
    turnTo(0);
  }
  ~Rondo() { rondoCommDestroy(comm_); }
  Rondo(const Rondo&) = delete;
  Rondo& operator=(const Rondo&) = delete;

  void sum(const float* from, float* to, size_t count) {
    check(rondoAllReduce(from, to, count, rondoFloat32, rondoSum, comm_, nullptr));
  }

  void turnTo(size_t bytes) {
    send = sendArea_ + bytes / sizeof(float);
    recv = recvArea_ + bytes / sizeof(float);
  }

  float* send;
  float* recv;

 private:
  float* sendArea_;
  float* recvArea_;
  rondoComm_t comm_ = nullptr;
};

/// What runs, and where the result of the present set is.
struct Contender {
  std::string name;
  Memory memory;
  std::function<void(size_t)> run;
  std::function<float*()> result;
  std::vector<double> usec;  ///< One mean a run, of both ranks.
};

/// All sets of one size, for Rondo and the kernels alike.
class Buffers {
 public:
  Buffers(Pair& pair, Rondo& rondo, const Sets& sets) : pair_(pair), rondo_(rondo), sets_(sets) {
    turnTo(0);
  }

  void turn() { turnTo((at_ + 1) % sets_.count); }
  void fill(size_t count) {
    for (size_t set = 0; set < sets_.count; ++set, turn()) {
      for (size_t i = 0; i < count; ++i) {
        pair_.send[pair_.rank][i] = rondo_.send[i] =
            static_cast<float>((i * 7 + static_cast<size_t>(pair_.rank)) % 1001);
      }
    }
  }

 private:
  void turnTo(size_t set) {
    at_ = set;
    pair_.turnTo(at_ * sets_.stride);
    rondo_.turnTo(at_ * sets_.stride);
  }

  Pair& pair_;
  Rondo& rondo_;
  const Sets sets_;
  size_t at_ = 0;
};

/// `alone` adds its own input twice.
bool right(const float* result, size_t count, bool alone, int rank) {
  const size_t first = alone ? static_cast<size_t>(rank) : 0, second = alone ? first : 1;
  for (size_t i = 0; i < count; ++i) {
    const size_t x = i * 7;
    if (result[i] != static_cast<float>((x + first) % 1001 + (x + second) % 1001)) return false;
  }
  return true;
}

double meanOf(Pair& pair, Buffers& buffers, Contender& contender, size_t count, int iterations) {
  double total = 0;
  for (int i = -kWarmUps; i < iterations; ++i) {
    buffers.turn();
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

/// The quickest kernel of a kind.
const Contender& best(const std::vector<Contender>& kernels, Memory memory) {
  const Contender* found = nullptr;
  for (const Contender& c : kernels) {
    if (c.memory != memory) continue;
    if (found == nullptr || median(c.usec) < median(found->usec)) found = &c;
  }
  return *found;
}

/// Rondo's median, the best bare kernel's, the median ratio of a run, and the pass without a peer.
void print(const Contender& rondo, const std::vector<Contender>& kernels, size_t bytes) {
  const Contender& bare = best(kernels, rondo.memory);
  std::vector<double> ratios;
  for (size_t i = 0; i < rondo.usec.size(); ++i) ratios.push_back(rondo.usec[i] / bare.usec[i]);
  std::printf("%10zu  %-8s %10.2f %10.2f  %-22s %6.2f %10.2f\n", bytes,
              rondo.memory == Memory::Direct ? "mapped" : "ordinary", median(rondo.usec),
              median(bare.usec), bare.name.c_str(), median(ratios),
              median(best(kernels, Memory::Alone).usec));
  std::fflush(stdout);
}

bool runSize(Pair& pair, Rondo& rondo, size_t bytes, const Options& options) {
  const size_t count = bytes / sizeof(float);
  const int iterations = static_cast<int>(std::clamp<size_t>((16 << 20) / bytes, 1, 500));
  const auto own = [&pair] { return pair.recv[pair.rank]; };
  std::vector<Contender> library = {
      {"rondo",
       Memory::Staged,
       [&](size_t n) { rondo.sum(pair.send[pair.rank], pair.recv[pair.rank], n); },
       own,
       {}},
      {"rondo",
       Memory::Direct,
       [&](size_t n) { rondo.sum(rondo.send, rondo.recv, n); },
       [&rondo] { return rondo.recv; },
       {}}};
  std::vector<Contender> bare;
  for (const Kernel& k : kernels()) {
    bare.push_back({k.name, k.memory, [&pair, &k](size_t n) { k.run(pair, n); }, own, {}});
  }
  Buffers buffers(pair, rondo, Sets(bytes, options.rotate));
  buffers.fill(count);
  for (int run = -1; run < options.runs; ++run) {  // the first warms up, and is checked
    for (std::vector<Contender>* some : {&library, &bare}) {
      for (Contender& c : *some) {
        const double usec = meanOf(pair, buffers, c, count, iterations);
        if (run >= 0) c.usec.push_back(usec);
        if (run < 0 && !right(c.result(), count, c.memory == Memory::Alone, pair.rank)) {
          std::fprintf(stderr, "bare_allreduce: %s, %zu bytes: wrong result\n", c.name.c_str(),
                       bytes);
          return false;
        }
        // What comes next finds nothing that was left.
        if (run < 0) std::memset(c.result(), 0, bytes);
      }
    }
  }
  if (pair.rank == 0) {
    for (const Contender& c : library) print(c, bare, count * sizeof(float));
  }
  return true;
}

int run(const Options& options) {
  size_t area = 0;
  for (uint64_t bytes = options.min; bytes <= options.max; bytes *= options.step) {
    area = std::max(area, Sets(bytes, options.rotate).area());
  }
  Pair pair(area);
  Rondo rondo(pair, area);
  if (pair.rank == 0) {
    std::printf("%10s  %-8s %10s %10s  %-22s %6s %10s\n", "bytes", "memory", "Rondo, us",
                "bare, us", "best bare kernel", "ratio", "alone, us");
    std::fflush(stdout);
  }
  for (uint64_t bytes = options.min; bytes <= options.max; bytes *= options.step) {
    if (!runSize(pair, rondo, bytes, options)) return 1;
  }
  return pair.rank == 1 || pair.joined() ? 0 : 1;
}

}  // namespace
}  // namespace rondo::bare

int main(int argc, char** argv) {
  rondo::bare::Options options;
  CLI::App app(
      "Rondo's all-reduce of two processes beside bare kernels, interleaved; microseconds, "
      "medians of runs, and the median ratio; `alone` is a pass over the own buffers, below which "
      "no all-reduce can be");
  const CLI::AsSizeValue bytes(false);
  app.add_option("--min", options.min, "bytes of the first size")
      ->transform(bytes)
      ->check(CLI::Range(64, 1 << 30));
  app.add_option("--max", options.max, "bytes of the last size")
      ->transform(bytes)
      ->check(CLI::Range(64, 1 << 30));
  app.add_option("--step", options.step, "factor from size to size")->check(CLI::Range(2, 1024));
  app.add_option("--runs", options.runs, "runs of every contender")->check(CLI::Range(1, 1000));
  app.add_flag("--rotate", options.rotate,
               "Sets of buffers rotate: 64 MiB of them, 2 sets at least, 64 at most");
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

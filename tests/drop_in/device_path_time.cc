// device_path_test: times of calls on device buffers, beside the same by copies to the host and
// back, in turns in one run; and how much of a non-blocking call hides behind a kernel.

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "drop_in/device_path.h"

namespace drop_in_test {
namespace {

constexpr size_t kMost = size_t{16} << 20;

/// Seconds of each call in the middle of `rounds`, on the slowest rank, the calls in turns.
template <size_t n, class Calls>
std::array<double, n> secondsOf(int rounds, const Calls& calls) {
  constexpr int kBefore = 20;
  std::array<std::vector<double>, n> times;
  for (int i = 0; i < rounds + kBefore; ++i) {
    for (size_t which = 0; which < n; ++which) {
      PMPI_Barrier(MPI_COMM_WORLD);
      const double begin = PMPI_Wtime();
      calls(which, i);
      double seconds = PMPI_Wtime() - begin;
      PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (i >= kBefore) times[which].push_back(seconds);
    }
  }
  std::array<double, n> middle;
  for (size_t which = 0; which < n; ++which) {
    std::sort(times[which].begin(), times[which].end());
    middle[which] = times[which][times[which].size() / 2];
  }
  return middle;
}

/// Of floats, and as many on the host.
class Vectors {
 public:
  explicit Vectors(size_t most)
      : in_(true, most / 4 + kPlaces * kApart, 1),
        out_(true, most / 4, 0),
        host_(most / 4),
        result_(most / 4) {}
  float* out() { return out_.data(); }
  /// The `which`th place for an input: a call is kept as a graph when it has come 16 times.
  float* place(size_t which) { return in_.data() + which % kPlaces * kApart; }
  float* otherPlace(int round) { return place(1 + static_cast<size_t>(round) % (kPlaces - 1)); }
  /// call(from, to) on the host, as an MPI does that is told of devices; of `sent` and `received`
  /// bytes.
  template <class Call>
  void byCopies(size_t sent, size_t received, const Call& call) {
    void* const from = host_.data();
    const void* const to = result_.data();
    driverCall("cuMemcpyDtoH_v2", from, reinterpret_cast<DevicePointer>(in_.data()), sent);
    call(host_.data(), result_.data());
    driverCall("cuMemcpyHtoD_v2", reinterpret_cast<DevicePointer>(out_.data()), to, received);
  }

 private:
  static constexpr size_t kPlaces = 256, kApart = 64;
  Buffer<float> in_, out_;
  std::vector<float> host_, result_;
};

int roundsOf(size_t bytes) { return bytes < (1 << 20) ? 200 : 30; }

void reduceByCopies(Vectors& vectors, size_t bytes) {
  vectors.byCopies(bytes, bytes, [&](float* from, float* to) {
    PMPI_Allreduce(from, to, static_cast<int>(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  });
}

}  // namespace

void timing() {
  Vectors vectors(kMost);
  if (rank == 0) {
    std::printf("%10s %12s %12s %12s %22s\n", "bytes", "copies us", "launched us", "again us",
                "times quicker than copies");
  }
  for (size_t bytes = 8; bytes <= kMost; bytes *= bytes < 1024 ? 8 : 4) {
    const auto count = static_cast<int>(bytes / 4);
    const auto calls = [&](size_t which, int round) {
      if (which == 0) return reduceByCopies(vectors, bytes);
      float* const from = which == 2 ? vectors.place(0) : vectors.otherPlace(round);
      MPI_Allreduce(from, vectors.out(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    const auto [byCopies, launched, again] = secondsOf<3>(roundsOf(bytes), calls);
    if (rank == 0) {
      std::printf("%10zu %12.2f %12.2f %12.2f %14.2f %7.2f\n", bytes, byCopies * 1e6,
                  launched * 1e6, again * 1e6, byCopies / launched, byCopies / again);
    }
  }
  expect(true, "time");
}

/// Calls that follow each other as in OSU's loops, a barrier between them: of one place, which are
/// kept as graphs, and whose kernels stay for the next one unless RONDO_MPI_LINGER=0.
void timingRow() {
  constexpr int kCalls = 100, kRounds = 30;
  Vectors vectors(kMost);
  if (rank == 0) {
    std::printf("%10s %12s %12s %10s\n", "bytes", "copies us", "in a row us", "times quicker");
  }
  for (size_t bytes = 8; bytes <= size_t{256} << 10; bytes *= bytes < 1024 ? 8 : 4) {
    const auto count = static_cast<int>(bytes / 4);
    std::array<double, 2> spent{};
    const auto calls = [&](size_t which) {
      spent[which] = 0;
      for (int i = 0; i < kCalls; ++i) {
        PMPI_Barrier(MPI_COMM_WORLD);
        const double begin = PMPI_Wtime();
        if (which == 0) {
          reduceByCopies(vectors, bytes);
        } else {
          MPI_Allreduce(vectors.place(0), vectors.out(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        spent[which] += PMPI_Wtime() - begin;
      }
    };
    std::array<std::vector<double>, 2> times;
    for (int round = 0; round < kRounds; ++round) {
      for (const size_t which : {size_t{0}, size_t{1}}) {
        calls(which);
        PMPI_Allreduce(MPI_IN_PLACE, &spent[which], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        times[which].push_back(spent[which] / kCalls);
      }
    }
    for (std::vector<double>& each : times) std::sort(each.begin(), each.end());
    const double byCopies = times[0][kRounds / 2], inRow = times[1][kRounds / 2];
    if (rank == 0) {
      std::printf("%10zu %12.2f %12.2f %10.2f\n", bytes, byCopies * 1e6, inRow * 1e6,
                  byCopies / inRow);
    }
  }
  expect(true, "time-row");
}

namespace {

void reduceLater(float* from, float* to, int count) {
  MPI_Request request;
  MPI_Iallreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void timeRequests(Vectors& vectors) {
  if (rank == 0) {
    std::printf("%10s %12s %12s %12s %12s %14s %14s\n", "bytes", "copies us", "blocking us",
                "graph us", "I.. + Wait", "over blocking", "copies over it");
  }
  for (const size_t bytes :
       {size_t{8}, size_t{4} << 10, size_t{64} << 10, size_t{1} << 20, kMost}) {
    const auto count = static_cast<int>(bytes / 4);
    const auto calls = [&](size_t which, int round) {
      if (which == 0) return reduceByCopies(vectors, bytes);
      float* const from = which == 2 ? vectors.place(0) : vectors.otherPlace(round);
      if (which == 3) return reduceLater(from, vectors.out(), count);
      MPI_Allreduce(from, vectors.out(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    };
    const auto [byCopies, blocking, graph, later] = secondsOf<4>(roundsOf(bytes), calls);
    if (rank == 0) {
      std::printf("%10zu %12.2f %12.2f %12.2f %12.2f %14.2f %14.2f\n", bytes, byCopies * 1e6,
                  blocking * 1e6, graph * 1e6, later * 1e6, later / blocking, byCopies / later);
    }
  }
}

/// Threads that multiply and add, nothing else: the program's computing. By a stream of its own.
class Work {
 public:
  Work() {
    void* module = nullptr;
    driverCall("cuModuleLoadData", &module, static_cast<const void*>(kSource));
    driverCall("cuModuleGetFunction", &function_, module, "work");
    driverCall("cuStreamCreate", &stream_, 1u);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  void begin(unsigned blocks, unsigned rounds) {
    DevicePointer nowhere = 0;
    void* arguments[] = {&nowhere, &rounds};
    void** const given = arguments;
    void** const none = nullptr;
    driverCall("cuLaunchKernel", function_, blocks, 1u, 1u, 512u, 1u, 1u, 0u, stream_, given, none);
  }
  void end() { driverCall("cuStreamSynchronize", stream_); }

 private:
  static constexpr const char* kSource = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry work(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %more, %never;
  .reg .f32 %x;
  .reg .u32 %i, %most;
  .reg .u64 %to;
  ld.param.u64 %to, [out];
  ld.param.u32 %most, [rounds];
  mov.f32 %x, 0f3F800000;
  mov.u32 %i, 0;
again:
  fma.rn.f32 %x, %x, 0f3F000000, 0f3F800000;
  fma.rn.f32 %x, %x, 0f3F000000, 0f3F800000;
  fma.rn.f32 %x, %x, 0f3F000000, 0f3F800000;
  fma.rn.f32 %x, %x, 0f3F000000, 0f3F800000;
  add.u32 %i, %i, 1;
  setp.lt.u32 %more, %i, %most;
  @%more bra again;
  setp.lt.f32 %never, %x, 0f00000000;
  @%never st.global.f32 [%to], %x;
  ret;
}
)";
  void* function_ = nullptr;
  void* stream_ = nullptr;
};

/// An all-reduce of 16 MiB and computing that takes twice as long alone: begun one after the other,
/// and both ended.
void timeHiding(Vectors& vectors) {
  constexpr int kRounds = 50;
  const auto count = static_cast<int>(kMost / 4);
  Work work;
  MPI_Request request;
  const auto begin = [&](int round) {
    MPI_Iallreduce(vectors.otherPlace(round), vectors.out(), count, MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, &request);
  };
  const auto end = [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); };
  const auto reduce = [&](int round) {
    begin(round);
    end();
  };
  const auto reduceFirst = [&](int round, auto&& compute) {
    begin(round);
    compute();
    end();
  };
  if (rank == 0) {
    std::printf("all-reduce of 16 MiB beside computing; hidden: of the all-reduce's time\n");
    std::printf("%8s %12s %12s %12s %8s %14s %8s\n", "blocks", "reduce us", "compute us",
                "reduce first", "hidden", "compute first", "hidden");
  }
  // A fraction of an H200's threads, all of them, and many times all, which come and go.
  for (const unsigned blocks : {64u, 528u, 5280u}) {
    unsigned rounds = blocks > 1000 ? 1000 : 10000;
    const auto compute = [&] {
      work.begin(blocks, rounds);
      work.end();
    };
    const auto alone = [&](size_t which, int round) { which == 0 ? reduce(round) : compute(); };
    const auto [first, guessed] = secondsOf<2>(kRounds, alone);
    double scaled = rounds * 2 * first / guessed;
    PMPI_Bcast(&scaled, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    rounds = static_cast<unsigned>(std::max(1.0, scaled));
    const auto all = [&](size_t which, int round) {
      if (which < 2) return alone(which, round);
      if (which == 2) return reduceFirst(round, compute);
      work.begin(blocks, rounds);
      reduce(round);
      work.end();
    };
    const auto [reducing, computing, before, after] = secondsOf<4>(kRounds, all);
    if (rank == 0) {
      std::printf("%8u %12.2f %12.2f %12.2f %7.0f%% %14.2f %7.0f%%\n", blocks, reducing * 1e6,
                  computing * 1e6, before * 1e6, 100 * (reducing + computing - before) / reducing,
                  after * 1e6, 100 * (reducing + computing - after) / reducing);
    }
  }
}

}  // namespace

void timingLater() {
  openTheWay(MPI_COMM_WORLD);
  Vectors vectors(kMost);
  timeRequests(vectors);
  if (counted("fakeLaunched") < 0) timeHiding(vectors);
  expect(true, "time-later");
}

/// Blocks that differ by one element; `bytes` of all of them.
void timingScattered() {
  Vectors vectors(kMost);
  if (rank == 0) {
    std::printf("%10s %12s %12s %12s %12s %16s\n", "bytes", "Open MPI us", "by host us",
                "uneven us", "one size us", "by host / uneven");
  }
  for (const size_t bytes :
       {size_t{64}, size_t{4} << 10, size_t{64} << 10, size_t{1} << 20, kMost}) {
    const int mean = static_cast<int>(bytes / 4) / ranks;
    const std::vector<int> even(n(), mean);
    std::vector<int> uneven = even;
    ++uneven.front();
    --uneven.back();
    const auto own = static_cast<size_t>(uneven[static_cast<size_t>(rank)]) * 4;
    const auto calls = [&](size_t which, int round) {
      if (which < 2) {
        const auto call = which == 0 ? PMPI_Reduce_scatter : MPI_Reduce_scatter;
        return vectors.byCopies(bytes, own, [&](float* from, float* to) {
          call(from, to, uneven.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        });
      }
      const int* const counts = which == 2 ? uneven.data() : even.data();
      MPI_Reduce_scatter(vectors.otherPlace(round), vectors.out(), counts, MPI_FLOAT, MPI_SUM,
                         MPI_COMM_WORLD);
    };
    const auto [openMpi, byHost, cut, alike] = secondsOf<4>(roundsOf(bytes), calls);
    if (rank == 0) {
      std::printf("%10zu %12.2f %12.2f %12.2f %12.2f %16.2f\n", bytes, openMpi * 1e6, byHost * 1e6,
                  cut * 1e6, alike * 1e6, byHost / cut);
    }
  }
  expect(true, "time-scattered");
}

}  // namespace drop_in_test

// Times the device all-reduce beside NCCL, one process a GPU: mpirun -n GPUS gpu_bench [MAX_BYTES]
//
// As the bare probe does: 20 calls back to back, launched one by one (eager) or captured in a graph
// that is replayed; the median of 5 of the slowest rank's time per call. Buffers rotate, results
// are poisoned before and checked after.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "gpu/nccl_peer.h"
#include "gpu/rank_env.h"
#include "support/mpi_test_bootstrap.h"

namespace rondo::test {
namespace {

constexpr int kCalls = 20;
constexpr int kRepeats = 5;
constexpr size_t kRotateBytes = 256u << 20;  // larger sums of buffers rotate over fewer

double nowUs() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

double maxOf(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

class Bench {
 public:
  using Call = std::function<void(const float*, float*, size_t)>;

  Bench(RankEnv& env, size_t mostBytes) : env_(env), most_(mostBytes) {
    room_ = std::max(kRotateBytes, most_);
    cuda(cudaMalloc(&src_, room_), "cudaMalloc");
    cuda(cudaMalloc(&dst_, room_), "cudaMalloc");
    cuda(cudaMalloc(&meet_, 64), "cudaMalloc");
    cuda(cudaMemset(meet_, 0, 64), "cudaMemset");
    for (cudaEvent_t* e : {&begin_, &end_}) cuda(cudaEventCreate(e), "cudaEventCreate");
  }

  struct Result {
    double eager = 0, graph = 0, host = 0;
    uint64_t wrong = 0;
  };

  /// Prepares one size; then measure() may be called for several libraries in turn.
  void setSize(size_t bytes) {
    count_ = bytes / sizeof(float);
    stride_ = (bytes + 255) / 256 * 256 / sizeof(float);
    places_ = std::clamp<size_t>(room_ / sizeof(float) / stride_, 1, kCalls);
    std::vector<float> data(count_);
    for (size_t k = 0; k < places_; ++k) {
      for (size_t i = 0; i < count_; ++i) data[i] = whole(env_.rank(), i, k);
      cuda(cudaMemcpy(src_ + k * stride_, data.data(), bytes, cudaMemcpyHostToDevice), "copy");
    }
  }

  Result measure(const Call& call) {
    Result result;
    poison();
    std::vector<double> host;
    result.eager = timed(
        [&] {
          const double t = nowUs();
          enqueue(call);
          host.push_back((nowUs() - t) / kCalls);
        },
        1);
    result.host = maxOf(median(host));
    result.wrong = wrong();
    poison();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cuda(cudaStreamBeginCapture(env_.stream, cudaStreamCaptureModeThreadLocal), "capture");
    enqueue(call);
    cuda(cudaStreamEndCapture(env_.stream, &graph), "end capture");
    cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    cuda(cudaGraphUpload(exec, env_.stream), "upload");
    const int replays = count_ * sizeof(float) <= (1u << 20) ? 5 : 1;
    result.graph = timed(
        [&] {
          for (int i = 0; i < replays; ++i)
            cuda(cudaGraphLaunch(exec, env_.stream), "graph launch");
        },
        replays);
    result.wrong += wrong();
    cuda(cudaGraphExecDestroy(exec), "destroy");
    cuda(cudaGraphDestroy(graph), "destroy");
    return result;
  }

 private:
  // Small whole numbers: every order of summation gives the same bits.
  static float whole(int rank, uint64_t i, uint64_t place) {
    const uint64_t h = (i * 2654435761u) ^ (static_cast<uint64_t>(rank) * 40503u) ^ (place * 977u);
    return static_cast<float>(static_cast<int>((h >> 7) % 33) - 16);
  }

  void enqueue(const Call& call) {
    for (size_t k = 0; k < kCalls; ++k) {
      const size_t place = k % places_ * stride_;
      call(src_ + place, dst_ + place, count_);
    }
  }

  // A small all-reduce lets all devices begin together.
  double timed(const std::function<void()>& work, int replays) {
    std::vector<double> times;
    for (int k = -1; k < kRepeats; ++k) {
      env_.sync();
      MPI_Barrier(MPI_COMM_WORLD);
      env_.allReduce(meet_, meet_, 2);
      cuda(cudaEventRecord(begin_, env_.stream), "record");
      work();
      cuda(cudaEventRecord(end_, env_.stream), "record");
      env_.sync();
      float ms = 0;
      cuda(cudaEventElapsedTime(&ms, begin_, end_), "elapsed");
      const double us = maxOf(ms * 1000.0 / kCalls / replays);
      if (k >= 0) times.push_back(us);
    }
    return median(times);
  }

  void poison() {
    cuda(cudaMemsetAsync(dst_, 0xff, places_ * stride_ * sizeof(float), env_.stream), "memset");
    env_.sync();
  }

  uint64_t wrong() {
    uint64_t bad = 0;
    std::vector<float> got(count_);
    for (size_t k = 0; k < places_; ++k) {
      cuda(cudaMemcpy(got.data(), dst_ + k * stride_, count_ * sizeof(float),
                      cudaMemcpyDeviceToHost),
           "copy");
      for (size_t i = 0; i < count_; ++i) {
        float want = 0;
        for (int r = 0; r < env_.size(); ++r) want += whole(r, i, k);
        bad += got[i] == want ? 0 : 1;
      }
    }
    uint64_t all = 0;
    MPI_Allreduce(&bad, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

  RankEnv& env_;
  size_t most_, room_ = 0;
  float *src_ = nullptr, *dst_ = nullptr, *meet_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  size_t count_ = 0, stride_ = 0, places_ = 1;
};

void printRow(size_t bytes, const char* algorithm, const Bench::Result& rondo,
              const Bench::Result& nccl, int size) {
  const double bus = 2.0 * (size - 1) / size * static_cast<double>(bytes) / rondo.graph / 1000.0;
  std::printf("%10zu %-8s %8.2f %8.2f %6.2f  %8.2f %8.2f %6.2f  %8.1f %6.2f %6llu %6llu\n", bytes,
              algorithm, rondo.eager, nccl.eager, rondo.eager / nccl.eager, rondo.graph, nccl.graph,
              rondo.graph / nccl.graph, bus, rondo.host,
              static_cast<unsigned long long>(rondo.wrong),
              static_cast<unsigned long long>(nccl.wrong));
  std::fflush(stdout);
}

int runBench(size_t mostBytes) {
  int rank = 0;
  int devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  cuda(cudaSetDevice(rank % devices), "cudaSetDevice");
  NcclPeer nccl;
  MpiTestBootstrap boot;
  std::vector<int> peers;
  for (int r = 0; r < boot.size(); ++r) {
    if (r != rank) peers.push_back(r);
  }
  FdExchange fds(boot, peers);
  MPI_Barrier(MPI_COMM_WORLD);
  const double t = nowUs();
  DeviceConfig config;
  config.spinBoundMs = 20000;  // a hang becomes a failure; costs nothing in a wait that works
  RankEnv env(boot, &fds, config);
  if (env.runner == nullptr) throw Error(rondoInternalError, "no runner: " + env.why);
  const double made = maxOf(nowUs() - t);
  Bench bench(env, mostBytes);
  if (rank == 0) {
    std::printf(
        "%d ranks; runner and test buffers made in %.0f ms; NCCL %s\n"
        "                       eager, us                 graph, us                   graph"
        "   host   wrong\n"
        "     bytes algorithm   rondo     nccl  ratio     rondo     nccl  ratio      GB/s"
        "     us  rondo   nccl\n",
        env.size(), made / 1000, nccl.ok() ? "beside it" : "not found");
  }
  uint64_t bad = 0;
  for (size_t bytes = 8; bytes <= mostBytes; bytes *= bytes < (1u << 20) ? 2 : 4) {
    bench.setSize(bytes);
    const Bench::Result mine =
        bench.measure([&](const float* s, float* d, size_t n) { env.allReduce(s, d, n); });
    Bench::Result peer;
    if (nccl.ok()) {
      peer = bench.measure([&](const float* s, float* d, size_t n) {
        if (nccl.allReduce(s, d, n, env.stream) != 0) throw Error(rondoInternalError, "NCCL");
      });
    }
    bad += mine.wrong;
    if (rank == 0) {
      printRow(bytes, env.runner->choose(bytes / 4).algorithm, mine, peer, env.size());
    }
  }
  env.runner->check();
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = rondo::test::runBench(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64u << 20);
  } catch (const rondo::Error& error) {
    std::printf("FAIL: %s\n", error.what());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}

// What a group of small all-reduces costs on GPUs: as one group, one after the other, and as a
// group of NCCL's. Run it under mpirun, a GPU for each rank, with libnccl.so.2 where the loader
// finds it. Rank 0 prints a row for each number of calls and size: microseconds for all calls of a
// group, the median of rounds in which all three take turns, of the slowest rank. The exit status
// is 1 if a result was wrong on any rank.

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <vector>

#include "api/rondo.h"
#include "api/rondo_mpi.h"

namespace {

constexpr int kRounds = 41;
constexpr int kGroups = 20;  // of a graph, or between two waits

void fail(const char* what, const char* why) {
  std::fprintf(stderr, "device_group: %s: %s\n", what, why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
void cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}
void rondo(rondoResult_t result) {
  if (result != rondoSuccess) fail("rondo", rondoGetLastError(nullptr));
}

/// NCCL's functions, as its header declares them.
struct Nccl {
  struct Id {
    char bytes[128];
  };
  using Comm = void*;
  int (*getUniqueId)(Id*);
  int (*commInitRank)(Comm*, int, Id, int);
  int (*allReduce)(const void*, void*, size_t, int, int, Comm, cudaStream_t);
  int (*groupStart)();
  int (*groupEnd)();
  Comm comm = nullptr;

  Nccl(int rank, int size) {
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail("libnccl.so.2", dlerror());
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) fail("libnccl.so.2 lacks", name);
    };
    find(getUniqueId, "ncclGetUniqueId");
    find(commInitRank, "ncclCommInitRank");
    find(allReduce, "ncclAllReduce");
    find(groupStart, "ncclGroupStart");
    find(groupEnd, "ncclGroupEnd");
    Id id{};
    if (rank == 0) check(getUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    check(commInitRank(&comm, size, id, rank));
  }
  static void check(int result) {
    if (result != 0) fail("NCCL", "a call failed");
  }
};

/// One of the three ways, eager or as a graph.
class Way {
 public:
  Way(const std::function<void()>& group, cudaStream_t stream, bool graph)
      : group_(group), stream_(stream) {
    group_();  // first calls make what later ones keep
    cuda(cudaStreamSynchronize(stream_), "a first group");
    if (!graph) return;
    cudaGraph_t made = nullptr;
    cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < kGroups; ++i) group_();
    cuda(cudaStreamEndCapture(stream_, &made), "capture");
    cuda(cudaGraphInstantiate(&graph_, made, 0), "a graph");
    cuda(cudaGraphDestroy(made), "a graph");
  }
  ~Way() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  double run() {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (graph_ != nullptr) {
      cuda(cudaGraphLaunch(graph_, stream_), "a graph");
    } else {
      for (int i = 0; i < kGroups; ++i) group_();
    }
    cuda(cudaStreamSynchronize(stream_), "a round");
    return (MPI_Wtime() - begin) * 1e6 / kGroups;
  }

 private:
  std::function<void()> group_;
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

double median(std::vector<double> times) {
  std::vector<double> slowest(times.size());
  MPI_Allreduce(times.data(), slowest.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  std::nth_element(slowest.begin(), slowest.begin() + kRounds / 2, slowest.end());
  return slowest[kRounds / 2];
}

/// Results of a first group, of threes: three times as many as there are ranks, on all of them.
bool right(float* out, size_t count, int ranks) {
  std::vector<float> host(count);
  cuda(cudaMemcpy(host.data(), out, count * sizeof(float), cudaMemcpyDeviceToHost), "a copy");
  int good = std::all_of(host.begin(), host.end(),
                         [&](float value) { return value == 3 * static_cast<float>(ranks); });
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return good != 0;
}

/// Whether all results were right.
bool row(size_t calls, size_t bytes, bool graph, rondoComm_t comm, Nccl& nccl, int rank,
         int ranks) {
  const size_t count = bytes / sizeof(float), all = calls * count;
  float *in = nullptr, *out = nullptr;
  cudaStream_t stream = nullptr;
  cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  cuda(cudaMalloc(&in, all * sizeof(float)), "memory");
  cuda(cudaMalloc(&out, all * sizeof(float)), "memory");
  const std::vector<float> threes(all, 3);
  cuda(cudaMemcpy(in, threes.data(), all * sizeof(float), cudaMemcpyHostToDevice), "a copy");
  cuda(cudaDeviceSynchronize(), "the device");
  const auto each = [&](const auto& call) {
    for (size_t k = 0; k < calls; ++k) call(in + k * count, out + k * count);
  };
  const auto plain = [&] {
    each([&](float* from, float* to) {
      rondo(rondoAllReduce(from, to, count, rondoFloat32, rondoSum, comm, stream));
    });
  };
  const auto grouped = [&] {
    rondo(rondoGroupStart());
    plain();
    rondo(rondoGroupEnd());
  };
  const auto ncclGrouped = [&] {
    Nccl::check(nccl.groupStart());
    each([&](float* from, float* to) {
      Nccl::check(nccl.allReduce(from, to, count, 7, 0, nccl.comm, stream));
    });
    Nccl::check(nccl.groupEnd());
  };
  bool good = true;
  const auto fresh = [&](const auto& way) {
    cuda(cudaMemset(out, 0, all * sizeof(float)), "memory");
    cuda(cudaDeviceSynchronize(), "the device");
    way();
    cuda(cudaStreamSynchronize(stream), "a group");
    good = right(out, all, ranks) && good;
  };
  fresh(plain);
  fresh(grouped);
  fresh(ncclGrouped);
  {
    Way ways[3] = {{grouped, stream, graph}, {plain, stream, graph}, {ncclGrouped, stream, graph}};
    std::array<std::vector<double>, 3> times;
    for (int round = 0; round < kRounds; ++round) {
      for (size_t w = 0; w < 3; ++w) times[w].push_back(ways[w].run());
    }
    const double a = median(times[0]), b = median(times[1]), c = median(times[2]);
    if (rank == 0) {
      std::printf("%-6s %6zu %8zu %10.2f %10.2f %10.2f %9.2f%s\n", graph ? "graph" : "eager", calls,
                  bytes, a, b, c, a / c, good ? "" : "  WRONG");
      std::fflush(stdout);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  cudaFree(in);
  cudaFree(out);
  cudaStreamDestroy(stream);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("NCCL_NVLS_ENABLE", "0", 1);  // multicast may put shared GPUs out of service
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  cuda(cudaGetDeviceCount(&devices), "devices");
  cuda(cudaSetDevice(rank % devices), "a device");
  rondoComm_t comm = nullptr;
  rondo(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr));
  Nccl nccl(rank, ranks);
  if (rank == 0) {
    std::printf("%-6s %6s %8s %10s %10s %10s %9s\n", "", "calls", "bytes", "group", "alone", "nccl",
                "of nccl");
  }
  bool good = true;
  for (const bool graph : {true, false}) {
    for (const size_t calls : {2u, 8u, 32u, 64u}) {
      for (const size_t bytes : {64u, 4096u, 32768u}) {
        good = row(calls, bytes, graph, comm, nccl, rank, ranks) && good;
      }
    }
  }
  rondo(rondoCommDestroy(comm));
  MPI_Finalize();
  return good ? 0 : 1;
}

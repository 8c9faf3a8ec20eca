// Device collectives of separate processes, one a GPU: mpirun -n GPUS gpu_mpi [PART]
// With PART only the cases whose names contain it.

#include <mpi.h>

#include <cstring>

#include "base/error.h"
#include "gpu/cases.h"
#include "support/mpi_test_bootstrap.h"

namespace rondo::test {
namespace {

struct Case {
  const char* name;
  uint64_t (*run)(RankEnv&);
  bool legacyIpc;
  bool noSms = false;
  bool peersMemory = false;  // nothing to test where ranks meet in host memory
  bool background = false;   // with peersMemory: what is not registered goes straight, too
  const Way* way = nullptr;  // how everything is done
};

template <size_t way>
uint64_t grid(RankEnv& env) {
  if (kWays[way].lines && !env.runner->deviceFacts()->lineStores) return 0;
  return gridOfAlignments(env, kWays[way]) + gridOfLongCalls(env, kWays[way]);
}

constexpr Case kCases[] = {
    {"many counts", manyCounts, false},
    {"back to back", backToBack, false},
    {"period tails", periodTails, false},
    {"graph replays", graphReplays, false},
    {"epoch wrap", epochWrap, false},
    {"legacy IPC", backToBack, true},
    {"every type and operator", everyTypeAndOperator, false},
    {"premultiplied sums", premultipliedSums, false},
    {"every collective", everyCollective, false},
    {"grid of rings", grid<0>, false, false, false, false, &kWays[0]},
    {"grid of lines", grid<1>, false, false, false, false, &kWays[1]},
    {"grid of words", grid<2>, false, false, false, false, &kWays[2]},
    {"grid of two shots", grid<3>, false, false, false, false, &kWays[3]},
    {"mixed in a row", mixedInARow, false},
    {"mixed in graphs", mixedInGraphs, false},
    {"transfer sizes", transferSizes, false},
    {"transfer mix", transferMix, false},
    {"transfer rounds", transferRounds, false},
    {"transfers in a row", transfersInARow, false},
    {"transfer graphs", transferGraphs, false},
    {"transfer wrap", transferWrap, false},
    {"transfer mix, legacy IPC", transferMix, true},
    {"registered transfers", registeredTransfers, false, false, true},
    {"partly registered", partlyRegistered, false, false, true},
    {"copy engines", copyEngineMoves, false, false, true},
    {"copy engines alone", copyEnginesAlone, false, true, true},
    {"windows", windowMoves, false, false, true},
    {"window stores", windowStores, false, false, true},
    {"copy engine sums", copyEngineSums, false, false, true},
    {"copy engine graphs", copyEngineGraphs, false, false, true},
    {"registered over and over", registeredOverAndOver, false, false, true},
    {"background transfers", backgroundTransfers, false, false, true, true},
    {"background graphs", backgroundGraphs, false, false, true, true},
    {"background memory", backgroundMemoryComesAndGoes, false, false, true, true},
    {"straight rings", straightRings, false, false, true, true, &kWays[0]},
    {"straight ring graphs", straightRingGraphs, false, false, true, true, &kWays[0]},
    {"background, ten times the memory", backgroundTenTimesTheMemory, false, false, true, true},
};

std::vector<int> others(const Bootstrap& boot) {
  std::vector<int> out;
  for (int r = 0; r < boot.size(); ++r) {
    if (r != boot.rank()) out.push_back(r);
  }
  return out;
}

// Without a current context the device is the local rank modulo the visible ones.
uint64_t deviceChoice(int devices) {
  uint64_t wrong = 0;
  // The second time the first one must have left the thread without a context, as it was.
  for (int turn = 0; turn < 2; ++turn) {
    MpiTestBootstrap boot;
    FdExchange fds(boot, others(boot));
    MPI_Barrier(MPI_COMM_WORLD);
    DeviceConfig config;
    config.localRank = boot.rank();
    std::string why;
    const auto runner = createDeviceRunner(boot, &fds, others(boot), config, &why);
    if (runner == nullptr) throw Error(rondoInternalError, "no runner: " + why);
    wrong += runner->device() == boot.rank() % devices ? 0 : 1;
  }
  return wrong;
}

/// How many of the ranks have a GPU together.
int sharersOf(int ranks) {
  int devices = 1;
  cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  return (ranks + devices - 1) / devices;
}

/// Of each of the ranks on this GPU.
uint64_t usedBytes(int ranks) {
  MPI_Barrier(MPI_COMM_WORLD);
  size_t free = 0, total = 0;
  cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  MPI_Barrier(MPI_COMM_WORLD);
  return (total - free) / static_cast<uint64_t>(sharersOf(ranks));
}

// Fifty runners alive on a GPU, of however many ranks, with the budgets that they get without
// asking: what each takes of the GPU, and all of them used in turn and at once, in opposite orders
// on neighbouring ranks.
uint64_t fiftyRunners() {
  constexpr size_t kCount = 300;
  MpiTestBootstrap boot;
  const int runnersOfRank = 50 / sharersOf(boot.size());
  const size_t count = static_cast<size_t>(runnersOfRank) * kCount;
  FdExchange fds(boot, others(boot));
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<std::unique_ptr<DeviceRunner>> runners;
  std::vector<cudaStream_t> streams(static_cast<size_t>(runnersOfRank));
  float *src = nullptr, *dst = nullptr, *host = nullptr;
  const size_t bytes = count * sizeof(float);
  cuda(cudaMalloc(&src, bytes), "cudaMalloc");
  cuda(cudaMalloc(&dst, bytes), "cudaMalloc");
  cuda(cudaMallocHost(&host, bytes), "cudaMallocHost");
  for (cudaStream_t& s : streams)
    cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
  for (size_t i = 0; i < count; ++i) host[i] = value(boot.rank(), i, 1);
  cuda(cudaMemcpy(src, host, bytes, cudaMemcpyHostToDevice), "copy");
  cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const uint64_t before = usedBytes(boot.size());
  uint64_t one = 0;
  for (int k = 0; k < runnersOfRank; ++k) {
    MPI_Barrier(MPI_COMM_WORLD);
    DeviceConfig config;
    config.spinBoundMs = 20000;
    std::string why;
    runners.push_back(createDeviceRunner(boot, &fds, others(boot), config, &why));
    if (runners.back() == nullptr) throw Error(rondoInternalError, format("runner %d: ", k) + why);
    if (k == 0) one = usedBytes(boot.size());
  }
  const uint64_t all = usedBytes(boot.size());
  uint64_t bad = 0;
  for (int round = 0; round < 4; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < runnersOfRank; ++k) {
      const int at = round % 2 == 1 && boot.rank() % 2 == 1 ? runnersOfRank - 1 - k : k;
      const size_t from = static_cast<size_t>(at) * kCount;
      runners[static_cast<size_t>(at)]->run(
          {"rondoAllReduce", Collective::AllReduce, src + from, dst + from, kCount, rondoFloat32,
           rondoSum, 0, streams[round % 2 == 1 ? static_cast<size_t>(at) : 0]});
    }
    for (const cudaStream_t s : streams) cuda(cudaStreamSynchronize(s), "cudaStreamSynchronize");
    cuda(cudaMemcpy(host, dst, bytes, cudaMemcpyDeviceToHost), "copy");
    for (size_t i = 0; i < count; ++i) {
      float sum = value(0, i, 1);
      for (int r = 1; r < boot.size(); ++r) sum += value(r, i, 1);
      bad += std::memcmp(&sum, &host[i], sizeof sum) != 0 ? 1 : 0;
    }
    cuda(cudaMemset(dst, 0, bytes), "memset");
  }
  for (const auto& runner : runners) runner->check();
  MPI_Barrier(MPI_COMM_WORLD);
  const uint64_t each = (all - one) / (runnersOfRank - 1);
  if (boot.rank() == 0) {
    std::printf(
        "GPU memory of a rank of %d: %.1f MiB for the first runner, %.1f for each further "
        "one\n",
        boot.size(), static_cast<double>(one - before) / (1 << 20),
        static_cast<double>(each) / (1 << 20));
  }
  bad += one - before > uint64_t{64} << 20 ? 1 : 0;
  bad += each > uint64_t{4} << 20 ? 1 : 0;
  runners.clear();
  MPI_Barrier(MPI_COMM_WORLD);
  for (const cudaStream_t s : streams) cudaStreamDestroy(s);
  cudaFree(src);
  cudaFree(dst);
  cudaFreeHost(host);
  return bad;
}

constexpr uint64_t kMostOfFirst = 64u << 20;

// By itself and with CUDA_MODULE_LOADING=LAZY, as CUDA has it unless told: what the first
// communicator of a process takes of its GPU, kernels and their local memory included: all are
// loaded when it is made.
uint64_t firstCommunicator() {
  constexpr size_t kCount = 1000;
  MpiTestBootstrap boot;
  FdExchange fds(boot, others(boot));
  float* data = nullptr;
  cuda(cudaMalloc(&data, kCount * sizeof(float)), "cudaMalloc");
  cuda(cudaMemset(data, 0, kCount * sizeof(float)), "cudaMemset");
  cudaStream_t stream = nullptr;
  cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const uint64_t before = usedBytes(boot.size());
  DeviceConfig config;
  config.spinBoundMs = 20000;
  std::string why;
  const auto runner = createDeviceRunner(boot, &fds, others(boot), config, &why);
  if (runner == nullptr) throw Error(rondoInternalError, "no runner: " + why);
  runner->run({"rondoAllReduce", Collective::AllReduce, data, data, kCount, rondoFloat32, rondoSum,
               0, stream});
  cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const uint64_t taken = usedBytes(boot.size()) - before;
  if (boot.rank() == 0) {
    std::printf(
        "GPU memory of a rank of %d: %.1f MiB for the first communicator with its kernels\n",
        boot.size(), static_cast<double>(taken) / (1 << 20));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  cudaFree(data);
  cudaStreamDestroy(stream);
  return taken <= kMostOfFirst ? 0 : 1;
}

uint64_t runCase(const Case& test) {
  MpiTestBootstrap boot;
  FdExchange fds(boot, others(boot));
  MPI_Barrier(MPI_COMM_WORLD);
  DeviceConfig config;
  config.spinBoundMs = 20000;
  config.legacyIpc = test.legacyIpc;
  config.noSms = test.noSms;
  config.registeredOnly = test.peersMemory && !test.background;
  if (test.way != nullptr) config.tune = parseTune(test.way->rules);
  RankEnv env(boot, &fds, config);
  if (env.runner == nullptr) throw Error(rondoInternalError, "no runner: " + env.why);
  const uint64_t bad = test.run(env);
  env.sync();
  env.runner->check();
  env.barrier();
  return bad;
}

bool passedEverywhere(const char* name, uint64_t bad) {
  uint64_t all = 0;
  MPI_Allreduce(&bad, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::printf("%s %s (%llu wrong)\n", all == 0 ? "PASS" : "FAIL", name,
                static_cast<unsigned long long>(all));
    std::fflush(stdout);
  }
  return all == 0;
}

int runAll(const char* part) {
  int rank = 0;
  int devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("FAIL: no CUDA device\n");
    return 1;
  }
  const auto wanted = [&](const char* name) { return std::strstr(name, part) != nullptr; };
  bool good = true;
  int ran = 0;
  const auto run = [&](const char* name, const auto& test) {
    if (!wanted(name)) return;
    ++ran;
    good = passedEverywhere(name, test()) && good;
  };
  run("device choice", [&] { return deviceChoice(devices); });
  cuda(cudaSetDevice(rank % devices), "cudaSetDevice");
  if (std::strcmp(part, "first communicator") == 0) run(part, firstCommunicator);
  run("fifty runners", fiftyRunners);
  for (const Case& test : kCases) {
    if (test.peersMemory && hostMemoryAsked()) continue;
    run(test.name, [&] { return runCase(test); });
  }
  return good && ran > 0 ? 0 : 1;
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = rondo::test::runAll(argc > 1 ? argv[1] : "");
  } catch (const rondo::Error& error) {
    std::printf("FAIL: %s\n", error.what());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}

// Device collectives of separate processes, one a GPU: mpirun -n GPUS gpu_mpi

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
};

constexpr Case kCases[] = {
    {"many counts", manyCounts, false},
    {"back to back", backToBack, false},
    {"period tails", periodTails, false},
    {"graph replays", graphReplays, false},
    {"epoch wrap", epochWrap, false},
    {"legacy IPC", backToBack, true},
    {"every type and operator", everyTypeAndOperator, false},
    {"every collective", everyCollective, false},
    {"mixed in a row", mixedInARow, false},
    {"transfer sizes", transferSizes, false},
    {"transfer mix", transferMix, false},
    {"transfer rounds", transferRounds, false},
    {"transfers in a row", transfersInARow, false},
    {"transfer graphs", transferGraphs, false},
    {"transfer wrap", transferWrap, false},
    {"transfer mix, legacy IPC", transferMix, true},
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
  MpiTestBootstrap boot;
  FdExchange fds(boot, others(boot));
  MPI_Barrier(MPI_COMM_WORLD);
  DeviceConfig config;
  config.localRank = boot.rank();
  std::string why;
  const auto runner = createDeviceRunner(boot, &fds, others(boot), config, &why);
  if (runner == nullptr) throw Error(rondoInternalError, "no runner: " + why);
  return runner->device() == boot.rank() % devices ? 0 : 1;
}

uint64_t runCase(const Case& test) {
  MpiTestBootstrap boot;
  FdExchange fds(boot, others(boot));
  MPI_Barrier(MPI_COMM_WORLD);
  DeviceConfig config;
  config.spinBoundMs = 20000;
  config.legacyIpc = test.legacyIpc;
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

int runAll() {
  int rank = 0;
  int devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("FAIL: no CUDA device\n");
    return 1;
  }
  bool good = passedEverywhere("device choice", deviceChoice(devices));
  cuda(cudaSetDevice(rank % devices), "cudaSetDevice");
  for (const Case& test : kCases) good = passedEverywhere(test.name, runCase(test)) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = rondo::test::runAll();
  } catch (const rondo::Error& error) {
    std::printf("FAIL: %s\n", error.what());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}

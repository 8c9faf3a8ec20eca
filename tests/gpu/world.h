#pragma once
// Ranks that are threads of this process.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "gpu/rank_env.h"
#include "support/thread_bootstrap.h"

namespace rondo::test {

using Body = std::function<void(RankEnv&)>;

inline int devices() {
  int count = 0;
  cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}

// Ranks on `overDevices` devices in turn; the calling threads' contexts decide. `configOf`: by
// rank.
inline void runWorldOf(int ranks, const std::function<DeviceConfig(int)>& configOf,
                       const Body& body, int overDevices = 1) {
  ThreadGroup group(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        cuda(cudaSetDevice(r % overDevices), "cudaSetDevice");
        ThreadBootstrap boot(group, r);
        RankEnv env(boot, nullptr, configOf(r));
        if (env.runner == nullptr) throw Error(rondoInternalError, "no runner: " + env.why);
        env.barrier();
        body(env);
        env.sync();
        env.barrier();
      } catch (const Error& error) {
        std::printf("FAILED: rank %d: %s\n", r, error.what());
        std::fflush(stdout);
        std::_Exit(1);  // the other ranks wait for this one
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline void runWorld(int ranks, const DeviceConfig& config, const Body& body, int overDevices = 1) {
  runWorldOf(
      ranks, [&](int) { return config; }, body, overDevices);
}

inline DeviceConfig patient() {
  DeviceConfig config;
  config.spinBoundMs = 20000;  // a hang becomes a failure
  config.closeAlways = true;   // ranks share a device here, and no kernels but the library's
  return config;
}

inline Error errorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(rondoSuccess, "");
}

}  // namespace rondo::test

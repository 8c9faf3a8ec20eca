// Memory that ranks have registered: transfers straight into it, on random bytes, and what happens
// when it is freed.

#include <vector>

#include "api/rondo.h"
#include "base/error.h"
#include "coll/memory_registry.h"
#include "gpu/cases.h"
#include "gpu/pass_on.h"
#include "gpu/registered.h"
#include "p2p/cuda_memory.h"

namespace rondo::test {

uint64_t registeredTransfers(RankEnv& env) {
  uint64_t bad = 0;
  const Registered all(env, true, MemoryUse::kStraight);
  registryOf(env).useMemoryFrom(10000, ~uint64_t{0});
  if (registryOf(env).heldMemory().unreached > 0) bad += fail(env, "memory that no rank reaches");
  bad += transferSizes(env) + transferMix(env) + transfersInARow(env);
  const uint64_t straight = registryOf(env).heldMemory().straight;
  if (env.size() > 1 && straight == 0) bad += fail(env, "nothing went straight");
  bad += transferGraphs(env) + transferWrap(env);
  return bad;
}

// Ranks with and without registered memory, and again when nobody has any.
uint64_t partlyRegistered(RankEnv& env) {
  uint64_t bad = 0;
  {
    const Registered some(env, env.rank() % 2 == 0, MemoryUse::kStraight);
    registryOf(env).useMemoryFrom(10000, ~uint64_t{0});
    bad += transferMix(env);
    const bool went = registryOf(env).heldMemory().straight > 0;
    if (env.size() > 1 && went != (env.rank() % 2 == 0)) bad += fail(env, "the wrong ones went");
  }
  return bad + transferMix(env);
}

// Allocated, registered, used, given back and freed many times; now and then memory of the virtual
// memory management calls. Every third time it is freed while it is registered: what then has its
// address is another allocation, and nobody may write into what the peers still have mapped.
uint64_t registeredOverAndOver(RankEnv& env) {
  uint64_t bad = 0;
  const CudaDevice device = CudaDevice::open(env.runner->device(), 0);
  for (uint32_t round = 0; round < 24; ++round) {
    const uint64_t before = registryOf(env).heldMemory().straight;
    char* memory = nullptr;
    const uint64_t bytes = kPassed * 4 + 4096 * (round % 5);
    env.barrier();
    std::shared_ptr<DeviceMemory> virtualMemory;
    if (round % 6 == 3 && device.exportsDescriptors()) {
      virtualMemory = allocateDevice(device, bytes, DeviceMemory::Sharing::kDescriptor);
      memory = reinterpret_cast<char*>(virtualMemory->data());
    } else {
      cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    }
    const uint64_t number = registryOf(env).addMemory(
        env.boot(), memory, bytes, round % 2 == 0 ? MemoryUse::kSymmetric : MemoryUse::kStraight);
    if (round % 3 == 2) {
      env.barrier();
      cuda(cudaFree(memory), "cudaFree");
      cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
      env.barrier();
    }
    bad += passOn(env, memory, bytes, round);
    const bool went = registryOf(env).heldMemory().straight > before;
    if (went != (env.size() > 1 && round % 3 != 2)) {
      std::printf("round %u: %s\n", round, went ? "went straight" : "did not go straight");
      ++bad;
    }
    registryOf(env).removeMemory(env.boot(), number);
    if (virtualMemory == nullptr) cuda(cudaFree(memory), "cudaFree");
  }
  if (registryOf(env).heldMemory().registrations != 0) bad += fail(env, "registrations are left");
  return bad;
}

uint64_t neighbourTransfers(RankEnv& env) {
  registryOf(env).useMemoryFrom(10000, ~uint64_t{0});
  uint64_t bad = transferSizes(env) + transferMix(env) + transfersInARow(env);
  if (env.size() > 1 && registryOf(env).heldMemory().straight == 0) {
    bad += fail(env, "nothing went straight");
  }
  return bad + transferGraphs(env) + transferWrap(env);
}

// Memory of cudaMalloc, of the virtual memory management calls, and of a pool.
uint64_t neighbourMemoryComesAndGoes(RankEnv& env) {
  uint64_t bad = 0;
  const CudaDevice device = CudaDevice::open(env.runner->device(), 0);
  for (uint32_t round = 0; round < 12; ++round) {
    const uint64_t before = registryOf(env).heldMemory().straight;
    const uint64_t bytes = kPassed * 4 + 4096 * (round % 5);
    env.barrier();
    std::shared_ptr<DeviceMemory> virtualMemory;
    char* memory = nullptr;
    if (round % 3 == 1 && device.exportsDescriptors()) {
      virtualMemory = allocateDevice(device, bytes, DeviceMemory::Sharing::kDescriptor);
      memory = reinterpret_cast<char*>(virtualMemory->data());
    } else if (round % 3 == 2) {
      cuda(cudaMallocAsync(&memory, bytes, env.stream), "cudaMallocAsync");
    } else {
      cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    }
    bad += passOn(env, memory, bytes, round);
    const bool went = registryOf(env).heldMemory().straight > before;
    if (went != (env.size() > 1)) bad += fail(env, "did not go straight");
    env.barrier();
    if (round % 3 == 2) {
      cuda(cudaFreeAsync(memory, env.stream), "cudaFreeAsync");
    } else if (virtualMemory == nullptr) {
      cuda(cudaFree(memory), "cudaFree");
    }
  }
  return bad;
}

// Into memory at addresses that are no line's, and not everywhere a vector's; what lies around it
// stays as it is.
uint64_t neighboursAtAnyAddress(RankEnv& env) {
  constexpr uint64_t kAround = 512, kBytes = kPassed * 4 + 2 * kAround;
  unsigned char* memory = nullptr;
  cuda(cudaMalloc(&memory, kBytes), "cudaMalloc");
  uint64_t bad = 0;
  for (const uint32_t at : {0u, 4u, 60u, 64u, 92u, 112u, 124u, 236u}) {
    const uint64_t before = registryOf(env).heldMemory().straight;
    unsigned char* const to = memory + kAround + at;
    loadPass(env, memory, kBytes, at);
    enqueuePass(env, to);
    bad += wrongPass(env, to, at);
    if (env.size() > 1 && registryOf(env).heldMemory().straight == before) {
      bad += fail(env, "did not go straight");
    }
    std::vector<unsigned char> around(kBytes);
    cuda(cudaMemcpy(around.data(), memory, kBytes, cudaMemcpyDeviceToHost), "copy");
    for (uint64_t i = 0; i < kBytes; ++i) {
      const bool within = i >= kAround + at && i < kAround + at + kPassed * 4;
      if (!within && around[i] != 0xff) bad += fail(env, "wrote around the memory");
    }
    env.barrier();
  }
  cuda(cudaFree(memory), "cudaFree");
  return bad;
}

}  // namespace rondo::test

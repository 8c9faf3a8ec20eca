// Memory that nobody has registered and that processes map for each other in the background: the
// transfers again, graphs of them, and memory that comes and goes.

#include <chrono>
#include <thread>

#include "gpu/cases.h"
#include "gpu/pass_on.h"
#include "p2p/cuda_driver.h"
#include "p2p/cuda_memory.h"

namespace rondo::test {
namespace {

/// Passes on until what every rank receives goes straight, at most `rounds` times. Wrong words.
uint64_t passUntilStraight(RankEnv& env, void* memory, uint32_t rounds, bool* went) {
  uint64_t bad = 0;
  *went = false;
  for (uint32_t round = 0; round < rounds && !*went; ++round) {
    const uint64_t before = registryOf(env).heldMemory().straight;
    bad += passOn(env, memory, kPassed * 4, round);
    *went = everywhere(env, registryOf(env).heldMemory().straight > before);
    if (!*went) std::this_thread::sleep_for(std::chrono::milliseconds(round));
  }
  return bad;
}

}  // namespace

// Memory that nobody has registered, between processes.
uint64_t backgroundTransfers(RankEnv& env) {
  if (env.size() == 1) return 0;
  registryOf(env).useMemoryFrom(10000, ~uint64_t{0});
  bool went = false;
  uint64_t bad = passUntilStraight(env, env.dst, 100, &went);
  if (!went) bad += fail(env, "nothing went straight");
  bad += transferSizes(env) + transferMix(env) + transfersInARow(env);
  return bad + transferGraphs(env) + transferWrap(env);
}

namespace {

/// A graph that passes on into `memory`.
class PassGraph {
 public:
  PassGraph(RankEnv& env, void* memory) : env_(env) {
    env.barrier();
    cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeGlobal), "begin capture");
    enqueuePass(env, memory);
    cuda(cudaStreamEndCapture(env.stream, &graph_), "end capture");
    env.barrier();
    cuda(cudaGraphInstantiate(&exec_, graph_, 0), "instantiate");
    cuda(cudaGraphUpload(exec_, env.stream), "upload");
    env.sync();
  }
  ~PassGraph() {
    env_.barrier();
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  /// Wrong words.
  uint64_t replay(void* memory, uint32_t seed) const {
    loadPass(env_, memory, kPassed * 4, seed);
    cuda(cudaGraphLaunch(exec_, env_.stream), "graph launch");
    return wrongPass(env_, memory, seed);
  }

 private:
  RankEnv& env_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

/// Memory of cudaMalloc, or an address that gets other memory behind it.
class Passed {
 public:
  Passed(RankEnv& env, bool plainly) : plainly_(plainly) {
    if (plainly) {
      cuda(cudaMalloc(&memory_, kPassed * 4), "cudaMalloc");
      return;
    }
    access_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access_.location.id = env.runner->device();
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = access_.location;
    properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUdeviceptr at = 0;
    checkCuda(cudaDriver().memAddressReserve(&at, kPassed * 4, 0, 0, 0), "cuMemAddressReserve");
    memory_ = reinterpret_cast<void*>(at);
    put(make());
  }
  Passed(const Passed&) = delete;
  Passed& operator=(const Passed&) = delete;
  ~Passed() {
    if (plainly_) {
      cudaFree(memory_);
      return;
    }
    remove();
    cudaDriver().memAddressFree(at(), kPassed * 4);
  }
  void* data() const { return memory_; }
  /// Frees it and gets other memory; whether that has the same address.
  bool renew() {
    void* const before = memory_;
    if (plainly_) {
      cuda(cudaFree(memory_), "cudaFree");
      cuda(cudaMalloc(&memory_, kPassed * 4), "cudaMalloc");
    } else {
      const CUmemGenericAllocationHandle other = make();  // while the first is there
      remove();
      put(other);
    }
    return memory_ == before;
  }

 private:
  CUdeviceptr at() const { return reinterpret_cast<CUdeviceptr>(memory_); }
  CUmemGenericAllocationHandle make() const {
    CUmemGenericAllocationHandle out = 0;
    checkCuda(cudaDriver().memCreate(&out, kPassed * 4, &properties_, 0), "cuMemCreate");
    return out;
  }
  void put(CUmemGenericAllocationHandle memory) {
    physical_ = memory;
    checkCuda(cudaDriver().memMap(at(), kPassed * 4, 0, memory, 0), "cuMemMap");
    checkCuda(cudaDriver().memSetAccess(at(), kPassed * 4, &access_, 1), "cuMemSetAccess");
  }
  void remove() const {
    cudaDriver().memUnmap(at(), kPassed * 4);
    cudaDriver().memRelease(physical_);
  }

  const bool plainly_;
  void* memory_ = nullptr;
  CUmemAccessDesc access_{};
  CUmemAllocationProp properties_{};
  CUmemGenericAllocationHandle physical_ = 0;
};

/// A graph's receives hold for whatever has their address when it is replayed, however soon.
uint64_t graphOutlivesMemory(RankEnv& env, bool plainly, int* came) {
  Passed memory(env, plainly);
  void* const at = memory.data();
  const size_t used = registryOf(env).heldMemory().graphsUsed;
  const PassGraph graph(env, at);
  uint64_t bad = 0;
  bool went = false;
  for (uint32_t round = 0; round < 100 && !went; ++round) {
    if (graph.replay(at, 70 + round) > 0) bad += fail(env, "a replay");
    went = everywhere(env, registryOf(env).heldMemory().graphsUsed > used);
    if (!went) std::this_thread::sleep_for(std::chrono::milliseconds(round));
  }
  if (!went) bad += fail(env, "no replay went straight");
  if (graph.replay(at, 30) > 0) bad += fail(env, "a replay");  // all of it straight
  env.barrier();
  const size_t there = registryOf(env).heldMemory().graphs;
  if (!everywhere(env, memory.renew())) return bad;
  ++*came;
  for (uint32_t round = 0; round < 20; ++round) {
    if (graph.replay(at, 40 + round) > 0) bad += fail(env, "a replay into new memory");
    if (round > 10) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (registryOf(env).heldMemory().graphs >= there) bad += fail(env, "a place is not closed");
  return bad;
}

}  // namespace

uint64_t backgroundGraphs(RankEnv& env) {
  if (env.size() == 1) return 0;
  registryOf(env).useMemoryFrom(kPassed * 4, ~uint64_t{0});
  const CudaDevice device = CudaDevice::open(env.runner->device(), 0);
  uint64_t bad = 0;
  int came = 0;
  for (int trial = 0; trial < 8; ++trial) {
    bad += graphOutlivesMemory(env, trial % 2 == 0 || !device.exportsDescriptors(), &came);
  }
  if (came < (device.exportsDescriptors() ? 4 : 1)) bad += fail(env, "no address came back");
  return bad;
}

// Memory of cudaMalloc, of the virtual memory management calls, and of a pool, which is never
// mapped. When all is freed and closed nobody keeps anything.
uint64_t backgroundMemoryComesAndGoes(RankEnv& env) {
  if (env.size() == 1) return 0;
  uint64_t bad = 0;
  const CudaDevice device = CudaDevice::open(env.runner->device(), 0);
  for (int round = 0; round < 24; ++round) {
    std::shared_ptr<DeviceMemory> virtualMemory;
    void* memory = nullptr;
    const int kind = device.exportsDescriptors() ? round % 3 : round % 2 * 2;
    if (kind == 1) {
      virtualMemory = allocateDevice(device, kPassed * 4, DeviceMemory::Sharing::kDescriptor);
      memory = virtualMemory->data();
    } else if (kind == 2) {
      cuda(cudaMallocAsync(&memory, kPassed * 4, env.stream), "cudaMallocAsync");
    } else {
      cuda(cudaMalloc(&memory, kPassed * 4), "cudaMalloc");
    }
    bool went = false;
    bad += passUntilStraight(env, memory, kind == 2 ? 5 : 100, &went);
    if (went != (kind != 2)) {
      bad += fail(env, kind == 2 ? "a pool's memory went" : "did not go straight");
    }
    env.barrier();
    if (kind == 2) {
      cuda(cudaFreeAsync(memory, env.stream), "cudaFreeAsync");
    } else if (kind == 0) {
      cuda(cudaFree(memory), "cudaFree");
    }
  }
  bool clean = false;
  for (int trial = 0; trial < 100 && !clean; ++trial) {
    const uint64_t number = registryOf(env).addMemory(env.boot(), nullptr, 0, MemoryUse::kStraight);
    registryOf(env).removeMemory(env.boot(), number);
    const MemoryRegistry::Held held = registryOf(env).heldMemory();
    clean = everywhere(env, held.offered == 0 && held.keptBytes == 0 && held.mappedBytes == 0);
    if (!clean) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!clean) bad += fail(env, "freed memory is kept");
  return bad;
}

// Ten times the device's memory, allocated, used and freed by its ranks.
uint64_t backgroundTenTimesTheMemory(RankEnv& env) {
  if (env.size() == 1) return 0;
  uint64_t bad = 0;
  size_t free = 0, total = 0;
  cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const CudaDevice device = CudaDevice::open(env.runner->device(), 0);
  int straight = 0;
  const size_t each = total / 32 / 2097152 * 2097152;
  const int rounds = 10 * 32 / env.size() + 1;
  for (int round = 0; round < rounds; ++round) {
    std::shared_ptr<DeviceMemory> virtualMemory;
    void* memory = nullptr;
    if (round % 2 == 1 && device.exportsDescriptors()) {
      virtualMemory = allocateDevice(device, each, DeviceMemory::Sharing::kDescriptor);
      memory = virtualMemory->data();
    } else {
      cuda(cudaMalloc(&memory, each), "cudaMalloc");
    }
    bool went = false;
    bad += passUntilStraight(env, memory, 8, &went);
    straight += went ? 1 : 0;
    env.barrier();
    if (virtualMemory == nullptr) cuda(cudaFree(memory), "cudaFree");
  }
  // All of the virtual memory, which is given back at once.
  if (straight < rounds / 4) bad += fail(env, "little went straight");
  return bad;
}

}  // namespace rondo::test

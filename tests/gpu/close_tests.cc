// Kernels that come close behind the one before them in their stream (programmatic dependent
// launch).

#include <cuda.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "gpu/graph_edges.h"
#include "gpu/in_step.h"
#include "gpu/world.h"
#include "kernels/impl/drivers_own.h"
#include "kernels/launch.h"

namespace rondo::test {
namespace {

/// Counts whose kernels have from one block to more than may come close.
constexpr uint64_t kCounts[] = {1,     300000, 7,      4096,   3,     65536, 200000, 16,
                                32768, 2,      131072, 400000, 20000, 5,     1,      90000};
constexpr uint64_t kMost = 400000;

/// Sums in place, each of the first so many elements: element i, the same on all ranks, grows by
/// the factor of their number with every call that reaches it.
void chain(RankEnv& env) {
  for (const uint64_t count : kCounts) {
    env.runner->run({"chain", Collective::AllReduce, env.src, env.src, count, rondoUint32, rondoSum,
                     0, env.stream});
  }
}

uint64_t wrongAfter(RankEnv& env, uint32_t chains) {
  std::vector<uint32_t> found(kMost);
  cuda(cudaMemcpyAsync(found.data(), env.src, kMost * 4, cudaMemcpyDeviceToHost, env.stream),
       "copy");
  env.sync();
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kMost; ++i) {
    const auto calls = static_cast<uint32_t>(
        std::count_if(std::begin(kCounts), std::end(kCounts), [i](uint64_t c) { return c > i; }));
    uint32_t want = 1;
    for (uint32_t k = 0; k < calls * chains; ++k) want *= static_cast<uint32_t>(env.size());
    wrong += found[i] != want ? 1 : 0;
  }
  return wrong;
}

void loadOnes(RankEnv& env) {
  const std::vector<uint32_t> ones(kMost, 1);
  cuda(cudaMemcpyAsync(env.src, ones.data(), kMost * 4, cudaMemcpyHostToDevice, env.stream),
       "copy");
  env.sync();
  env.loaded();
}

/// What chain() becomes in a graph; the caller destroys it.
cudaGraph_t captured(RankEnv& env) {
  cudaGraph_t graph = nullptr;
  env.barrier();
  cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
  chain(env);
  cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
  return graph;
}

DeviceConfig with(DependentLaunch use) {
  DeviceConfig config = patient();
  config.dependentLaunch = use;
  return config;
}

TEST(CloseLaunch, ChainsOfCallsSeeEachOthersResults) {
  for (const DependentLaunch use :
       {DependentLaunch::On, DependentLaunch::Eager, DependentLaunch::Off}) {
    runWorld(3, with(use), [](RankEnv& env) {
      loadOnes(env);
      for (int k = 0; k < 10; ++k) chain(env);
      EXPECT_EQ(wrongAfter(env, 10), 0u);
    });
  }
}

// `alone`: as if no other communicator had the device.
void replay(bool alone) {
  DeviceConfig config = with(DependentLaunch::On);
  config.closeAlways = alone;
  runWorld(3, config, [](RankEnv& env) {
    const cudaGraph_t graph = captured(env);
    cudaGraphExec_t exec = nullptr;
    env.barrier();
    cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    cuda(cudaGraphUpload(exec, env.stream), "upload");
    env.sync();
    env.barrier();
    loadOnes(env);
    for (int k = 0; k < 5; ++k) {
      cuda(cudaGraphLaunch(exec, env.stream), "launch");
      chain(env);
    }
    EXPECT_EQ(wrongAfter(env, 10), 0u);
    env.barrier();
    cuda(cudaGraphExecDestroy(exec), "destroy");
    cuda(cudaGraphDestroy(graph), "destroy");
  });
}

TEST(CloseLaunch, ReplaysToo) {
  replay(true);
  replay(false);
}

#if CUDART_VERSION >= 12080

/// Kernels of a program's own, as CUTLASS has them: one that lets the next one come at once, and
/// writes only then, late; one that comes close and waits, and only then copies; and one that says
/// at once that it has begun.
constexpr char kOwnKernels[] = R"(
.version 7.8
.target sm_90
.address_size 64

.visible .entry writesLate(.param .u64 to, .param .u32 value, .param .u32 count, .param .u64 ns)
{
  .reg .pred %p;
  .reg .b32 %i, %n, %v, %t;
  .reg .b64 %a, %o, %from, %now, %wait;
  griddepcontrol.launch_dependents;
  ld.param.u64 %wait, [ns];
  mov.u64 %from, %globaltimer;
SPIN:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %from;
  setp.lt.u64 %p, %now, %wait;
  @%p bra SPIN;
  ld.param.u64 %a, [to];
  cvta.to.global.u64 %a, %a;
  ld.param.u32 %v, [value];
  ld.param.u32 %n, [count];
  mov.u32 %i, %ctaid.x;
  mov.u32 %t, %ntid.x;
  mul.lo.u32 %i, %i, %t;
  mov.u32 %t, %tid.x;
  add.u32 %i, %i, %t;
  setp.ge.u32 %p, %i, %n;
  @%p ret;
  mul.wide.u32 %o, %i, 4;
  add.u64 %a, %a, %o;
  st.global.u32 [%a], %v;
  ret;
}

.visible .entry copiesClose(.param .u64 to, .param .u64 from, .param .u32 count)
{
  .reg .pred %p;
  .reg .b32 %i, %n, %v, %t;
  .reg .b64 %a, %b, %o;
  griddepcontrol.wait;
  ld.param.u64 %a, [to];
  cvta.to.global.u64 %a, %a;
  ld.param.u64 %b, [from];
  cvta.to.global.u64 %b, %b;
  ld.param.u32 %n, [count];
  mov.u32 %i, %ctaid.x;
  mov.u32 %t, %ntid.x;
  mul.lo.u32 %i, %i, %t;
  mov.u32 %t, %tid.x;
  add.u32 %i, %i, %t;
  setp.ge.u32 %p, %i, %n;
  @%p ret;
  mul.wide.u32 %o, %i, 4;
  add.u64 %a, %a, %o;
  add.u64 %b, %b, %o;
  ld.global.u32 %v, [%b];
  st.global.u32 [%a], %v;
  ret;
}

.visible .entry begins(.param .u64 told)
{
  .reg .b64 %a;
  ld.param.u64 %a, [told];
  cvta.to.global.u64 %a, %a;
  st.release.sys.global.u32 [%a], 1;
  ret;
}
)";

/// Seen with compute-sanitizer, which does not let all kernels of several ranks run side by side.
constexpr char kNotBeside[] = "ranks with kernels of their own stand still under the tool";

class OwnKernels {
 public:
  OwnKernels() {
    cuda(cudaLibraryLoadData(&library_, kOwnKernels, nullptr, nullptr, 0, nullptr, nullptr, 0),
         "loading the program's own kernels");
    cuda(cudaLibraryGetKernel(&late_, library_, "writesLate"), "writesLate");
    cuda(cudaLibraryGetKernel(&close_, library_, "copiesClose"), "copiesClose");
    cuda(cudaLibraryGetKernel(&begins_, library_, "begins"), "begins");
  }
  ~OwnKernels() { cudaLibraryUnload(library_); }
  OwnKernels(const OwnKernels&) = delete;
  OwnKernels& operator=(const OwnKernels&) = delete;

  void writesLate(void* to, uint32_t value, uint32_t count, cudaStream_t stream) const {
    uint64_t ns = 50000;
    void* arguments[] = {&to, &value, &count, &ns};
    launch(late_, arguments, count, stream, false);
  }
  void copiesClose(void* to, const void* from, uint32_t count, cudaStream_t stream) const {
    void* arguments[] = {&to, &from, &count};
    launch(close_, arguments, count, stream, true);
  }
  void begins(void* told, cudaStream_t stream) const {
    void* arguments[] = {&told};
    launch(begins_, arguments, 1, stream, true);
  }

 private:
  static void launch(cudaKernel_t kernel, void** arguments, uint32_t count, cudaStream_t stream,
                     bool close) {
    cudaLaunchAttribute closely{};
    closely.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    closely.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.blockDim = dim3(128);
    config.gridDim = dim3((count + 127) / 128);
    config.stream = stream;
    config.attrs = &closely;
    config.numAttrs = close ? 1 : 0;
    cuda(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments),
         "launching a kernel of the program's own");
  }

  cudaLibrary_t library_ = nullptr;
  cudaKernel_t late_ = nullptr, close_ = nullptr, begins_ = nullptr;
};

/// Every call finds what was written in front of it, however early that kernel let it come, and
/// who comes close behind it finds all that it and those before it wrote.
TEST(CloseLaunch, StandsBetweenKernelsOfTheProgramsOwn) {
  if (inStep()) GTEST_SKIP() << kNotBeside;
  constexpr uint32_t kCount = 512, kTurns = 8;
  runWorld(3, with(DependentLaunch::On), [](RankEnv& env) {
    if (!launchesClose()) return;
    const OwnKernels own;
    auto* const from = reinterpret_cast<uint32_t*>(env.src);
    auto* const to = reinterpret_cast<uint32_t*>(env.dst);
    uint32_t* const kept = to + kCount;
    const auto sum = [&env](const void* of, void* into) {
      env.runner->run({"between", Collective::AllReduce, of, into, kCount, rondoUint32, rondoSum, 0,
                       env.stream});
    };
    // Sums of sums, so that two of the library's stand there.
    const auto turns = [&] {
      for (uint32_t k = 0; k < kTurns; ++k) {
        own.writesLate(from, 1000 * k + static_cast<uint32_t>(env.rank()), kCount, env.stream);
        sum(from, to);
        sum(to, to);
        own.copiesClose(kept + k * kCount, to, kCount, env.stream);
      }
    };
    const auto wrong = [&] {
      env.sync();
      std::vector<uint32_t> found(kTurns * kCount);
      cuda(
          cudaMemcpyAsync(found.data(), kept, found.size() * 4, cudaMemcpyDeviceToHost, env.stream),
          "copy");
      env.sync();
      uint64_t others = 0;
      for (uint32_t i = 0; i < found.size(); ++i) {
        others += found[i] != 3 * (3 * 1000 * (i / kCount) + 3) ? 1 : 0;
      }
      return others;
    };
    // The first launch of a kernel loads it, which waits for those that run, which wait for peers.
    own.writesLate(from, 0, kCount, env.stream);
    own.copiesClose(kept, from, kCount, env.stream);
    env.sync();
    env.barrier();
    turns();
    EXPECT_EQ(wrong(), 0u);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    env.barrier();
    cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    turns();
    cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
    cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    cuda(cudaGraphUpload(exec, env.stream), "upload");
    env.sync();
    env.barrier();
    for (int replays = 0; replays < 3; ++replays) {
      cuda(cudaMemsetAsync(kept, 0xff, kTurns * kCount * 4, env.stream), "forget");
      cuda(cudaGraphLaunch(exec, env.stream), "launch");
      EXPECT_EQ(wrong(), 0u);
    }
    env.barrier();
    cuda(cudaGraphExecDestroy(exec), "destroy");
    cuda(cudaGraphDestroy(graph), "destroy");
  });
}

/// What the kernels of a graph whose only kernels are window kernels say of those around them, in
/// no order, and what priority they have.
struct CapturedKernels {
  std::vector<int32_t> close;
  std::vector<int> priority;
};
CapturedKernels kernelsOf(cudaGraph_t graph) {
  using Get = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
  using Ask = CUresult (*)(CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue*);
  const auto get = driversOwn<Get>("cuGraphKernelNodeGetParams", 12000);
  const auto ask = driversOwn<Ask>("cuGraphKernelNodeGetAttribute", 12000);
  size_t count = 0;
  cuda(cudaGraphGetNodes(graph, nullptr, &count), "how many nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  cuda(cudaGraphGetNodes(graph, nodes.data(), &count), "nodes");
  CapturedKernels found;
  if (get == nullptr || ask == nullptr) {
    ADD_FAILURE() << "the driver has no such calls";
    return found;
  }
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    cuda(cudaGraphNodeGetType(node, &type), "a node's type");
    if (type != cudaGraphNodeTypeKernel) continue;
    CUDA_KERNEL_NODE_PARAMS params{};
    CUkernelNodeAttrValue priority{};
    EXPECT_EQ(get(node, &params), CUDA_SUCCESS);
    EXPECT_EQ(ask(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &priority), CUDA_SUCCESS);
    if (params.kernelParams == nullptr) continue;
    found.close.push_back(static_cast<const WindowCall*>(params.kernelParams[0])->args.close);
    found.priority.push_back(priority.priority);
  }
  return found;
}

/// What three calls captured on one stream say, in no order, and their priorities.
void expectCaptured(RankEnv& env, const std::vector<int32_t>& close) {
  int least = 0, greatest = 0;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities");
  cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "a stream");
  cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
  for (int k = 0; k < 3; ++k) {
    env.runner->run(
        {"sum", Collective::AllReduce, env.src, env.dst, 64, rondoUint32, rondoSum, 0, stream});
  }
  cuda(cudaStreamEndCapture(stream, &graph), "end capture");
  CapturedKernels kernels = kernelsOf(graph);
  std::sort(kernels.close.begin(), kernels.close.end());
  EXPECT_EQ(kernels.close, close);
  EXPECT_EQ(kernels.priority, std::vector<int>(3, greatest)) << "of the stream";
  EXPECT_EQ(programmaticEdges(graph), 2u);
  cuda(cudaGraphDestroy(graph), "destroy");
  cuda(cudaStreamDestroy(stream), "destroy");
}

TEST(CloseLaunch, CapturedCallsAreToldWhoComes) {
  runWorld(2, with(DependentLaunch::On), [](RankEnv& env) {
    if (launchesClose()) expectCaptured(env, {kFollows, kLets, kFollows | kLets});
  });
}

// Each rank's communicator has another one on its device, the other rank's.
TEST(CloseLaunch, BesideOtherCommunicatorsNobodyIsLetCome) {
  DeviceConfig config = with(DependentLaunch::On);
  config.closeAlways = false;
  runWorld(2, config, [](RankEnv& env) {
    if (launchesClose()) expectCaptured(env, {0, kFollows, kFollows});
  });
}

// What a graph has captured stays as it is however many communicators come: a kernel of the
// program's own, which could take all that is left of the device, comes when ours has ended.
TEST(CloseLaunch, InGraphsNobodyElseIsLetCome) {
  if (inStep()) GTEST_SKIP() << kNotBeside;
  uint32_t* told = nullptr;
  cuda(cudaMallocHost(&told, sizeof *told), "page-locked memory");
  const auto hasBegun = [told] {
    return std::atomic_ref<uint32_t>(*told).load(std::memory_order_acquire) != 0;
  };
  runWorld(2, with(DependentLaunch::On), [&](RankEnv& env) {
    if (!launchesClose()) return;
    const OwnKernels own;
    const auto sum = [&env] {
      env.runner->run({"sum", Collective::AllReduce, env.src, env.dst, 64, rondoUint32, rondoSum, 0,
                       env.stream});
    };
    // Loaded before any kernel waits for a peer.
    own.begins(told, env.stream);
    env.sync();
    env.barrier();
    sum();
    env.sync();
    env.barrier();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    if (env.rank() == 0) {
      *told = 0;
      cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
      sum();
      sum();
      own.begins(told, env.stream);
      cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
      EXPECT_EQ(programmaticEdges(graph), 2u);
      cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
      cuda(cudaGraphUpload(exec, env.stream), "upload");
      env.sync();
    }
    env.barrier();
    if (env.rank() == 0) {
      cuda(cudaGraphLaunch(exec, env.stream), "launch");
      env.sync();
      EXPECT_TRUE(hasBegun());
    } else {
      sum();
      env.sync();  // the graph's second one waits for this rank now
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_FALSE(hasBegun());
      sum();
      env.sync();
    }
    env.barrier();
    if (env.rank() == 0) {
      cuda(cudaGraphExecDestroy(exec), "destroy");
      cuda(cudaGraphDestroy(graph), "destroy");
    }
  });
  cudaFreeHost(told);
}

// A kernel of the program's own that comes as close as it may and does not wait: it comes when ours
// has ended.
TEST(CloseLaunch, NobodyIsLetComeBeforeItsPeersHave) {
  if (inStep()) GTEST_SKIP() << kNotBeside;
  constexpr uint32_t kCount = 64;
  uint32_t* told = nullptr;
  cuda(cudaMallocHost(&told, sizeof *told), "page-locked memory");
  runWorld(2, with(DependentLaunch::On), [&](RankEnv& env) {
    if (!launchesClose()) return;
    const OwnKernels own;
    auto* const from = reinterpret_cast<uint32_t*>(env.src);
    auto* const to = reinterpret_cast<uint32_t*>(env.dst);
    std::vector<uint32_t> values(2 * kCount);
    for (uint32_t i = 0; i < values.size(); ++i) values[i] = 1000 * i + env.rank();
    cuda(
        cudaMemcpyAsync(from, values.data(), values.size() * 4, cudaMemcpyHostToDevice, env.stream),
        "copy");
    const auto sum = [&](uint32_t at) {
      env.runner->run({"sum", Collective::AllReduce, from + at, to + at, kCount, rondoUint32,
                       rondoSum, 0, env.stream});
    };
    // Loaded before any kernel waits for a peer.
    own.begins(told, env.stream);
    env.sync();
    env.barrier();
    sum(0);
    env.sync();
    env.barrier();
    if (env.rank() == 0) *told = 0;
    env.barrier();
    if (env.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      EXPECT_EQ(std::atomic_ref<uint32_t>(*told).load(std::memory_order_acquire), 0u);
    }
    sum(0);
    if (env.rank() == 0) own.begins(told, env.stream);
    sum(kCount);
    env.sync();
    std::vector<uint32_t> found(values.size());
    cuda(cudaMemcpyAsync(found.data(), to, found.size() * 4, cudaMemcpyDeviceToHost, env.stream),
         "copy");
    env.sync();
    for (uint32_t i = 0; i < found.size(); ++i) values[i] = 2 * 1000 * i + 1;
    EXPECT_EQ(found, values);
    EXPECT_EQ(*told, 1u);
  });
  cudaFreeHost(told);
}

// Behind a kernel that lets the next one come early and only then writes, and one that comes early
// and does not wait: a call waits for both.
TEST(CloseLaunch, WaitsForAllThatIsBeforeIt) {
  if (inStep()) GTEST_SKIP() << kNotBeside;
  constexpr uint32_t kCount = 512;
  uint32_t* told = nullptr;
  cuda(cudaMallocHost(&told, sizeof *told), "page-locked memory");
  runWorld(2, with(DependentLaunch::On), [&](RankEnv& env) {
    if (!launchesClose()) return;
    const OwnKernels own;
    auto* const from = reinterpret_cast<uint32_t*>(env.src);
    const auto sum = [&env] {
      env.runner->run({"behind", Collective::AllReduce, env.src, env.dst, kCount, rondoUint32,
                       rondoSum, 0, env.stream});
    };
    // Loaded before any kernel waits for a peer.
    own.writesLate(from, 0, kCount, env.stream);
    own.begins(told, env.stream);
    env.sync();
    env.barrier();
    for (uint32_t k = 1; k <= 20; ++k) {
      own.writesLate(from, 1000 * k + static_cast<uint32_t>(env.rank()), kCount, env.stream);
      own.begins(told, env.stream);
      sum();
      std::vector<uint32_t> found(kCount);
      cuda(cudaMemcpyAsync(found.data(), env.dst, kCount * 4, cudaMemcpyDeviceToHost, env.stream),
           "copy");
      env.sync();
      EXPECT_EQ(found, std::vector<uint32_t>(kCount, 2000 * k + 1));
      env.barrier();
    }
  });
  cudaFreeHost(told);
}

#endif

TEST(CloseLaunch, GraphsHaveSuchEdgesOnlyWhereTheyMay) {
  const auto edges = [](DependentLaunch use, size_t* found) {
    runWorld(2, with(use), [found](RankEnv& env) {
      const cudaGraph_t graph = captured(env);
      if (env.rank() == 0) *found = programmaticEdges(graph);
      cuda(cudaGraphDestroy(graph), "destroy");
    });
  };
  size_t on = 0, eager = 1, off = 1;
  edges(DependentLaunch::On, &on);
  edges(DependentLaunch::Eager, &eager);
  edges(DependentLaunch::Off, &off);
  if (launchesClose() && CUDART_VERSION >= 12030) {
    EXPECT_GT(on, 3u) << "of short ones behind short ones";
  } else {
    EXPECT_EQ(on, 0u);
  }
  EXPECT_EQ(eager, 0u);
  EXPECT_EQ(off, 0u);
}

}  // namespace
}  // namespace rondo::test

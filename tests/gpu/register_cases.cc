// Memory that ranks have registered: transfers and copies straight into it, on random bytes, and
// what happens when it is freed.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "api/rondo.h"
#include "base/error.h"
#include "coll/memory_registry.h"
#include "gpu/cases.h"
#include "gpu/pass_on.h"
#include "p2p/cuda_memory.h"

namespace rondo::test {
namespace {

constexpr size_t kAll = (kMostElements + 2 * kGuard) * sizeof(float);

/// All of the ranks' dst that are `wanted`, while it lives.
class Registered {
 public:
  Registered(RankEnv& env, bool wanted, MemoryUse use) : env_(env) {
    env.sync();
    number_ =
        registryOf(env).addMemory(env.boot(), wanted ? env.dst : nullptr, wanted ? kAll : 0, use);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { registryOf(env_).removeMemory(env_.boot(), number_); }

 private:
  RankEnv& env_;
  uint64_t number_;
};

/// Of all-gather and all-to-all: where rank `from`'s block for rank `to` has its first word.
uint64_t origin(bool gathers, int to, uint64_t count) {
  return gathers ? 0 : static_cast<uint64_t>(to) * count;
}

struct Move {
  bool gathers;
  uint64_t count;   ///< Words of a block.
  uint64_t offset;  ///< Of the result, in words.
  bool inPlace = false;
};

void launch(RankEnv& env, const Move& move) {
  float* const result = env.dst + move.offset;
  const float* const from =
      move.inPlace ? result + static_cast<uint64_t>(env.rank()) * move.count : env.src;
  env.runner->run({"rondoAllGather", move.gathers ? Collective::AllGather : Collective::AllToAll,
                   from, result, move.count, rondoFloat32, rondoSum, 0, env.stream});
}

void load(RankEnv& env, const Move& move, uint32_t seed) {
  auto* const host = reinterpret_cast<uint32_t*>(env.host);
  const uint64_t words = move.count * (move.gathers ? 1 : static_cast<uint64_t>(env.size()));
  for (uint64_t i = 0; i < words; ++i) host[i] = word(env.rank(), i, seed);
  cuda(cudaMemsetAsync(env.dst, 0xff, kAll, env.stream), "memset");
  float* const to = move.inPlace
                        ? env.dst + move.offset + static_cast<uint64_t>(env.rank()) * move.count
                        : env.src;
  cuda(cudaMemcpyAsync(to, host, words * 4, cudaMemcpyHostToDevice, env.stream), "copy");
  env.sync();
  env.loaded();
}

/// Wrong words of the `words` of the result, of which `wanted` says what they should be, and of
/// kGuard on either side.
template <class Wanted>
uint64_t wrongWords(RankEnv& env, const Move& move, const Wanted& wanted, uint64_t words) {
  const uint64_t before = move.offset < kGuard ? move.offset : kGuard;
  cuda(cudaMemcpyAsync(env.host, env.dst + move.offset - before, (before + words + kGuard) * 4,
                       cudaMemcpyDeviceToHost, env.stream),
       "copy");
  env.sync();
  const auto* const got = reinterpret_cast<const uint32_t*>(env.host);
  uint64_t bad = 0;
  for (uint64_t i = 0; i < before; ++i) bad += got[i] != ~0u;
  for (uint64_t i = 0; i < kGuard; ++i) bad += got[before + words + i] != ~0u;
  for (uint64_t i = 0; i < words; ++i) bad += got[before + i] != wanted(i);
  return bad;
}

uint64_t wrong(RankEnv& env, const Move& move, uint32_t seed) {
  const uint64_t first = origin(move.gathers, env.rank(), move.count);
  const auto wanted = [&](uint64_t i) {
    return word(static_cast<int>(i / move.count), first + i % move.count, seed);
  };
  return wrongWords(env, move, wanted, move.count * static_cast<uint64_t>(env.size()));
}

uint64_t once(RankEnv& env, const Move& move, uint32_t seed) {
  load(env, move, seed);
  launch(env, move);
  return wrong(env, move, seed);
}

}  // namespace

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

namespace {

struct Called {
  uint64_t bad = 0, calls = 0;
};

/// From every root, in place there and not.
Called broadcasts(RankEnv& env, uint32_t* seed) {
  Called done;
  for (int root = 0; root < env.size() && env.size() > 1; ++root) {
    for (const uint64_t count : {uint64_t{1}, uint64_t{1000}, uint64_t{kMostElements} / 2}) {
      for (const bool inPlace : {false, true}) {
        const Move move{true, count, 19, false};
        load(env, move, ++*seed);
        const bool mine = env.rank() == root;
        float* const result = env.dst + move.offset;
        if (inPlace && mine) {
          cuda(cudaMemcpyAsync(result, env.src, count * 4, cudaMemcpyDeviceToDevice, env.stream),
               "copy");
        }
        const float* const from = !mine ? nullptr : inPlace ? result : env.src;
        env.runner->run({"rondoBroadcast", Collective::Broadcast, from, result, count, rondoFloat32,
                         rondoSum, root, env.stream});
        ++done.calls;
        done.bad += wrongWords(
            env, move, [&](uint64_t i) { return word(root, i, *seed); }, count);
      }
    }
  }
  return done;
}

}  // namespace

uint64_t copyEngineMoves(RankEnv& env) {
  uint64_t bad = 0;
  uint32_t seed = 1;
  const Registered all(env, true, MemoryUse::kSymmetric);
  registryOf(env).useMemoryFrom(1, 1);
  const auto most = static_cast<uint64_t>(kMostElements) / static_cast<uint64_t>(env.size());
  for (const bool gathers : {true, false}) {
    if (env.size() == 1 && !gathers)
      continue;  // nothing for them to do, and not everywhere a kernel
    for (const uint64_t count : {uint64_t{1}, uint64_t{3}, uint64_t{1000}, most}) {
      bad += once(env, {gathers, count, count == most ? 0u : 17u}, seed++);
    }
  }
  bad += once(env, {true, 5000, 9, true}, seed++);
  if (env.size() == 1) return bad;
  const uint64_t before = registryOf(env).heldMemory().copied;
  const Called casts = broadcasts(env, &seed);
  bad += casts.bad;
  const uint64_t copied = registryOf(env).heldMemory().copied - before;
  if (copied != (env.size() == 2 ? casts.calls : 0)) bad += fail(env, "broadcasts went wrongly");
  for (const uint64_t count : {uint64_t{100}, uint64_t{200000}}) {  // without a wait between them
    const Move first{true, count, 0}, second{false, count, count * 8 + kGuard};
    load(env, second, seed);
    env.barrier();
    for (int k = 0; k < 3; ++k) {
      launch(env, first);
      launch(env, second);
      env.allReduce(env.src, env.dst + 16 * count + 3 * kGuard, 100);
    }
    bad += wrong(env, second, seed++);
  }
  if (registryOf(env).heldMemory().copied < 10) {
    bad += fail(env, "the copy engines did nothing");
  }
  return bad;
}

// Without a least length, and broadcasts: what ranks ask for that give no multiprocessors.
uint64_t copyEnginesAlone(RankEnv& env) {
  uint64_t bad = once(env, {true, 100, 3}, 77);  // not registered: by a kernel
  const Registered all(env, true, MemoryUse::kSymmetric);
  uint32_t seed = 100;
  uint64_t calls = 0;
  if (registryOf(env).heldMemory().copied != 0) bad += fail(env, "copied what is not registered");
  const Called casts = broadcasts(env, &seed);
  bad += casts.bad;
  calls += casts.calls;
  if (env.size() > 1) {
    bad += once(env, {true, 1, 0}, ++seed);
    bad += once(env, {false, 7, 5}, ++seed);
    calls += 2;
  }
  if (registryOf(env).heldMemory().copied != calls) bad += fail(env, "kernels copied");
  return bad;
}

namespace {

/// Calls of all ranks as a graph, while none of their kernels waits.
class Captured {
 public:
  template <class Calls>
  Captured(RankEnv& env, Calls calls) : env_(env) {
    env.barrier();
    cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    calls();
    cuda(cudaStreamEndCapture(env.stream, &graph_), "end capture");
    env.barrier();
    cuda(cudaGraphInstantiate(&exec_, graph_, 0), "instantiate");
    cuda(cudaGraphUpload(exec_, env.stream), "upload");
    env.sync();
    env.barrier();
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() {
    env_.barrier();
    cuda(cudaGraphExecDestroy(exec_), "destroy graph");
    cuda(cudaGraphDestroy(graph_), "destroy graph");
  }

  void launch() const { cuda(cudaGraphLaunch(exec_, env_.stream), "graph launch"); }

 private:
  RankEnv& env_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

/// An all-reduce of 32-bit numbers, whose sum has the same bits in any order.
struct Sum {
  uint64_t count;
  uint64_t offset;  ///< Of the result, in words.
  bool inPlace;
};

void add(RankEnv& env, const Sum& sum) {
  float* const result = env.dst + sum.offset;
  env.runner->run({"rondoAllReduce", Collective::AllReduce, sum.inPlace ? result : env.src, result,
                   sum.count, rondoUint32, rondoSum, 0, env.stream});
}

void load(RankEnv& env, const Sum& sum, uint32_t seed) {
  load(env, Move{true, sum.count, sum.offset}, seed);
  if (!sum.inPlace) return;
  cuda(cudaMemcpyAsync(env.dst + sum.offset, env.src, sum.count * 4, cudaMemcpyDeviceToDevice,
                       env.stream),
       "copy");
  env.sync();
  env.loaded();
}

uint64_t wrong(RankEnv& env, const Sum& sum, uint32_t seed) {
  const auto wanted = [&](uint64_t i) {
    uint32_t all = 0;
    for (int r = 0; r < env.size(); ++r) all += word(r, i, seed);
    return all;
  };
  return wrongWords(env, {true, sum.count, sum.offset}, wanted, sum.count);
}

}  // namespace

// Sums: with and without a rest behind the blocks, with nothing but one, from any address, in
// place, one behind the other, and in a graph.
uint64_t copyEngineSums(RankEnv& env) {
  if (env.size() == 1) return 0;
  uint64_t bad = 0;
  uint32_t seed = 500;
  const auto ranks = static_cast<uint64_t>(env.size());
  const Registered all(env, true, MemoryUse::kSymmetric);
  registryOf(env).useMemoryFrom(1, 1);
  uint64_t calls = 0;
  for (const uint64_t count : {uint64_t{1}, 32 * ranks - 1, 32 * ranks, 3200 * ranks,
                               3200 * ranks + 31, uint64_t{1000003}, uint64_t{kMostElements}}) {
    for (const bool inPlace : {false, true}) {
      const Sum sum{count, count == kMostElements ? 0u : inPlace ? 20u : 19u, inPlace};
      load(env, sum, ++seed);
      add(env, sum);
      bad += wrong(env, sum, seed);
      calls += count >= 32 * ranks ? 1 : 0;
    }
  }
  if (registryOf(env).heldMemory().copied != calls) {
    bad += fail(env, "not all, or too many, were left to the copy engines");
  }
  const Sum shifted{100003, 20, false};  // what is sent
  load(env, shifted, ++seed);
  cuda(cudaMemcpyAsync(env.dst + kMostElements / 2, env.src, shifted.count * 4,
                       cudaMemcpyDeviceToDevice, env.stream),
       "copy");
  cuda(cudaMemcpyAsync(env.src + 1, env.dst + kMostElements / 2, shifted.count * 4,
                       cudaMemcpyDeviceToDevice, env.stream),
       "copy");
  env.sync();
  env.loaded();
  env.runner->run({"rondoAllReduce", Collective::AllReduce, env.src + 1, env.dst + shifted.offset,
                   shifted.count, rondoUint32, rondoSum, 0, env.stream});
  bad += wrong(env, shifted, seed);
  if (registryOf(env).heldMemory().copied != calls + 1) bad += fail(env, "went by a kernel");
  const uint64_t most = uint64_t{kMostElements} / 4;
  const Sum sum{most, 2 * most + kGuard, false};
  load(env, sum, ++seed);
  env.barrier();
  for (int k = 0; k < 4; ++k) {
    add(env, {most / 2 + 5, 0, false});
    add(env, sum);
    launch(env, Move{true, 1000, 0});
  }
  bad += wrong(env, sum, seed);
  const Captured graph(env, [&] {
    add(env, {most / 2 + 5, 0, false});
    add(env, sum);
  });
  for (uint32_t replay = 0; replay < 4; ++replay) {
    load(env, sum, ++seed);
    graph.launch();
    if (replay % 2 == 1) add(env, sum);
    bad += wrong(env, sum, seed);
  }
  return bad;
}

namespace {

/// Memory that can be a window between processes.
class WindowMemory {
 public:
  static constexpr uint64_t kWords = uint64_t{1} << 20;
  explicit WindowMemory(RankEnv& env) : env_(env) { renew(); }
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;
  ~WindowMemory() { rondoMemFree(memory_); }

  void renew() {
    rondoMemFree(memory_);
    if (rondoMemAllocDevice(&memory_, kWords * 4, env_.runner->device()) != rondoSuccess) {
      throw Error(rondoOutOfMemory, rondoGetLastError(nullptr));
    }
  }
  uint64_t enroll() {
    return registryOf(env_).addMemory(env_.boot(), memory_, kWords * 4, MemoryUse::kWindow);
  }
  /// An all-gather into it, and whether copy engines did it.
  uint64_t gather(uint64_t count, uint64_t offset, uint32_t seed, bool copied) {
    const uint64_t before = registryOf(env_).heldMemory().copied;
    uint64_t bad = once({true, count, offset}, seed);
    const bool went = registryOf(env_).heldMemory().copied > before;
    if (went != (copied && env_.size() > 1)) bad += fail(env_, "went the wrong way");
    return bad;
  }
  /// A move whose offset is one of the window.
  uint64_t once(const Move& move, uint32_t seed) {
    load(move, seed);
    launch(move);
    return wrong(move, seed);
  }
  void load(const Move& move, uint32_t seed) {
    test::load(env_, Move{move.gathers, move.count, 31}, seed);
    cuda(cudaMemsetAsync(memory_, 0xff, kWords * 4, env_.stream), "memset");
    if (move.inPlace) {
      cuda(cudaMemcpyAsync(ownPart(move), env_.src, move.count * 4, cudaMemcpyDeviceToDevice,
                           env_.stream),
           "copy");
    }
    env_.sync();
    env_.loaded();
  }
  void launch(const Move& move) {
    env_.runner->run({"a move", move.gathers ? Collective::AllGather : Collective::AllToAll,
                      move.inPlace ? ownPart(move) : env_.src, at(move.offset), move.count,
                      rondoFloat32, rondoSum, 0, env_.stream});
  }
  uint64_t wrong(const Move& move, uint32_t seed) {
    const uint64_t words = move.count * static_cast<uint64_t>(env_.size());
    cuda(cudaMemcpyAsync(env_.dst + 31 - kGuard, at(move.offset) - kGuard, (words + 2 * kGuard) * 4,
                         cudaMemcpyDeviceToDevice, env_.stream),
         "copy");
    return test::wrong(env_, Move{move.gathers, move.count, 31}, seed);
  }

 private:
  /// Guards before the first word.
  float* at(uint64_t offset) const { return static_cast<float*>(memory_) + 64 + offset; }
  float* ownPart(const Move& move) const {
    return at(move.offset) + static_cast<uint64_t>(env_.rank()) * move.count;
  }

  RankEnv& env_;
  void* memory_ = nullptr;
};

}  // namespace

// Windows: used, ended by one rank after the other, freed without a word and at once taken again.
uint64_t windowMoves(RankEnv& env) {
  MemoryRegistry& registry = registryOf(env);
  WindowMemory memory(env);
  env.barrier();
  const uint64_t first = memory.enroll();
  registry.useMemoryFrom(1, 1);
  uint64_t bad = memory.gather(1000, 17, 900, true) + memory.gather(100000, 0, 901, true);
  if (!MemoryRegistry::isWindow(first)) bad += fail(env, "its number says that it is no window");
  std::this_thread::sleep_for(std::chrono::milliseconds(env.rank()));
  registry.removeWindow(first);
  bad += memory.gather(1000, 17, 902, false);
  try {
    registry.removeWindow(first);
    bad += fail(env, "ended twice");
  } catch (const Error& error) {
    if (error.code() != rondoInvalidArgument) bad += fail(env, error.what());
  }
  const uint64_t second = memory.enroll();
  bad += memory.gather(5000, 3, 903, true);
  memory.renew();
  bad += memory.gather(5000, 3, 904, false);
  env.barrier();
  const uint64_t third = memory.enroll();
  if (registry.heldMemory().registrations != 1) bad += fail(env, "keeps what was freed");
  if (second == third) bad += fail(env, "numbers come again");
  bad += memory.gather(5000, 3, 905, true);
  if (registry.heldMemory().straight != 0) bad += fail(env, "a transfer went straight");
  registry.removeWindow(third);
  env.barrier();
  return bad;
}

// Blocks that a kernel stores, at every alignment and in place, between calls of other kernels that
// have the same counters, which pass the end of 32 bits, and in graphs.
uint64_t windowStores(RankEnv& env) {
  MemoryRegistry& registry = registryOf(env);
  WindowMemory memory(env);
  env.barrier();
  const uint64_t number = memory.enroll();
  registry.useMemoryFrom(~uint64_t{0}, ~uint64_t{0});
  registry.storeFrom(1);
  uint64_t bad = 0, moves = 0;
  uint32_t seed = 1200;
  for (const uint32_t counters : {0x40000000u, 0xfffffff0u}) {
    env.barrier();
    env.runner->startEpochsAt(counters);
    env.barrier();
    for (const uint64_t count : {1u, 5u, 32u, 1000u, 5003u, 40000u, 100001u, 200000u}) {
      if (count * static_cast<uint64_t>(env.size()) + 200 > WindowMemory::kWords) continue;
      for (const uint64_t offset : {0u, 4u, 17u, 32u}) {
        bad += memory.once({true, count, offset}, seed++);
        bad += memory.once({true, count, offset, true}, seed++);
        bad += memory.once({false, count, offset}, seed++);
        moves += 3;
      }
      bad += oneCall(env, count, 0, 0, false, seed++);
      bad += oneCall(env, 300, 0, 0, false, seed++);
    }
  }
  const uint64_t stored = registry.heldMemory().stored;
  const bool can = env.size() > 1 && env.runner->deviceFacts()->lineStores;
  if (stored != (can ? moves : 0)) bad += fail(env, "went the wrong way");
  const Move first{true, 50000, 0}, second{false, 30001, 8};
  const Captured graph(env, [&] {
    memory.launch(second);
    env.allReduce(env.src, env.dst, 200);
    memory.launch(first);
  });
  for (uint32_t replay = 0; replay < 6; ++replay) {
    memory.load(first, ++seed);
    graph.launch();
    if (replay % 2 == 1) memory.launch(first);
    bad += memory.wrong(first, seed);
  }
  registry.removeWindow(number);
  env.barrier();
  return bad;
}

// A graph of both, replayed on new data, with calls between; counters pass the end of 32 bits.
uint64_t copyEngineGraphs(RankEnv& env) {
  if (env.size() == 1) return 0;
  const Registered all(env, true, MemoryUse::kSymmetric);
  registryOf(env).useMemoryFrom(1, 1);
  env.sync();
  env.barrier();
  env.runner->startEpochsAt(0xfffffffau);
  env.barrier();
  const Move move{false, 3000, 5};
  const Captured graph(env, [&] {
    launch(env, {true, 3000, 100000});
    launch(env, move);
  });
  uint64_t bad = 0;
  for (uint32_t replay = 0; replay < 6; ++replay) {
    load(env, move, replay);
    graph.launch();
    if (replay % 2 == 1) launch(env, move);
    bad += wrong(env, move, replay);
  }
  return bad;
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

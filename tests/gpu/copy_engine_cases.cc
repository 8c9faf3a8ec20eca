// Collectives that copy engines have, on random bytes: into memory that ranks have registered, and
// into windows.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "api/rondo.h"
#include "base/error.h"
#include "coll/memory_registry.h"
#include "gpu/cases.h"
#include "gpu/fresh_stream.h"
#include "gpu/pass_on.h"
#include "gpu/registered.h"
#include "p2p/cuda_memory.h"

namespace rondo::test {
namespace {

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
  cuda(cudaMemsetAsync(env.dst, 0xff, kAllBytes, env.stream), "memset");
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

namespace {

/// A gather or a scatter of all of which `count` words are a block; in place on the root.
struct Rooted {
  bool gathers;
  int root;
  uint64_t count;
  bool inPlace;
};

/// Wrong words of one, whose result is at `offset` of the registered memory, or of `elsewhere`.
uint64_t rooted(RankEnv& env, const Rooted& call, uint64_t offset, uint32_t seed,
                float* elsewhere = nullptr) {
  const Move move{!call.gathers, call.count, offset};  // a scatter sends as an all-to-all does
  load(env, {call.gathers, call.count, offset}, seed);
  const bool isRoot = env.rank() == call.root;
  const uint64_t mine = static_cast<uint64_t>(env.rank()) * call.count;
  float* const result = elsewhere != nullptr ? elsewhere : env.dst + move.offset;
  const float* from = call.gathers || isRoot ? env.src : nullptr;
  if (call.inPlace && isRoot) {
    from = result + mine;
    cuda(cudaMemcpyAsync(result + mine, env.src, call.count * 4, cudaMemcpyDeviceToDevice,
                         env.stream),
         "copy");
  }
  env.runner->run({call.gathers ? "rondoGather" : "rondoScatter",
                   call.gathers ? Collective::Gather : Collective::Scatter, from, result,
                   call.count, rondoFloat32, rondoSum, call.root, env.stream});
  const uint64_t words = !call.gathers ? call.count
                         : isRoot      ? call.count * static_cast<uint64_t>(env.size())
                                       : 0;
  if (elsewhere != nullptr) {
    cuda(cudaMemcpyAsync(env.dst + move.offset, elsewhere, words * 4, cudaMemcpyDeviceToDevice,
                         env.stream),
         "copy");
  }
  const auto wanted = [&](uint64_t i) {
    return call.gathers ? word(static_cast<int>(i / call.count), i % call.count, seed)
                        : word(call.root, mine + i, seed);
  };
  return wrongWords(env, move, wanted, words);
}

/// From and to every root. Into memory that is not registered they are sends and receives.
Called rootedCalls(RankEnv& env, uint32_t* seed) {
  Called done;
  float* elsewhere = nullptr;
  const auto most = static_cast<uint64_t>(kMostElements) / static_cast<uint64_t>(env.size());
  cuda(cudaMalloc(&elsewhere, kAllBytes), "cudaMalloc");
  env.barrier();  // both may wait for the whole device, where nobody's kernel may wait for a peer
  for (int root = 0; root < env.size() && env.size() > 1; ++root) {
    for (const uint64_t count : {uint64_t{1}, uint64_t{1000}, most - 100}) {
      for (const bool gathers : {true, false}) {
        done.bad += rooted(env, {gathers, root, count, false}, 21, ++*seed);
        done.bad += rooted(env, {gathers, root, count, false}, 21, ++*seed, elsewhere);
        ++done.calls;
      }
      done.bad += rooted(env, {true, root, count, true}, 21, ++*seed);
      done.bad += rooted(env, {true, root, count, true}, 21, ++*seed, elsewhere);
      ++done.calls;
    }
  }
  env.sync();
  env.barrier();
  cuda(cudaFree(elsewhere), "cudaFree");
  env.barrier();
  return done;
}

}  // namespace

// Without a least length, and broadcasts, gathers and scatters: what ranks ask for that give no
// multiprocessors.
uint64_t copyEnginesAlone(RankEnv& env) {
  uint64_t bad = once(env, {true, 100, 3}, 77);  // not registered: by a kernel
  if (env.runner->runsRooted()) bad += fail(env, "gathers meet before anything is registered");
  const Registered all(env, true, MemoryUse::kSymmetric);
  uint32_t seed = 100;
  uint64_t calls = 0;
  if (registryOf(env).heldMemory().copied != 0) bad += fail(env, "copied what is not registered");
  const Called casts = broadcasts(env, &seed);
  bad += casts.bad;
  calls += casts.calls;
  if (!env.runner->runsRooted()) bad += fail(env, "gathers do not meet");
  const Called moves = rootedCalls(env, &seed);
  bad += moves.bad;
  calls += moves.calls;
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
    const Move move{true, count, 31};
    load(env_, move, seed);
    float* const into = static_cast<float*>(memory_) + offset;
    env_.runner->run({"rondoAllGather", Collective::AllGather, env_.src, into, count, rondoFloat32,
                      rondoSum, 0, env_.stream});
    cuda(cudaMemcpyAsync(env_.dst + move.offset, into,
                         count * 4 * static_cast<uint64_t>(env_.size()), cudaMemcpyDeviceToDevice,
                         env_.stream),
         "copy");
    uint64_t bad = wrong(env_, move, seed);
    const bool went = registryOf(env_).heldMemory().copied > before;
    if (went != (copied && env_.size() > 1)) bad += fail(env_, "went the wrong way");
    return bad;
  }

 private:
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

namespace {

/// One stream's graph of calls.
class OpenCapture {
 public:
  explicit OpenCapture(cudaStream_t stream) : stream_(stream) {
    cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "begin capture");
  }
  OpenCapture(const OpenCapture&) = delete;
  OpenCapture& operator=(const OpenCapture&) = delete;
  ~OpenCapture() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  void end() {
    cuda(cudaStreamEndCapture(stream_, &graph_), "end capture");
    cuda(cudaGraphInstantiate(&exec_, graph_, 0), "instantiate");
    cuda(cudaGraphUpload(exec_, stream_), "upload");
    cuda(cudaStreamSynchronize(stream_), "upload");
  }
  void launch(cudaStream_t stream) const { cuda(cudaGraphLaunch(exec_, stream), "graph launch"); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

/// enqueue() with another stream in the place of the rank's own.
template <class Enqueue>
void on(RankEnv& env, cudaStream_t stream, Enqueue enqueue) {
  const cudaStream_t own = std::exchange(env.stream, stream);
  enqueue();
  env.stream = own;
}

}  // namespace

// Calls at once while a stream's are captured, and two streams that are captured at the same time.
uint64_t copyEngineCaptures(RankEnv& env) {
  if (env.size() == 1) return 0;
  const Registered all(env, true, MemoryUse::kSymmetric);
  registryOf(env).useMemoryFrom(1, 1);
  cudaStream_t streams[2] = {};
  for (cudaStream_t& stream : streams) cuda(makeFreshStream(&stream), "a stream");
  const Move move{false, 3000, 5}, aside{true, 100, uint64_t{3} * kMostElements / 4};
  const Sum sum{50000, 11, false}, inPlace{40000, 13, true};
  uint64_t bad = 0;
  {
    env.sync();
    env.barrier();
    OpenCapture first(streams[0]);
    on(env, streams[0], [&] { launch(env, move); });
    load(env, move, 1);
    launch(env, move);
    bad += wrong(env, move, 1);
    OpenCapture second(streams[1]);
    on(env, streams[1], [&] {
      add(env, sum);
      launch(env, aside);
    });

    load(env, sum, 2);
    add(env, sum);
    bad += wrong(env, sum, 2);
    on(env, streams[0], [&] { launch(env, aside); });
    env.barrier();
    first.end();
    second.end();
    OpenCapture third(streams[0]);
    on(env, streams[0], [&] { add(env, inPlace); });
    third.end();
    env.barrier();
    for (uint32_t replay = 3; replay < 6; ++replay) {
      load(env, move, replay);
      first.launch(env.stream);
      bad += wrong(env, move, replay);
      load(env, sum, replay);
      second.launch(env.stream);
      bad += wrong(env, sum, replay);
      load(env, inPlace, replay + 10);
      third.launch(env.stream);
      bad += wrong(env, inPlace, replay + 10);
    }
    env.sync();
    env.barrier();
  }
  for (const cudaStream_t stream : streams) cuda(cudaStreamDestroy(stream), "destroy stream");
  env.barrier();
  return bad;
}

}  // namespace rondo::test

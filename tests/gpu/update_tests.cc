// Graphs of Rondo's calls that are updated by a second capture (cudaGraphExecUpdate): what was
// captured right behind another call has changed that call's arguments (close_launch.h), and an
// update has to bring both over.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <vector>

#include "gpu/api_ranks.h"
#include "gpu/graph_edges.h"
#include "gpu/world.h"
#include "kernels/launch.h"

namespace rondo::test {
namespace {

constexpr size_t kRoom = 450000;  // elements of a buffer
constexpr size_t kRooms = 4;

/// Two sums behind each other, the second one of what the first one leaves.
struct Two {
  uint64_t first, second;  ///< Elements; no more in the second.
  size_t room;  ///< Its buffers are this one of what is read, two from here on of results.
};

uint32_t word(int rank, size_t i, uint32_t seed) {
  uint64_t x = (static_cast<uint64_t>(seed) << 40 | static_cast<uint64_t>(rank) << 32 | i) + 1;
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
  return static_cast<uint32_t>(x >> 32);
}

void enqueue(RankEnv& env, const Two& two) {
  auto* const from = reinterpret_cast<uint32_t*>(env.src) + two.room * kRoom;
  auto* const to = reinterpret_cast<uint32_t*>(env.dst) + two.room * kRoom;
  env.runner->run(
      {"first", Collective::AllReduce, from, to, two.first, rondoUint32, rondoSum, 0, env.stream});
  env.runner->run({"second", Collective::AllReduce, to, to + kRoom, two.second, rondoUint32,
                   rondoSum, 0, env.stream});
}

/// No rank's kernels wait meanwhile.
cudaGraph_t captured(RankEnv& env, const Two& two) {
  cudaGraph_t graph = nullptr;
  env.barrier();
  cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
  enqueue(env, two);
  cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
  env.barrier();
  return graph;
}

void upload(RankEnv& env, cudaGraphExec_t exec) {
  cuda(cudaGraphUpload(exec, env.stream), "upload");
  env.sync();
  env.barrier();
}

/// The graph goes: what it was instantiated to stays as it is.
cudaGraphExec_t instantiated(RankEnv& env, cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  env.barrier();
  cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  upload(env, exec);
  return exec;
}

/// What the driver says of the update; `graph` goes.
cudaGraphExecUpdateResult update(RankEnv& env, cudaGraphExec_t exec, cudaGraph_t graph) {
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
  EXPECT_EQ(error == cudaSuccess, info.result == cudaGraphExecUpdateSuccess) << info.result;
  if (error != cudaSuccess) {
    EXPECT_EQ(error, cudaErrorGraphExecUpdateFailure) << cudaGetErrorString(error);
    cudaGetLastError();
  }
  cuda(cudaGraphDestroy(graph), "destroy");
  env.barrier();
  return info.result;
}

/// New words to read, and results that are not there yet.
void load(RankEnv& env, uint32_t seed) {
  auto* const host = reinterpret_cast<uint32_t*>(env.host);
  for (size_t i = 0; i < kRooms * kRoom; ++i) host[i] = word(env.rank(), i, seed);
  const size_t bytes = kRooms * kRoom * sizeof(uint32_t);
  cuda(cudaMemcpyAsync(env.src, host, bytes, cudaMemcpyHostToDevice, env.stream), "copy");
  cuda(cudaMemsetAsync(env.dst, 0xa5, bytes, env.stream), "memset");
  env.sync();
  env.loaded();
}

/// Elements of all results that are not as these calls, and nothing else, must leave them.
uint64_t wrong(RankEnv& env, const std::vector<Two>& calls, uint32_t seed) {
  env.loaded();  // all have launched
  std::vector<uint32_t> want(kRooms * kRoom, 0xa5a5a5a5u);
  for (const Two& two : calls) {
    for (size_t i = 0; i < two.first; ++i) {
      uint32_t sum = 0;
      for (int r = 0; r < env.size(); ++r) sum += word(r, two.room * kRoom + i, seed);
      want[two.room * kRoom + i] = sum;
      if (i < two.second) {
        want[(two.room + 1) * kRoom + i] = sum * static_cast<uint32_t>(env.size());
      }
    }
  }
  const auto* const got = reinterpret_cast<const uint32_t*>(env.host);
  cuda(cudaMemcpyAsync(env.host, env.dst, want.size() * 4, cudaMemcpyDeviceToHost, env.stream),
       "copy");
  env.sync();
  uint64_t bad = 0;
  for (size_t i = 0; i < want.size(); ++i) bad += got[i] != want[i] ? 1 : 0;
  env.loaded();  // all have read
  return bad;
}

/// One after the other, each on words of its own.
class Turns {
 public:
  explicit Turns(RankEnv& env) : env_(env) {}

  uint64_t replay(cudaGraphExec_t exec, const Two& two) {
    load(env_, ++seed_);
    cuda(cudaGraphLaunch(exec, env_.stream), "launch");
    return wrong(env_, {two}, seed_);
  }
  uint64_t eager(const Two& two) {
    load(env_, ++seed_);
    enqueue(env_, two);
    return wrong(env_, {two}, seed_);
  }
  /// Behind each other without a wait of the host: a replay, calls, a replay.
  uint64_t between(cudaGraphExec_t one, const Two& ofOne, const Two& calls, cudaGraphExec_t other,
                   const Two& ofOther) {
    load(env_, ++seed_);
    cuda(cudaGraphLaunch(one, env_.stream), "launch");
    enqueue(env_, calls);
    cuda(cudaGraphLaunch(other, env_.stream), "launch");
    return wrong(env_, {ofOne, calls, ofOther}, seed_);
  }
  /// A replay, an update while it may still run, and a replay of what the graph is then.
  uint64_t updatedBehind(cudaGraphExec_t exec, const Two& before, cudaGraph_t graph,
                         const Two& after) {
    load(env_, ++seed_);
    cuda(cudaGraphLaunch(exec, env_.stream), "launch");
    env_.barrier();  // nobody's kernels wait for one that comes behind somebody's update
    EXPECT_EQ(update(env_, exec, graph), cudaGraphExecUpdateSuccess);
    cuda(cudaGraphLaunch(exec, env_.stream), "launch");
    return wrong(env_, {before, after}, seed_);
  }

 private:
  RankEnv& env_;
  uint32_t seed_ = 0;
};

DeviceConfig with(DependentLaunch use) {
  DeviceConfig config = patient();
  config.dependentLaunch = use;
  return config;
}

void otherBuffers(RankEnv& env, DependentLaunch use) {
  for (const uint64_t count : {uint64_t{64}, uint64_t{5001}, uint64_t{400000}}) {
    const Two old{count, count, 0}, fresh{count, count, 2};
    const cudaGraph_t graph = captured(env, old);
    const bool close = use == DependentLaunch::On && launchesClose() && count == 64;
    if (close && CUDART_VERSION >= 12030) {
      EXPECT_EQ(programmaticEdges(graph), 1u);
    }
    const cudaGraphExec_t kept = instantiated(env, graph), updated = instantiated(env, graph);
    cuda(cudaGraphDestroy(graph), "destroy");
    EXPECT_EQ(update(env, updated, captured(env, fresh)), cudaGraphExecUpdateSuccess);
    upload(env, updated);
    Turns turns(env);
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(turns.replay(kept, old), 0u) << "the old one, " << count;
      EXPECT_EQ(turns.eager(fresh), 0u) << count;
      EXPECT_EQ(turns.replay(updated, fresh), 0u) << "the updated one, " << count;
      EXPECT_EQ(turns.between(updated, fresh, {77, 70, 0}, updated, fresh), 0u) << count;
      EXPECT_EQ(turns.between(kept, old, fresh, kept, old), 0u) << count;
    }
    // and to and fro
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(turns.updatedBehind(updated, fresh, captured(env, old), old), 0u) << count;
      EXPECT_EQ(turns.updatedBehind(updated, old, captured(env, fresh), fresh), 0u) << count;
    }
    env.barrier();
    for (const cudaGraphExec_t exec : {kept, updated}) cuda(cudaGraphExecDestroy(exec), "destroy");
  }
}

TEST(GraphUpdate, OtherBuffers) {
  for (const DependentLaunch use : {DependentLaunch::On, DependentLaunch::Off}) {
    for (const int ranks : {2, 3}) {
      runWorld(ranks, with(use), [use](RankEnv& env) { otherBuffers(env, use); });
    }
  }
}

// Other counts may take other kernels, blocks and protocols, which the driver brings over. Whether
// one comes close behind the other is a matter of edges: if these differ the driver may refuse, and
// the graph is what it was; if it does not, the order has to hold all the same.
TEST(GraphUpdate, OtherCounts) {
  constexpr Two kFrom[] = {{64, 64, 0}, {400000, 300000, 0}};
  constexpr Two kTo[] = {{100, 60, 2}, {1, 1, 2},     {20000, 20000, 2}, {400000, 399999, 2},
                         {64, 63, 2},  {5001, 64, 2}, {400000, 64, 2},   {90000, 80000, 2}};
  runWorld(2, with(DependentLaunch::On), [&](RankEnv& env) {
    for (const Two& old : kFrom) {
      for (const Two& fresh : kTo) {
        const cudaGraph_t first = captured(env, old), second = captured(env, fresh);
        const bool same = programmaticEdges(first) == programmaticEdges(second);
        const cudaGraphExec_t exec = instantiated(env, first);
        cuda(cudaGraphDestroy(first), "destroy");
        const cudaGraphExecUpdateResult result = update(env, exec, second);
        if (same) {
          EXPECT_EQ(result, cudaGraphExecUpdateSuccess) << old.first << " to " << fresh.first;
        } else {
          if (env.rank() == 0) {
            std::printf("from %d of %d and %d elements to %d and %d, with other edges: result %d\n",
                        env.size(), static_cast<int>(old.first), static_cast<int>(old.second),
                        static_cast<int>(fresh.first), static_cast<int>(fresh.second),
                        static_cast<int>(result));
          }
        }
        upload(env, exec);
        const Two& now = result == cudaGraphExecUpdateSuccess ? fresh : old;
        Turns turns(env);
        for (int k = 0; k < 4; ++k) {
          EXPECT_EQ(turns.replay(exec, now), 0u) << old.first << " to " << fresh.first;
          EXPECT_EQ(turns.eager(old), 0u);
        }
        env.barrier();
        cuda(cudaGraphExecDestroy(exec), "destroy");
      }
    }
  });
}

// More calls than before are another graph: refused, and the old one goes on.
TEST(GraphUpdate, MoreCallsAreRefused) {
  runWorld(2, with(DependentLaunch::On), [](RankEnv& env) {
    const Two old{64, 64, 0};
    const cudaGraph_t graph = captured(env, old);
    const cudaGraphExec_t exec = instantiated(env, graph);
    cuda(cudaGraphDestroy(graph), "destroy");
    cudaGraph_t longer = nullptr;
    env.barrier();
    cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    enqueue(env, old);
    enqueue(env, {64, 64, 2});
    cuda(cudaStreamEndCapture(env.stream, &longer), "end capture");
    env.barrier();
    EXPECT_EQ(update(env, exec, longer), cudaGraphExecUpdateErrorTopologyChanged);
    Turns turns(env);
    for (int k = 0; k < 3; ++k) EXPECT_EQ(turns.replay(exec, old), 0u);
    env.barrier();
    cuda(cudaGraphExecDestroy(exec), "destroy");
  });
}

/// Of the public calls: a group of two sums, a long and a short message, an all-gather.
constexpr size_t kLong = 3u << 20;  // 12 MiB, which may go straight into the receiver's memory
constexpr size_t kEach = 2 * kLong;
void publicCalls(const Rank& me, rondoComm_t comm, const Buffers& b, size_t at) {
  good(rondoGroupStart());
  good(rondoAllReduce(b.src.at(at), b.dst.at(at), 500, rondoInt32, rondoSum, comm, b.stream));
  good(rondoAllReduce(b.src.at(at + 500), b.dst.at(at + 500), 500, rondoInt32, rondoMax, comm,
                      b.stream));
  good(rondoGroupEnd());
  good(rondoSendRecv(b.src.at(at), 300, me.after(1), b.dst.at(at + 1000), 300, me.before(1),
                     rondoInt32, comm, b.stream));
  good(rondoSendRecv(b.src.at(at), kLong, me.after(1), b.dst.at(at + 2000), kLong, me.before(1),
                     rondoInt32, comm, b.stream));
  good(rondoAllGather(b.src.at(at + 7), b.dst.at(at + 2000 + kLong), 1000, rondoInt32, comm,
                      b.stream));
}

size_t wrongOfPublicCalls(const Rank& me, Buffers& b, size_t at) {
  size_t bad = b.dst.wrong(b.stream, at, 500, [&](size_t i) {
    int sum = 0;
    for (int r = 0; r < me.ranks; ++r) sum += element(r, at + i);
    return sum;
  });
  bad += b.dst.wrong(b.stream, at + 500, 500,
                     [&](size_t i) { return element(me.ranks - 1, at + 500 + i); });
  bad += b.dst.wrong(b.stream, at + 1000, 300,
                     [&](size_t i) { return element(me.before(1), at + i); });
  bad += b.dst.wrong(b.stream, at + 1300, 700, [](size_t) { return -1; });
  bad += b.dst.wrong(b.stream, at + 2000, kLong,
                     [&](size_t i) { return element(me.before(1), at + i); });
  return bad + b.dst.wrong(b.stream, at + 2000 + kLong, 1000 * static_cast<size_t>(me.ranks),
                           [&](size_t i) {
                             return element(static_cast<int>(i / 1000), at + 7 + i % 1000);
                           });
}

TEST(GraphUpdate, GroupsAndMessages) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    Buffers b(me, 2 * kEach);
    const auto capture = [&](size_t at) {
      cudaGraph_t graph = nullptr;
      me.meet();
      check(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
      publicCalls(me, comm, b, at);
      check(cudaStreamEndCapture(b.stream, &graph));
      me.meet();
      return graph;
    };
    const cudaGraph_t first = capture(0), second = capture(kEach);
    cudaGraphExec_t kept = nullptr, updated = nullptr;
    for (cudaGraphExec_t* exec : {&kept, &updated}) check(cudaGraphInstantiate(exec, first, 0));
    cudaGraphExecUpdateResultInfo info{};
    EXPECT_EQ(cudaGraphExecUpdate(updated, second, &info), cudaSuccess) << info.result;
    for (const cudaGraph_t graph : {first, second}) check(cudaGraphDestroy(graph));
    for (const cudaGraphExec_t exec : {kept, updated}) check(cudaGraphUpload(exec, b.stream));
    check(waitFor(b.stream));
    me.meet();
    for (int turn = 0; turn < 4; ++turn) {
      for (const bool fresh : {false, true}) {
        for (const bool eager : {false, true}) {
          b.dst.fill(b.stream, [](size_t) { return -1; });
          me.meet();
          const size_t at = fresh ? kEach : 0;
          if (eager) {
            publicCalls(me, comm, b, at);
          } else {
            check(cudaGraphLaunch(fresh ? updated : kept, b.stream));
          }
          me.launched();
          EXPECT_EQ(wrongOfPublicCalls(me, b, at), 0u) << fresh << eager;
          EXPECT_EQ(b.dst.wrong(b.stream, kEach - at, kEach, [](size_t) { return -1; }), 0u);
          me.meet();
        }
      }
    }
    me.meet();
    for (const cudaGraphExec_t exec : {kept, updated}) check(cudaGraphExecDestroy(exec));
    good(rondoCommDestroy(comm));
  });
}

}  // namespace
}  // namespace rondo::test

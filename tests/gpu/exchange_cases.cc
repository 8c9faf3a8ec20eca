// Sends and receives of device memory, on random bytes, with guards around everything that is
// received.

#include <algorithm>
#include <cstring>
#include <random>

#include "gpu/cases.h"

namespace rondo::test {
namespace {

/// One message of a world; every rank makes the same list.
struct Message {
  int from;
  int to;
  uint64_t bytes;
  unsigned srcShift;  ///< Bytes off a 16-byte boundary.
  unsigned dstShift;
};
using Messages = std::vector<Message>;

constexpr unsigned char kPoison = 0xa5;
constexpr uint64_t kGap = 64;

void fill(unsigned char* to, uint64_t bytes, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 0x85ebca6bu;
  for (uint64_t i = 0; i < bytes; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(to + i, &state, std::min<uint64_t>(8, bytes - i));
  }
}

/// Where rank `rank` has its messages: those it sends in src, those it receives in dst.
struct Places {
  std::vector<uint64_t> at;  ///< Of each message; unused ones 0.
  uint64_t bytes = 0;
};
Places placesOf(const Messages& messages, int rank, bool sends) {
  Places places;
  uint64_t next = kGap;
  for (const Message& m : messages) {
    const bool mine = (sends ? m.from : m.to) == rank;
    places.at.push_back(mine ? next + (sends ? m.srcShift : m.dstShift) : 0);
    if (mine) next = (next + m.bytes + kGap + 31) / 16 * 16;
  }
  places.bytes = next;
  return places;
}

/// Messages of a pair in their order, the pairs mixed as this rank likes it.
std::vector<Transfer> shuffled(RankEnv& env, const Messages& messages, const Places& out,
                               const Places& in, uint32_t seed) {
  const int n = env.size();
  std::vector<std::vector<Transfer>> queues(2 * static_cast<size_t>(n));
  for (size_t k = 0; k < messages.size(); ++k) {
    const Message& m = messages[k];
    char* const src = reinterpret_cast<char*>(env.src) + out.at[k];
    char* const dst = reinterpret_cast<char*>(env.dst) + in.at[k];
    if (m.from == env.rank())
      queues[2 * static_cast<size_t>(m.to)].push_back({m.to, true, src, m.bytes});
    if (m.to == env.rank()) {
      queues[2 * static_cast<size_t>(m.from) + 1].push_back({m.from, false, dst, m.bytes});
    }
  }
  std::mt19937 random(seed * 64 + static_cast<uint32_t>(env.rank()));
  std::vector<Transfer> order;
  std::vector<size_t> next(queues.size(), 0);
  for (;;) {
    std::vector<size_t> left;
    for (size_t q = 0; q < queues.size(); ++q) {
      if (next[q] < queues[q].size()) left.push_back(q);
    }
    if (left.empty()) return order;
    const size_t q = left[random() % left.size()];
    order.push_back(queues[q][next[q]++]);
  }
}

/// What a rank holds before, and must find afterwards.
struct World {
  World(RankEnv& world, const Messages& list, uint32_t seed)
      : env(world),
        messages(list),
        out(placesOf(list, world.rank(), true)),
        in(placesOf(list, world.rank(), false)),
        transfers(shuffled(world, list, out, in, seed)) {}

  void load(uint32_t seed) {
    env.sync();
    auto* const host = reinterpret_cast<unsigned char*>(env.host);
    for (size_t k = 0; k < messages.size(); ++k) {
      if (messages[k].from == env.rank()) fill(host + out.at[k], messages[k].bytes, seed + k);
    }
    cuda(cudaMemcpyAsync(env.src, host, out.bytes, cudaMemcpyHostToDevice, env.stream), "copy");
    cuda(cudaMemsetAsync(env.dst, kPoison, in.bytes, env.stream), "memset");
    env.sync();
    env.loaded();
  }

  uint64_t wrong(uint32_t seed, const char* test) {
    std::vector<unsigned char> want(in.bytes, kPoison);
    for (size_t k = 0; k < messages.size(); ++k) {
      if (messages[k].to == env.rank()) fill(&want[in.at[k]], messages[k].bytes, seed + k);
    }
    cuda(cudaMemcpyAsync(env.host, env.dst, in.bytes, cudaMemcpyDeviceToHost, env.stream), "copy");
    env.sync();
    const auto* const got = reinterpret_cast<const unsigned char*>(env.host);
    uint64_t bad = 0;
    for (uint64_t i = 0; i < in.bytes; ++i) {
      if (got[i] == want[i]) continue;
      if (bad++ > 0) continue;
      size_t k = 0;
      for (size_t m = 0; m < messages.size(); ++m) {
        if (messages[m].to == env.rank() && in.at[m] <= i) k = m;
      }
      std::printf(
          "rank %d of %d, %s: byte %llu of message %zu (%d to %d, %llu bytes, off %u and "
          "%u) is wrong\n",
          env.rank(), env.size(), test, static_cast<unsigned long long>(i - in.at[k]), k,
          messages[k].from, messages[k].to, static_cast<unsigned long long>(messages[k].bytes),
          messages[k].srcShift, messages[k].dstShift);
    }
    return bad;
  }

  void run() { env.runner->exchange("rondoGroupEnd", transfers, {&env.stream, 1}); }

  RankEnv& env;
  const Messages& messages;
  const Places out, in;
  const std::vector<Transfer> transfers;
};

uint64_t once(RankEnv& env, const Messages& messages, uint32_t seed, const char* test) {
  World world(env, messages, seed);
  world.load(seed);
  world.run();
  return world.wrong(seed, test);
}

uint64_t sizeLike(std::mt19937& random, uint64_t most) {
  const uint64_t bits = random() % 21;
  const uint64_t bytes = random() % ((uint64_t{2} << bits));
  return std::min(bytes, most);
}

/// `count` random messages between random ranks, themselves too.
Messages randomMessages(int size, int count, uint64_t most, uint32_t seed) {
  std::mt19937 random(seed);
  Messages messages;
  for (int k = 0; k < count; ++k) {
    const auto rank = [&] { return static_cast<int>(random() % static_cast<unsigned>(size)); };
    const int from = rank(), to = rank();
    const unsigned shifts[] = {0, 0, 0, 4, 8, 1, 3};
    messages.push_back(
        {from, to, sizeLike(random, most), shifts[random() % 7], shifts[random() % 7]});
  }
  return messages;
}

}  // namespace

// Every rank sends to the next one and receives from the previous one.
uint64_t transferSizes(RankEnv& env) {
  uint64_t bad = 0;
  uint32_t seed = 100;
  std::vector<uint64_t> sizes = {1,      2,      3,      4,      7,      8,       15,      16,
                                 17,     119,    120,    121,    479,    480,     481,     3839,
                                 3840,   3841,   7680,   7681,   65536,  65537,   99999,   122880,
                                 122881, 500000, 524287, 524288, 524289, 1048577, 3000001, 8388608};
  for (const uint64_t bytes : sizes) {
    for (const auto& [from, to] : {std::pair{0u, 0u}, {1u, 0u}, {0u, 3u}, {4u, 8u}, {5u, 5u}}) {
      if (bytes > 1048576 && from + to > 0 && from != 4)
        continue;  // the host's part takes its time
      Messages ring;
      for (int r = 0; r < env.size(); ++r)
        ring.push_back({r, (r + 1) % env.size(), bytes, from, to});
      bad += once(env, ring, seed, "round the ring");
      seed += 1000;
    }
  }
  return bad;
}

uint64_t transferMix(RankEnv& env) {
  uint64_t bad = 0;
  for (uint32_t k = 0; k < 12; ++k) {
    const int count = k % 3 == 0 ? 5 : k % 3 == 1 ? 40 : 300;
    const uint64_t most = k % 3 == 2 ? 40000 : 1u << 20;
    bad += once(env, randomMessages(env.size(), count, most, 70 + k), 50000 * (k + 1), "mixed");
  }
  return bad;
}

// More messages of one pair than a launch has room for, some of them in both directions.
uint64_t transferRounds(RankEnv& env) {
  Messages messages;
  std::mt19937 random(5);
  for (int k = 0; k < 1400; ++k) {
    const int from = k % 5 == 0 ? env.size() - 1 : 0;
    messages.push_back({from, env.size() - 1 - from, random() % 3000, 0, 0});
  }
  return once(env, messages, 7, "many rounds");
}

// Exchanges behind each other without a host wait.
uint64_t transfersInARow(RankEnv& env) {
  const Messages messages = randomMessages(env.size(), 60, 200000, 11);
  World world(env, messages, 11);
  uint64_t bad = 0;
  for (uint32_t round = 0; round < 4; ++round) {
    world.load(round);
    env.barrier();
    for (size_t k = 0; k < 3; ++k) world.run();
    bad += world.wrong(round, "in a row");
  }
  return bad;
}

// A graph of an exchange, a collective and an exchange.
uint64_t transferGraphs(RankEnv& env) {
  const Messages messages = randomMessages(env.size(), 30, 100000, 21);
  World world(env, messages, 21);
  const uint64_t far = kMostElements / 2;  // of the collective's data
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  env.barrier();
  cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeGlobal), "begin capture");
  world.run();
  env.allReduce(env.src + far, env.dst + far, 5000);
  world.run();
  cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
  env.barrier();
  cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  cuda(cudaGraphUpload(exec, env.stream), "upload");
  env.sync();
  env.barrier();
  uint64_t bad = 0;
  for (uint32_t replay = 0; replay < 6; ++replay) {
    env.load(env.src + far, env.dst + far, 5000, 300 + replay);
    world.load(replay);
    cuda(cudaGraphLaunch(exec, env.stream), "graph launch");
    if (replay % 2 == 1) world.run();  // between replays, too
    bad += world.wrong(replay, "graph");
    bad += env.wrong(env.dst + far, 5000, 300 + replay);
  }
  env.barrier();
  cuda(cudaGraphExecDestroy(exec), "destroy graph");
  cuda(cudaGraphDestroy(graph), "destroy graph");
  return bad;
}

// The counters of blocks pass the end of 32 bits.
uint64_t transferWrap(RankEnv& env) {
  env.sync();
  env.barrier();
  env.runner->startEpochsAt(0xfffffffau);
  env.barrier();
  uint64_t bad = 0;
  for (uint32_t k = 0; k < 3; ++k) {
    bad += once(env, randomMessages(env.size(), 20, 1u << 21, 31 + k), 900 + k, "wrap");
  }
  return bad;
}

}  // namespace rondo::test

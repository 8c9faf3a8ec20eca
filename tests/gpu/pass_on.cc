#include "gpu/pass_on.h"

#include <algorithm>
#include <cstdio>

namespace rondo::test {
namespace {

int previousOf(const RankEnv& env) { return (env.rank() + env.size() - 1) % env.size(); }

}  // namespace

MemoryRegistry& registryOf(RankEnv& env) { return dynamic_cast<MemoryRegistry&>(*env.runner); }

bool everywhere(RankEnv& env, bool here) {
  const char mine = here ? 1 : 0;
  std::vector<char> all(static_cast<size_t>(env.size()));
  env.boot().allGather(&mine, 1, all.data());
  return std::count(all.begin(), all.end(), 1) == env.size();
}

uint64_t fail(RankEnv& env, const char* what) {
  std::printf("rank %d of %d: %s\n", env.rank(), env.size(), what);
  return 1;
}

uint32_t word(int rank, uint64_t i, uint32_t seed) {
  return (static_cast<uint32_t>(i) * 2654435761u ^ seed * 0x85ebca6bu) +
         static_cast<uint32_t>(rank) * 0x9e3779b9u;
}

void loadPass(RankEnv& env, void* memory, uint64_t bytes, uint32_t seed) {
  auto* const host = reinterpret_cast<uint32_t*>(env.host);
  for (uint64_t i = 0; i < kPassed; ++i) host[i] = word(env.rank(), i, seed);
  cuda(cudaMemcpyAsync(env.src, host, kPassed * 4, cudaMemcpyHostToDevice, env.stream), "copy");
  cuda(cudaMemsetAsync(memory, 0xff, bytes, env.stream), "memset");
  env.sync();
  env.barrier();
}

void enqueuePass(RankEnv& env, void* memory) {
  const int next = (env.rank() + 1) % env.size();
  const Transfer transfers[] = {{next, true, reinterpret_cast<char*>(env.src), kPassed * 4},
                                {previousOf(env), false, static_cast<char*>(memory), kPassed * 4}};
  env.runner->exchange("rondoSendRecv", transfers, {&env.stream, 1});
}

uint64_t wrongPass(RankEnv& env, const void* memory, uint32_t seed) {
  auto* const host = reinterpret_cast<uint32_t*>(env.host);
  cuda(cudaMemcpyAsync(host, memory, kPassed * 4, cudaMemcpyDeviceToHost, env.stream), "copy");
  env.sync();
  uint64_t bad = 0;
  for (uint64_t i = 0; i < kPassed; ++i) bad += host[i] != word(previousOf(env), i, seed);
  return bad;
}

uint64_t passOn(RankEnv& env, void* memory, uint64_t bytes, uint32_t seed) {
  loadPass(env, memory, bytes, seed);
  enqueuePass(env, memory);
  return wrongPass(env, memory, seed);
}

}  // namespace rondo::test

#include <algorithm>
#include <cstring>

#include "api/types.h"
#include "gpu/cases.h"
#include "gpu/reference.h"

namespace rondo::test {
namespace {

// Through page-locked memory: copies of other memory may wait for kernels that wait for this rank.
void toDevice(RankEnv& env, unsigned char* to, const Bytes& from) {
  if (from.empty()) return;
  env.sync();  // the copy before may still read there
  std::memcpy(env.host, from.data(), from.size());
  cuda(cudaMemcpyAsync(to, env.host, from.size(), cudaMemcpyHostToDevice, env.stream), "copy");
  env.sync();
}
Bytes fromDevice(RankEnv& env, const unsigned char* from, size_t bytes) {
  cuda(cudaMemcpyAsync(env.host, from, bytes, cudaMemcpyDeviceToHost, env.stream), "copy");
  env.sync();
  const auto* got = reinterpret_cast<const unsigned char*>(env.host);
  return Bytes(got, got + bytes);
}

/// This rank's scalar, in memory of the host or of the device.
void giveScalar(RankEnv& env, ScaledOp* op) {
  const Unit scalar = scalarOf(op->type, env.rank());
  std::memcpy(op->value.data(), &scalar, sizeof scalar);
  op->scalar = op->value.data();
  if (!op->onDevice) return;
  auto* const place = reinterpret_cast<unsigned char*>(env.src + kMostElements);
  toDevice(env, place, Bytes(op->value.begin(), op->value.end()));
  op->scalar = place;
}

uint64_t runProblem(RankEnv& env, const Problem& p, uint32_t seed) {
  const bool reduces = isReduction(p.collective);
  const DeviceChoice choice = env.runner->choose(requestOf(p, env.size()));
  if (choice.algorithm == nullptr) return 1;
  const Reference reference(p, choice, env.size(), seed);
  const Bytes& input = reference.input(env.rank());
  const Bytes want = reference.output(env.rank());
  unsigned char* send = reinterpret_cast<unsigned char*>(env.src) + p.sendAt;
  unsigned char* recv = reinterpret_cast<unsigned char*>(env.dst) + p.recvAt;
  if (p.inPlace) {
    const size_t own = p.ownAt(env.rank());
    if (p.collective == Collective::ReduceScatter) {
      recv = send + own;
    } else {
      recv = send;
      send += own;
    }
  }
  constexpr size_t kTail = 64;
  if (!p.inPlace) cuda(cudaMemsetAsync(recv, 0xa5, want.size() + kTail, env.stream), "memset");
  toDevice(env, send, input);
  ScaledOp scaled{p.type, nullptr, {}, seed % 2 == 0};
  if (p.scaled) giveScalar(env, &scaled);
  env.loaded();
  env.runner->run({p.name, p.collective, send, recv, p.count, p.type, p.op, p.root, env.stream,
                   p.scaled ? &scaled : nullptr});
  const Bytes got = fromDevice(env, recv, want.size() + kTail);
  uint64_t bad = 0;
  for (size_t i = 0; i < want.size(); ++i) bad += got[i] != want[i] ? 1 : 0;
  for (size_t i = want.size(); i < got.size() && !p.inPlace; ++i) bad += got[i] != 0xa5 ? 1 : 0;
  if (bad != 0) {
    std::printf(
        "rank %d of %d, %s (%s %s, %d lanes), %s %s, count %zu, root %d%s, %zu and %zu bytes off: "
        "%llu wrong bytes\n",
        env.rank(), env.size(), p.name, choice.algorithm, protocolName(choice.protocol),
        choice.geometry.lanes, typeName(p.type), reduces ? opName(p.op) : "", p.count, p.root,
        p.inPlace ? ", in place" : "", p.sendAt, p.recvAt, static_cast<unsigned long long>(bad));
  }
  return bad;
}

}  // namespace

uint64_t everyTypeAndOperator(RankEnv& env) {
  uint64_t bad = 0;
  uint32_t seed = 20000;
  for (const auto& c : kCollectivesHere) {
    if (!isReduction(c.collective)) continue;
    for (const rondoDataType_t type : kAllTypes) {
      for (const rondoRedOp_t op : kAllOps) {
        if (!opDefined(type, op) || (isScan(c.collective) && op == rondoAvg)) continue;
        for (const size_t count : {size_t{1}, size_t{333}, size_t{5000}}) {
          const int root = static_cast<int>(seed) % env.size();
          bad +=
              runProblem(env, {c.collective, c.name, type, op, count, root, seed % 3 == 0}, seed);
          ++seed;
        }
      }
    }
  }
  return bad;
}

uint64_t premultipliedSums(RankEnv& env) {
  uint64_t bad = 0;
  uint32_t seed = 50000;
  for (const auto& c : kCollectivesHere) {
    if (!isReduction(c.collective)) continue;
    for (const rondoDataType_t type :
         {rondoFloat32, rondoFloat16, rondoBfloat16, rondoFloat64, rondoInt32}) {
      for (const size_t count : {1, 7, 480, 5001, 70000}) {
        for (const size_t shift : {size_t{0}, size_t{1}}) {
          for (const bool inPlace : {false, true}) {
            const int root = static_cast<int>(seed) % env.size();
            const size_t off = shift * typeSize(type);
            bad += runProblem(
                env, {c.collective, c.name, type, rondoSum, count, root, inPlace, off, off, true},
                seed);
            seed += seed % 5 == 0 ? 2 : 1;
          }
        }
      }
    }
  }
  return bad;
}

uint64_t everyCollective(RankEnv& env) {
  uint64_t bad = 0;
  uint32_t seed = 40000;
  for (const auto& c : kCollectivesHere) {
    for (const rondoDataType_t type :
         {rondoInt8, rondoBfloat16, rondoFloat32, rondoFloat64, rondoComplex128}) {
      for (const size_t count : {1, 2, 7, 61, 480, 1111, 16384, 100003}) {
        if (count * typeSize(type) > 500000) continue;  // the host's part takes its time
        for (const size_t shift : {size_t{0}, size_t{1}, size_t{3}}) {
          for (const bool inPlace : {false, true}) {
            if (inPlace && !c.inPlace) continue;
            const int root = static_cast<int>(seed) % env.size();
            const size_t off = shift * typeSize(type);
            bad += runProblem(
                env, {c.collective, c.name, type, rondoSum, count, root, inPlace, off, off}, seed);
            ++seed;
          }
        }
      }
    }
  }
  return bad;
}

namespace {

constexpr size_t kMixedPlace = 1u << 20;  // bytes a call
constexpr int kMixedCalls = 24;

std::vector<Problem> mixedProblems(const RankEnv& env, uint32_t round) {
  std::vector<Problem> problems;
  for (int k = 0; k < kMixedCalls; ++k) {
    const auto& c =
        kCollectivesHere[(static_cast<size_t>(k) * 5 + round) % std::size(kCollectivesHere)];
    const size_t count = k % 3 == 0 ? 1 : k % 3 == 1 ? 200 : 9000;
    problems.push_back({c.collective, c.name, rondoFloat32, rondoSum, count,
                        k % 2 == 0 ? 0 : static_cast<int>(round) % env.size(), false});
  }
  return problems;
}

/// No rank's kernels wait while another one still does this.
void spoilResults(RankEnv& env, const std::vector<Problem>& problems) {
  cuda(cudaMemsetAsync(env.dst, 0x5a, kMixedPlace * problems.size(), env.stream), "memset");
  env.sync();
  env.loaded();
}

/// Behind each other.
void runAll(RankEnv& env, const std::vector<Problem>& problems) {
  for (size_t k = 0; k < problems.size(); ++k) {
    const Problem& p = problems[k];
    env.runner->run({p.name, p.collective,
                     reinterpret_cast<unsigned char*>(env.src) + kMixedPlace * k,
                     reinterpret_cast<unsigned char*>(env.dst) + kMixedPlace * k, p.count, p.type,
                     p.op, p.root, env.stream});
  }
}

uint64_t wrongCalls(RankEnv& env, const std::vector<Problem>& problems,
                    const std::vector<Bytes>& wants) {
  uint64_t bad = 0;
  for (size_t k = 0; k < problems.size(); ++k) {
    const unsigned char* const at = reinterpret_cast<unsigned char*>(env.dst) + kMixedPlace * k;
    if (fromDevice(env, at, wants[k].size()) == wants[k]) continue;
    ++bad;
    std::printf("rank %d of %d, call %zu: %s of %zu, root %d, is wrong\n", env.rank(), env.size(),
                k, problems[k].name, problems[k].count, problems[k].root);
  }
  return bad;
}

/// The calls as a graph, in which kernels follow each other closest, some times.
uint64_t replayAll(RankEnv& env, const std::vector<Problem>& problems,
                   const std::vector<Bytes>& wants) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  env.barrier();
  cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
  runAll(env, problems);
  cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
  cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  cuda(cudaGraphUpload(exec, env.stream), "upload");
  env.sync();
  env.barrier();
  uint64_t bad = 0;
  for (int k = 0; k < 6; ++k) {
    spoilResults(env, problems);
    cuda(cudaGraphLaunch(exec, env.stream), "graph launch");
    bad += wrongCalls(env, problems, wants);
  }
  env.barrier();
  cuda(cudaGraphExecDestroy(exec), "destroy graph");
  cuda(cudaGraphDestroy(graph), "destroy graph");
  return bad;
}

uint64_t mixed(RankEnv& env, uint32_t round, bool inAGraph) {
  const std::vector<Problem> problems = mixedProblems(env, round);
  std::vector<Bytes> wants;
  for (size_t k = 0; k < problems.size(); ++k) {
    const Problem& p = problems[k];
    const Reduces what = isReduction(p.collective) ? Reduces::kHot : Reduces::kNothing;
    const Reference reference(p, env.runner->choose({p.collective, p.count, 4, what}), env.size(),
                              60000 + round * 100 + static_cast<uint32_t>(k));
    wants.push_back(reference.output(env.rank()));
    toDevice(env, reinterpret_cast<unsigned char*>(env.src) + kMixedPlace * k,
             reference.input(env.rank()));
  }
  if (inAGraph) return replayAll(env, problems, wants);
  spoilResults(env, problems);
  runAll(env, problems);
  return wrongCalls(env, problems, wants);
}

}  // namespace

// Rooted collectives say little of who has read what; they alternate with the others here, back to
// back, with small and large ones in turn.
uint64_t mixedInARow(RankEnv& env) {
  uint64_t bad = 0;
  for (uint32_t round = 0; round < 6; ++round) bad += mixed(env, round, false);
  return bad;
}
uint64_t mixedInGraphs(RankEnv& env) {
  uint64_t bad = 0;
  for (uint32_t round = 0; round < 6; ++round) bad += mixed(env, round, true);
  return bad;
}

}  // namespace rondo::test

#include <algorithm>
#include <cstring>

#include "api/types.h"
#include "coll/reduce/reduce.h"
#include "gpu/cases.h"

namespace rondo::test {
namespace {

using Bytes = std::vector<unsigned char>;

/// Rank `rank`'s bits of data set `seed`: random, every third word made of what is special in some
/// type (zeros, ones, signs, infinities, NaNs).
Bytes randomBits(int rank, size_t bytes, uint32_t seed) {
  Bytes out(bytes);
  uint64_t state = (static_cast<uint64_t>(seed) << 32 | static_cast<uint32_t>(rank)) * 2 + 1;
  for (size_t i = 0; i < bytes; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint64_t word = state * 0x2545f4914f6cdd1du;
    static constexpr uint64_t kSpecial[] = {0,
                                            ~uint64_t{0},
                                            0x8000000080000000u,
                                            0x7ff000007f800000u,
                                            0x3ff000003f800000u,
                                            0x7c007f80fc00ff80u,
                                            0x0101010101010101u,
                                            0x7f7e7c7bff807dfcu};
    if (state % 3 == 0) word = kSpecial[(state >> 20) % 8];
    std::memcpy(&out[i], &word, std::min<size_t>(8, bytes - i));
  }
  return out;
}

struct Problem {
  Collective collective;
  const char* name;
  rondoDataType_t type;
  rondoRedOp_t op;
  size_t count;
  int root;
  bool inPlace;
  int shift;            ///< Elements that the buffers are off their alignment.
  bool scaled = false;  ///< Every rank multiplies what it gives by its scalarOf().
};

/// What a kernel must be able to do among so many ranks.
Reduces reducesOf(const Problem& p, int ranks) {
  if (!isReduction(p.collective)) return Reduces::kNothing;
  if (!isHot(p.type, p.op)) return Reduces::kAll;
  if (isScan(p.collective)) return Reduces::kHot;
  return p.scaled && ranks > 1 ? Reduces::kScaled : Reduces::kHot;
}

/// 1/3 or 1.6, of integers 3 or 5.
Unit scalarOf(rondoDataType_t type, int rank) {
  const bool third = rank % 2 == 0;
  switch (type) {
    case rondoFloat16:
      return {third ? 0x3555u : 0x3e66u, 0};
    case rondoBfloat16:
      return {third ? 0x3eabu : 0x3fcdu, 0};
    case rondoFloat32:
      return {third ? 0x3eaaaaabu : 0x3fcccccdu, 0};
    case rondoFloat64:
      return {third ? 0x3fd5555555555555u : 0x3ff999999999999au, 0};
    default:
      return {third ? 3u : 5u, 0};
  }
}

Bytes productsOf(const Bytes& input, rondoDataType_t type, int rank) {
  const size_t element = typeSize(type);
  const Unit scalar = scalarOf(type, rank);
  Bytes out(input.size());
  for (size_t at = 0; at < input.size(); at += element) {
    Unit factors[2] = {{0, 0}, scalar};
    std::memcpy(&factors[0], &input[at], element);
    const Unit product = foldAny(Reduction{type, rondoProd, 0}, factors, 2);
    std::memcpy(&out[at], &product, element);
  }
  return out;
}

size_t slotsOf(Slots use, int size) {
  return use == Slots::None ? 0 : use == Slots::All ? static_cast<size_t>(size) : 1;
}

class Reference {
 public:
  Reference(const Problem& p, const DeviceChoice& choice, int size, uint32_t seed)
      : p_(p),
        ring_(choice.protocol == Protocol::kSimple),
        geometry_(choice.geometry),
        size_(size),
        element_(typeSize(p.type)) {
    for (int r = 0; r < size; ++r) {
      inputs_.push_back(randomBits(
          r, slotsOf(slotUse(p.collective, r, p.root).src, size) * p.count * element_, seed));
      if (p.scaled) products_.push_back(productsOf(inputs_.back(), p.type, r));
    }
  }
  const Bytes& input(int rank) const { return inputs_[static_cast<size_t>(rank)]; }

  /// What `rank` must find; empty where it has no result.
  Bytes output(int rank) const {
    const size_t slot = p_.count * element_;
    Bytes out(slotsOf(slotUse(p_.collective, rank, p_.root).dst, size_) * slot);
    if (out.empty()) return out;
    const auto copy = [&](size_t to, int from, size_t at) {
      std::memcpy(&out[to * slot], &input(from)[at * slot], slot);
    };
    switch (p_.collective) {
      case Collective::AllGather:
        for (int r = 0; r < size_; ++r) copy(static_cast<size_t>(r), r, 0);
        break;
      case Collective::AllToAll:
        for (int r = 0; r < size_; ++r) copy(static_cast<size_t>(r), r, static_cast<size_t>(rank));
        break;
      case Collective::Broadcast:
        copy(0, p_.root, 0);
        break;
      case Collective::ReduceScatter:
        reduce(&out, static_cast<size_t>(rank) * slot, 0, p_.count, ring_ ? rank + 1 : 0);
        break;
      case Collective::Reduce:
        reduce(&out, 0, 0, p_.count, ring_ ? p_.root + 1 : 0);
        break;
      case Collective::Scan:
      case Collective::Exscan:
        fold(&out, 0, 0, p_.count, 0, p_.collective == Collective::Scan ? rank + 1 : rank);
        break;
      default:
        allReduce(&out);
    }
    return out;
  }

 private:
  /// Elements [begin, end) of the result from byte `at` of the inputs. A ring adds one rank after
  /// the other from rank `first` on; windows take all at once, in rank order.
  void reduce(Bytes* out, size_t at, size_t begin, size_t end, int first) const {
    fold(out, at, begin, end, first, size_);
  }
  /// The same of so many `ranks`.
  void fold(Bytes* out, size_t at, size_t begin, size_t end, int first, int ranks) const {
    if (begin >= end) return;
    const ReduceFn fn = findReduce(p_.type, p_.op, CpuLevel::kPlain);
    const uint32_t divisor = p_.op == rondoAvg ? static_cast<uint32_t>(size_) : 0;
    std::vector<const void*> in;
    for (int k = 0; k < ranks; ++k) {
      const auto r = static_cast<size_t>((first + k) % size_);
      in.push_back(&(p_.scaled ? products_ : inputs_)[r][at + begin * element_]);
    }
    unsigned char* const to = &(*out)[begin * element_];
    if (ranks == 1) {
      std::memcpy(to, in[0], (end - begin) * element_);
      return;
    }
    if (!ring_) {
      fn({to, nullptr, in.data(), ranks, end - begin, divisor, false});
      return;
    }
    std::memcpy(to, in[0], (end - begin) * element_);
    for (size_t k = 1; k < in.size(); ++k) {
      const void* two[] = {to, in[k]};
      fn({to, nullptr, two, 2, end - begin, k + 1 == in.size() ? divisor : 0, false});
    }
  }

  void allReduce(Bytes* out) const {
    const algo::Geometry& g = geometry_;
    for (uint64_t period = 0; period <= g.fullPeriods(); ++period) {
      for (int lane = 0; lane < g.lanes; ++lane) {
        algo::Part part =
            period < g.fullPeriods() ? algo::fullPart(g, lane) : algo::lastPart(g, lane);
        part.offset += period * g.period();
        for (int j = 0; j < g.blocks; ++j) {
          const algo::Block b = part.at(j);
          reduce(out, 0, b.offset, b.offset + b.count, ring_ ? j + 1 : 0);
        }
      }
    }
  }

  const Problem& p_;
  const bool ring_;
  const algo::Geometry geometry_;
  const int size_;
  const size_t element_;
  std::vector<Bytes> inputs_;
  std::vector<Bytes> products_;  // where they are scaled
};

/// Where the own part of the larger buffer lies, for in place.
size_t inPlaceAt(const Problem& p, int rank) {
  const bool mine =
      p.collective == Collective::AllGather || p.collective == Collective::ReduceScatter;
  return mine ? static_cast<size_t>(rank) * p.count * typeSize(p.type) : 0;
}

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
  const size_t element = typeSize(p.type);
  const bool reduces = isReduction(p.collective);
  const DeviceChoice choice = env.runner->choose(
      {p.collective, p.count, static_cast<uint32_t>(element), reducesOf(p, env.size())});
  if (choice.algorithm == nullptr) return 1;
  const Reference reference(p, choice, env.size(), seed);
  const Bytes& input = reference.input(env.rank());
  const Bytes want = reference.output(env.rank());
  const size_t shift = static_cast<size_t>(p.shift) * element;
  unsigned char* send = reinterpret_cast<unsigned char*>(env.src) + shift;
  unsigned char* recv = reinterpret_cast<unsigned char*>(env.dst) + shift;
  if (p.inPlace) {
    const size_t own = inPlaceAt(p, env.rank());
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
        "rank %d of %d, %s (%s %s, %d lanes), %s %s, count %zu, root %d%s, shift %d: %llu "
        "wrong bytes\n",
        env.rank(), env.size(), p.name, choice.algorithm, protocolName(choice.protocol),
        choice.geometry.lanes, typeName(p.type), reduces ? opName(p.op) : "", p.count, p.root,
        p.inPlace ? ", in place" : "", p.shift, static_cast<unsigned long long>(bad));
  }
  return bad;
}

constexpr struct {
  Collective collective;
  const char* name;
  bool inPlace;
} kCollectivesHere[] = {
    {Collective::AllReduce, "rondoAllReduce", true},
    {Collective::Reduce, "rondoReduce", true},
    {Collective::ReduceScatter, "rondoReduceScatter", true},
    {Collective::AllGather, "rondoAllGather", true},
    {Collective::Broadcast, "rondoBroadcast", true},
    {Collective::AllToAll, "rondoAllToAll", false},
    {Collective::Scan, "rondoScan", true},
    {Collective::Exscan, "rondoExscan", true},
};

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
          bad += runProblem(env, {c.collective, c.name, type, op, count, root, seed % 3 == 0, 0},
                            seed);
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
        for (const int shift : {0, 1}) {
          for (const bool inPlace : {false, true}) {
            const int root = static_cast<int>(seed) % env.size();
            bad += runProblem(
                env, {c.collective, c.name, type, rondoSum, count, root, inPlace, shift, true},
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
        for (const int shift : {0, 1, 3}) {
          for (const bool inPlace : {false, true}) {
            if (inPlace && !c.inPlace) continue;
            const int root = static_cast<int>(seed) % env.size();
            bad += runProblem(
                env, {c.collective, c.name, type, rondoSum, count, root, inPlace, shift}, seed);
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
                        k % 2 == 0 ? 0 : static_cast<int>(round) % env.size(), false, 0});
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

// The whole grid: every collective, type and operator with buffers at every alignment that there
// is, another one on each rank, in place and not; and long ones. Many calls behind each other, in
// images of memory of which every byte is known: what no call may write stays as it is.

#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/types.h"
#include "gpu/cases.h"
#include "gpu/reference.h"

namespace rondo::test {
namespace {

constexpr size_t kGap = 32;                      // bytes between buffers, at least
constexpr unsigned char kPoison = 0xa5;          // in them, and where results shall be
constexpr size_t kMostBytes = size_t{14} << 20;  // of an image; page-locked memory has two
constexpr size_t kMostCalls = 16;
// Under compute-sanitizer, in which a call takes some milliseconds: so many times fewer. Prime to
// the numbers of alignments and of counts, so that all of these occur.
constexpr size_t kFewer = 7;

/// What memory has, and what it must have then.
struct Image {
  Bytes before, after;

  /// A place of so many bytes, so far behind a multiple of 16.
  size_t add(size_t bytes, size_t off) {
    const size_t at = (before.size() + kGap + 15) / 16 * 16 + off;
    before.resize(at + bytes + kGap, kPoison);
    after.resize(before.size(), kPoison);
    return at;
  }
  void give(size_t at, const Bytes& what) {
    for (Bytes* image : {&before, &after}) put(image, at, what);
  }
  void want(size_t at, const Bytes& what) { put(&after, at, what); }

 private:
  static void put(Bytes* image, size_t at, const Bytes& what) {
    if (!what.empty()) std::memcpy(image->data() + at, what.data(), what.size());
  }
};

/// Calls behind each other, of those that the way is for.
class Batch {
 public:
  Batch(RankEnv& env, const Way& way) : env_(env), way_(way) {}

  void add(const Problem& p) {
    const DeviceChoice choice = env_.runner->choose(requestOf(p, env_.size()));
    if (choice.algorithm == nullptr || choice.protocol != way_.protocol ||
        (way_.only != nullptr && std::string_view(way_.only) != choice.algorithm)) {
      return;
    }
    if (asked_++ % (inStep() ? kFewer : 1) != 0) return;
    // By what all ranks know, as they run the same ones together.
    const size_t most = p.count * typeSize(p.type) * static_cast<size_t>(env_.size()) + 4 * kGap;
    if (calls_.size() == kMostCalls || room_ + most > kMostBytes) run();
    room_ += most;
    place({p, choice});
  }

  /// Wrong bytes of all; at least one if there was no call.
  uint64_t finish() {
    run();
    if (asked_ == 0) std::printf("rank %d: no call went by %s\n", env_.rank(), way_.name);
    return bad_ + (asked_ == 0 ? 1 : 0);
  }

 private:
  struct Call {
    Problem problem;
    DeviceChoice choice;
    const unsigned char* send = nullptr;
    unsigned char* recv = nullptr;
    size_t srcEnd = 0, dstEnd = 0;  // of what it has of the images
  };

  void place(Call call) {
    const Problem& p = call.problem;
    const int rank = env_.rank(), size = env_.size();
    const Reference reference(p, call.choice, size, ++seed_);
    const size_t sendBytes = p.sendBytes(rank, size), recvBytes = p.recvBytes(rank, size);
    size_t send = src_.add(p.inPlace ? std::max(sendBytes, recvBytes) : sendBytes, p.sendAt);
    size_t recv = send;
    auto* const src = reinterpret_cast<unsigned char*>(env_.src);
    auto* const dst = p.inPlace ? src : reinterpret_cast<unsigned char*>(env_.dst);
    if (!p.inPlace) recv = dst_.add(recvBytes, p.recvAt);
    if (p.inPlace) (sendBytes > recvBytes ? recv : send) += p.ownAt(rank);
    src_.give(send, reference.input(rank));
    (p.inPlace ? src_ : dst_).want(recv, reference.output(rank));
    call.send = src + send;
    call.recv = dst + recv;
    call.srcEnd = src_.before.size();
    call.dstEnd = dst_.before.size();
    calls_.push_back(call);
  }

  // No copy of one rank is behind kernels that wait while another one still loads.
  void run() {
    if (calls_.empty()) return;
    auto* const host = reinterpret_cast<unsigned char*>(env_.host);
    const auto both = [&](cudaMemcpyKind kind, unsigned char* at, float* device, size_t bytes) {
      if (bytes == 0) return;
      const bool in = kind == cudaMemcpyHostToDevice;
      void* const to = in ? static_cast<void*>(device) : at;
      const void* const from = in ? static_cast<const void*>(at) : device;
      cuda(cudaMemcpyAsync(to, from, bytes, kind, env_.stream), "copy");
    };
    unsigned char* const dstHost = host + kMostElements * sizeof(float) / 2;
    std::copy(src_.before.begin(), src_.before.end(), host);
    std::copy(dst_.before.begin(), dst_.before.end(), dstHost);
    both(cudaMemcpyHostToDevice, host, env_.src, src_.before.size());
    both(cudaMemcpyHostToDevice, dstHost, env_.dst, dst_.before.size());
    env_.settle();
    env_.sync();
    env_.barrier();
    for (const Call& call : calls_) {
      const Problem& p = call.problem;
      env_.runner->run(
          {p.name, p.collective, call.send, call.recv, p.count, p.type, p.op, p.root, env_.stream});
    }
    env_.loaded();
    both(cudaMemcpyDeviceToHost, host, env_.src, src_.before.size());
    both(cudaMemcpyDeviceToHost, dstHost, env_.dst, dst_.before.size());
    env_.sync();
    compare(host, dstHost);
    calls_.clear();
    src_ = dst_ = {};
    room_ = 0;
  }

  void compare(const unsigned char* src, const unsigned char* dst) {
    size_t srcAt = 0, dstAt = 0;
    for (const Call& call : calls_) {
      const uint64_t wrong =
          differ(src, src_.after, srcAt, call.srcEnd) + differ(dst, dst_.after, dstAt, call.dstEnd);
      srcAt = call.srcEnd;
      dstAt = call.dstEnd;
      if (wrong != 0) say(call, wrong);
      bad_ += wrong;
    }
  }
  static uint64_t differ(const unsigned char* got, const Bytes& want, size_t from, size_t to) {
    if (std::equal(got + from, got + to, want.data() + from)) return 0;
    uint64_t wrong = 0;
    for (size_t i = from; i < to; ++i) wrong += got[i] != want[i] ? 1 : 0;
    return wrong;
  }
  void say(const Call& call, uint64_t wrong) {
    const Problem& p = call.problem;
    if (++said_ > 10) return;
    std::printf(
        "rank %d of %d, %s (%s %s, %d lanes), %s %s, count %zu, root %d%s, %zu and %zu bytes off: "
        "%llu wrong bytes\n",
        env_.rank(), env_.size(), p.name, call.choice.algorithm, protocolName(call.choice.protocol),
        call.choice.geometry.lanes, typeName(p.type), isReduction(p.collective) ? opName(p.op) : "",
        p.count, p.root, p.inPlace ? ", in place" : "", p.sendAt, p.recvAt,
        static_cast<unsigned long long>(wrong));
  }

  RankEnv& env_;
  const Way& way_;
  std::vector<Call> calls_;
  Image src_, dst_;
  size_t room_ = 0, asked_ = 0;
  uint32_t seed_ = 80000;
  uint64_t bad_ = 0;
  int said_ = 0;
};

/// Of addresses, modulo 16.
size_t stepOf(rondoDataType_t type) { return std::min<size_t>(typeSize(type), 8); }
size_t alignmentsOf(rondoDataType_t type) { return 16 / stepOf(type); }

class Sweep {
 public:
  Sweep(RankEnv& env, Batch& batch) : env_(env), batch_(batch) {}

  /// With each alignment of either buffer, or with all pairs of them.
  template <class Entry>
  void all(const Entry& c, rondoDataType_t type, rondoRedOp_t op, bool pairs) {
    const size_t n = alignmentsOf(type);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < (pairs ? n : 1); ++j) {
        one(c, type, op, nextCount(), i, pairs ? j : i * 7 + 3, false);
      }
      if (c.inPlace) one(c, type, op, nextCount(), i, i, true);
    }
  }
  template <class Entry>
  void one(const Entry& c, rondoDataType_t type, rondoRedOp_t op, size_t count, size_t i, size_t j,
           bool inPlace) {
    const auto rank = static_cast<size_t>(env_.rank());
    const size_t n = alignmentsOf(type), step = stepOf(type);
    const int root = static_cast<int>(turn_++) % env_.size();
    batch_.add({c.collective, c.name, type, op, count, root, inPlace, (i + 3 * rank) % n * step,
                (j + 5 * rank) % n * step});
  }

 private:
  size_t nextCount() const {
    static constexpr size_t kCounts[] = {61, 333, 2, 1021, 190};
    return kCounts[turn_ % std::size(kCounts)];
  }

  RankEnv& env_;
  Batch& batch_;
  size_t turn_ = 0;
};

/// Whether elements of this size have had no type before this one.
bool firstOfItsSize(rondoDataType_t type) {
  const auto* const first =
      std::find_if(std::begin(kAllTypes), std::end(kAllTypes),
                   [&](rondoDataType_t other) { return typeSize(other) == typeSize(type); });
  return *first == type;
}

}  // namespace

uint64_t gridOfAlignments(RankEnv& env, const Way& way) {
  Batch batch(env, way);
  Sweep sweep(env, batch);
  for (const auto& c : kCollectivesHere) {
    for (const rondoDataType_t type : kAllTypes) {
      if (!isReduction(c.collective)) sweep.all(c, type, rondoSum, firstOfItsSize(type));
      if (!isReduction(c.collective)) continue;
      for (const rondoRedOp_t op : kAllOps) {
        if (!opDefined(type, op) || (isScan(c.collective) && op == rondoAvg)) continue;
        sweep.all(c, type, op, isHot(type, op));
      }
    }
  }
  return batch.finish();
}

// Blocks of rings are several slices long, and there are several periods of windows.
uint64_t gridOfLongCalls(RankEnv& env, const Way& way) {
  static constexpr struct {
    rondoDataType_t type;
    rondoRedOp_t op;
  } kKinds[] = {{rondoInt8, rondoMax},
                {rondoBfloat16, rondoSum},
                {rondoFloat32, rondoSum},
                {rondoFloat64, rondoProd},
                {rondoComplex128, rondoSum}};
  Batch batch(env, way);
  Sweep sweep(env, batch);
  const auto ranks = static_cast<size_t>(env.size());
  for (const auto& c : kCollectivesHere) {
    const size_t bytes = c.collective == Collective::AllReduce ? (190u << 10) * ranks : 300u << 10;
    for (const auto& kind : kKinds) {
      const size_t count = bytes / typeSize(kind.type) + 7;
      sweep.one(c, kind.type, kind.op, count, 0, 0, false);
      sweep.one(c, kind.type, kind.op, count + 2, 1, 2, false);
      if (c.inPlace) sweep.one(c, kind.type, kind.op, count + 4, 1, 1, true);
    }
  }
  return batch.finish();
}

}  // namespace rondo::test

// Host reductions and copies: GB/s of one output written (bytes of one operand per second) for a
// working set that fits the L2 cache and one that does not, per type, operator and CPU level,
// beside a plain copy and a hand-written AVX-512 loop (the memory-bandwidth line). Also the time of
// a call on a few elements.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/types.h"
#include "coll/reduce/reduce.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rondo {
namespace {

constexpr size_t kInL2 = 32 << 10;
constexpr size_t kInMemory = 64 << 20;

/// Page-aligned operands and one or two outputs, all of `bytes`; values around 1.
class Operands {
 public:
  Operands(int n, size_t bytes) : storage_(bytes * static_cast<size_t>(n + 2) + kPage) {
    const size_t start = (0 - reinterpret_cast<uintptr_t>(storage_.data())) % kPage;
    unsigned char* p = storage_.data() + start;
    std::memset(p, 0x3f, bytes * static_cast<size_t>(n + 2));
    for (int k = 0; k < n; ++k, p += bytes) in_.push_back(p);
    out0 = p;
    out1 = p + bytes;
  }
  const void* const* in() const { return in_.data(); }
  void* out0;
  void* out1;

 private:
  static constexpr size_t kPage = 4096;
  std::vector<unsigned char> storage_;
  std::vector<const void*> in_;
};

void setRate(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

/// The yardstick: float32 sum of two aligned operands, which reads twice and writes once.
#if defined(__x86_64__)
/// Four vectors at a time.
__attribute__((target("avx512f"))) void handSum(float* out, const float* a, const float* b,
                                                size_t count) {
  for (size_t i = 0; i < count; i += 64) {
    const __m512 v0 = _mm512_add_ps(_mm512_load_ps(a + i), _mm512_load_ps(b + i));
    const __m512 v1 = _mm512_add_ps(_mm512_load_ps(a + i + 16), _mm512_load_ps(b + i + 16));
    const __m512 v2 = _mm512_add_ps(_mm512_load_ps(a + i + 32), _mm512_load_ps(b + i + 32));
    const __m512 v3 = _mm512_add_ps(_mm512_load_ps(a + i + 48), _mm512_load_ps(b + i + 48));
    _mm512_store_ps(out + i, v0);
    _mm512_store_ps(out + i + 16, v1);
    _mm512_store_ps(out + i + 32, v2);
    _mm512_store_ps(out + i + 48, v3);
  }
}

#endif

void plainSum(float* __restrict out, const float* a, const float* b, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

void yardstick(const Operands& operands, size_t bytes) {
  auto* const out = static_cast<float*>(operands.out0);
  const auto* const a = static_cast<const float*>(operands.in()[0]);
  const auto* const b = static_cast<const float*>(operands.in()[1]);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return handSum(out, a, b, bytes / sizeof(float));
#endif
  plainSum(out, a, b, bytes / sizeof(float));
}

/// Of this thread: what others do on the core meanwhile does not count.
double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Bytes a second that the yardstick writes, the best of a few passes over these operands: of this
/// core, now.
double lineRate(const Operands& operands, size_t bytes) {
  const int passes = bytes > kInL2 ? 1 : 200;
  double best = 1e9;
  for (int i = 0; i < 6; ++i) {
    const double start = cpuSeconds();
    for (int k = 0; k < passes; ++k) {
      yardstick(operands, bytes);
      benchmark::ClobberMemory();
    }
    best = std::min(best, (cpuSeconds() - start) / passes);
  }
  return static_cast<double>(bytes) / best;
}

void handBench(benchmark::State& state, size_t bytes) {
  Operands operands(2, bytes);
  for (auto _ : state) {
    yardstick(operands, bytes);
    benchmark::ClobberMemory();
  }
  setRate(state, bytes);
}

void reduceBench(benchmark::State& state, ReduceFn reduce, rondoDataType_t type, int n,
                 size_t bytes, bool second, bool stream) {
  Operands operands(n, bytes);
  const ReduceArgs args{operands.out0,          second ? operands.out1 : nullptr, operands.in(), n,
                        bytes / typeSize(type), static_cast<uint32_t>(n),         stream};
  const bool held = bytes >= kInL2 && n >= 2;
  const double line = held ? lineRate(operands, bytes) : 0;
  const double start = cpuSeconds();
  for (auto _ : state) {
    reduce(args);
    benchmark::ClobberMemory();
  }
  const double spent = cpuSeconds() - start;
  setRate(state, bytes);
  // The part of the yardstick's traffic: it reads two operands and writes one.
  const double moved = static_cast<double>(state.iterations() * bytes) * (second ? n + 2 : n + 1);
  if (held) state.counters["of_bandwidth"] = moved / spent / (3 * line);
}

void variantBench(benchmark::State& state, ReduceFn reduce, rondoDataType_t type, int n,
                  size_t bytes, bool tree, int scaled) {
  Operands operands(n, bytes);
  const ReduceArgs args{
      operands.out0, nullptr, operands.in(),   n, bytes / typeSize(type), 0, false,
      tree,          scaled,  operands.in()[0]};
  for (auto _ : state) {
    reduce(args);
    benchmark::ClobberMemory();
  }
  setRate(state, bytes);
}

void scaleBench(benchmark::State& state, ScaleFn scale, rondoDataType_t type, size_t bytes) {
  Operands operands(1, bytes);
  for (auto _ : state) {
    scale(operands.out0, operands.in()[0], operands.in()[0], bytes / typeSize(type));
    benchmark::ClobberMemory();
  }
  setRate(state, bytes);
}

void copyBench(benchmark::State& state, CopyFn copy, size_t bytes, bool second, CopyTo to) {
  Operands operands(1, bytes);
  for (auto _ : state) {
    copy(operands.out0, second ? operands.out1 : nullptr, operands.in()[0], bytes, to);
    benchmark::ClobberMemory();
  }
  setRate(state, bytes);
}

std::string sizeName(size_t bytes) {
  return bytes >= (1 << 20) ? std::to_string(bytes >> 20) + "MiB"
                            : std::to_string(bytes >> 10) + "KiB";
}

void registerReduce(CpuLevel level, rondoDataType_t type, rondoRedOp_t op) {
  const ReduceFn reduce = findReduce(type, op, level);
  const std::string name =
      std::string("reduce/") + cpuLevelName(level) + "/" + typeName(type) + "/" + opName(op);
  const auto add = [&](const std::string& suffix, int n, size_t bytes, bool second, bool stream) {
    benchmark::RegisterBenchmark((name + suffix).c_str(), reduceBench, reduce, type, n, bytes,
                                 second, stream);
  };
  for (size_t bytes : {kInL2, kInMemory}) {
    for (int n : {2, 3, 4, 8}) {
      add("/n:" + std::to_string(n) + "/" + sizeName(bytes), n, bytes, false, false);
    }
    add("/n:2/two/" + sizeName(bytes), 2, bytes, true, false);
  }
  add("/n:2/stream/" + sizeName(kInMemory), 2, kInMemory, false, true);
  for (size_t count : {1, 4, 16, 256}) {
    add("/n:2/count:" + std::to_string(count), 2, count * typeSize(type), false, false);
  }
}

/// What reproducible and pre-multiplied sums cost beside the plain sum.
void registerVariants(CpuLevel level, rondoDataType_t type) {
  const ReduceFn sum = findReduce(type, rondoSum, level);
  const std::string name = std::string(cpuLevelName(level)) + "/" + typeName(type) + "/sum/";
  for (size_t bytes : {kInL2, kInMemory}) {
    for (int n : {4, 8}) {
      benchmark::RegisterBenchmark(
          ("tree/" + name + "n:" + std::to_string(n) + "/" + sizeName(bytes)).c_str(), variantBench,
          sum, type, n, bytes, true, -1);
    }
    benchmark::RegisterBenchmark(("scaled/" + name + "n:2/" + sizeName(bytes)).c_str(),
                                 variantBench, sum, type, 2, bytes, false, 1);
    benchmark::RegisterBenchmark(("scale/" + name + sizeName(bytes)).c_str(), scaleBench,
                                 findScale(type, level), type, bytes);
  }
}

void registerCopy(CpuLevel level) {
  const CopyFn copy = findCopy(level);
  const std::string name = std::string("copy/") + cpuLevelName(level);
  for (size_t bytes : {kInL2, kInMemory}) {
    for (bool second : {false, true}) {
      for (CopyTo to : {CopyTo::kStaging, CopyTo::kUser, CopyTo::kPast}) {
        const char* kind = to == CopyTo::kStaging ? "/staging/"
                           : to == CopyTo::kUser  ? "/user/"
                                                  : "/past/";
        benchmark::RegisterBenchmark(
            (name + (second ? "/two" : "/one") + kind + sizeName(bytes)).c_str(), copyBench, copy,
            bytes, second, to);
      }
    }
  }
  for (size_t bytes : {4, 8, 64, 256, 1024}) {
    benchmark::RegisterBenchmark((name + "/one/bytes:" + std::to_string(bytes)).c_str(), copyBench,
                                 copy, bytes, false, CopyTo::kUser);
  }
}

void registerAll() {
  for (const char* name : {"plain", "avx2", "avx512", "avx512vbmi"}) {
    try {
      const CpuLevel level = chooseCpuLevel(name);
      registerCopy(level);
      for (rondoDataType_t type : kAllTypes) {
        for (rondoRedOp_t op : kAllOps) {
          if (opDefined(type, op)) registerReduce(level, type, op);
        }
        if (isNumeric(type)) registerVariants(level, type);
      }
    } catch (const std::invalid_argument&) {  // Not on this processor.
    }
  }
  for (size_t bytes : {kInL2, kInMemory}) {
    benchmark::RegisterBenchmark(("hand/float32/sum/n:2/" + sizeName(bytes)).c_str(), handBench,
                                 bytes);
  }
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  rondo::registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

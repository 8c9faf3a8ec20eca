// The kernels that reduce what copy engines have brought, on random bits, against the host's own
// reductions.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "api/types.h"
#include "coll/reduce/reduce.h"
#include "gpu/rank_env.h"
#include "kernels/fold.h"

namespace rondo::test {
namespace {

constexpr size_t kRoom = 5u << 20;  // of a buffer, bytes
constexpr size_t kGuardBytes = 64;

/// Buffers of the device with random bits, and the same on the host.
class Folded {
 public:
  Folded() : random_(11) {
    cuda(cudaSetDevice(0), "cudaSetDevice");
    cuda(makeFreshStream(&stream_), "a stream");
    for (int r = 0; r <= kMaxWindowRanks; ++r) {
      unsigned char* buffer = nullptr;
      cuda(cudaMalloc(&buffer, kRoom), "cudaMalloc");
      device_.push_back(buffer);
      std::vector<unsigned char> bits(kRoom);
      for (size_t i = 0; i + 8 <= kRoom; i += 8) {
        const uint64_t word = random_();
        std::memcpy(bits.data() + i, &word, 8);
      }
      cuda(cudaMemcpy(buffer, bits.data(), kRoom, cudaMemcpyHostToDevice), "copy");
      host_.push_back(std::move(bits));
    }
  }
  Folded(const Folded&) = delete;
  Folded& operator=(const Folded&) = delete;
  ~Folded() {
    for (unsigned char* buffer : device_) cudaFree(buffer);
    cudaStreamDestroy(stream_);
  }

  /// Fills the first of a buffer.
  void put(size_t buffer, const std::vector<unsigned char>& bits) {
    std::memcpy(host_[buffer].data(), bits.data(), bits.size());
    cuda(cudaMemcpy(device_[buffer], bits.data(), bits.size(), cudaMemcpyHostToDevice), "copy");
  }

  /// Bytes of the result, or of kGuardBytes behind it, that are not what the host makes of it; from
  /// addresses `shifted` multiples of an element's size behind 16 bytes.
  size_t wrong(rondoDataType_t type, rondoRedOp_t op, int n, size_t count, bool shifted) {
    const size_t element = typeSize(type), bytes = count * element;
    const auto offset = [&] { return shifted ? random_() % (32 / element) * element : size_t{0}; };
    FoldCall call{};
    call.bytes = bytes;
    call.n = n;
    call.elementBytes = static_cast<uint32_t>(element);
    call.reduction = {type, op, op == rondoAvg ? static_cast<uint32_t>(n) : 0};
    std::vector<const void*> operands;
    for (int r = 0; r < n; ++r) {
      const size_t at = offset();
      call.from[r] = device_[static_cast<size_t>(r)] + at;
      operands.push_back(host_[static_cast<size_t>(r)].data() + at);
    }
    const size_t to = offset();
    call.to = device_.back() + to;
    cuda(cudaMemsetAsync(device_.back(), 0xee, to + bytes + kGuardBytes, stream_), "memset");
    cuda(static_cast<cudaError_t>(launchFold(call, stream_)), "launchFold");
    std::vector<unsigned char> got(to + bytes + kGuardBytes);
    std::vector<unsigned char> want(got.size(), 0xee);
    cuda(cudaMemcpyAsync(got.data(), device_.back(), got.size(), cudaMemcpyDeviceToHost, stream_),
         "copy");
    cuda(cudaStreamSynchronize(stream_), "wait");
    // Operands of the host's reductions may lie anywhere, results too.
    findReduce(type, op, CpuLevel::kPlain)(
        {want.data() + to, nullptr, operands.data(), n, count, call.reduction.divisor, false});
    size_t bad = 0;
    for (size_t i = 0; i < got.size(); ++i) bad += got[i] != want[i] ? 1 : 0;
    return bad;
  }

 private:
  std::mt19937_64 random_;
  cudaStream_t stream_ = nullptr;
  std::vector<unsigned char*> device_;  // the last one for results
  std::vector<std::vector<unsigned char>> host_;
};

TEST(FoldKernels, EveryTypeAndOperator) {
  Folded folded;
  for (const rondoDataType_t type : kAllTypes) {
    for (const rondoRedOp_t op : kAllOps) {
      if (!opDefined(type, op)) continue;
      for (const int n : {2, 3, 4, 5, 8}) {
        for (const bool shifted : {false, true}) {
          for (const size_t count : {size_t{1}, size_t{37}, size_t{5003}}) {
            ASSERT_EQ(folded.wrong(type, op, n, count, shifted), 0u)
                << typeName(type) << " " << opName(op) << ", " << n << " buffers of " << count
                << (shifted ? ", shifted" : "");
          }
        }
      }
    }
  }
}

// Two 8-bit floats are added and multiplied by way of float16: every pair there is, and with all
// thirds of some.
TEST(FoldKernels, EveryPairOfEightBitFloats) {
  Folded folded;
  constexpr size_t kPairs = 256 * 256;
  std::vector<unsigned char> left(kPairs), right(kPairs);
  for (size_t i = 0; i < kPairs; ++i) {
    left[i] = static_cast<unsigned char>(i % 256);
    right[i] = static_cast<unsigned char>(i / 256);
  }
  folded.put(0, left);
  folded.put(1, right);
  for (const rondoDataType_t type : {rondoFloat8e4m3, rondoFloat8e5m2}) {
    for (const rondoRedOp_t op : {rondoSum, rondoProd, rondoMax, rondoMin, rondoAvg}) {
      EXPECT_EQ(folded.wrong(type, op, 2, kPairs, false), 0u)
          << typeName(type) << " " << opName(op);
      for (int third = 0; third < 256; third += 5) {
        folded.put(2, std::vector<unsigned char>(kPairs, static_cast<unsigned char>(third)));
        ASSERT_EQ(folded.wrong(type, op, 3, kPairs, false), 0u)
            << typeName(type) << " " << opName(op) << " with " << third;
      }
    }
  }
}

// More than one pass of all threads.
TEST(FoldKernels, LongBuffers) {
  Folded folded;
  for (int n = 2; n <= kMaxWindowRanks; ++n) {
    for (const bool shifted : {false, true}) {
      EXPECT_EQ(folded.wrong(rondoFloat32, rondoSum, n, (kRoom - 256) / 4, shifted), 0u) << n;
      EXPECT_EQ(folded.wrong(rondoBfloat16, rondoAvg, n, (kRoom - 256) / 2 - 3, shifted), 0u) << n;
      EXPECT_EQ(folded.wrong(rondoInt8, rondoMax, n, kRoom - 251, shifted), 0u) << n;
    }
  }
}

}  // namespace
}  // namespace rondo::test

// Memory of rondoMemAllocDevice on one GPU: the ranks are threads of this process. Without a GPU:
// tests/cuda/heap_tests.cc.

#include <algorithm>
#include <string>

#include "api/rondo.h"
#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

constexpr size_t kCount = size_t{3} << 20;  ///< int32_t; 12 MiB

int32_t* allocated(size_t count) {
  void* memory = nullptr;
  good(rondoMemAllocDevice(&memory, count * 4, RONDO_DEVICE_AUTO));
  return static_cast<int32_t*>(memory);
}

/// Whether the first and last thousand of `count` are what `wanted` gives for their places.
template <class Wanted>
bool holds(const int32_t* memory, size_t count, const Wanted& wanted) {
  std::vector<int32_t> host(std::min<size_t>(count, 1000));
  for (const size_t begin : {size_t{0}, count - host.size()}) {
    check(cudaMemcpy(host.data(), memory + begin, host.size() * 4, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < host.size(); ++i) {
      if (host[i] != wanted(begin + i)) return false;
    }
  }
  return true;
}

void fill(int32_t* memory, size_t count, int rank) {
  std::vector<int32_t> host(count);
  for (size_t i = 0; i < count; ++i) host[i] = static_cast<int32_t>(i % 1000) + rank * 1000;
  check(cudaMemcpy(memory, host.data(), count * 4, cudaMemcpyHostToDevice));
}

// Collectives, transfers, and registered.
TEST(DeviceMemory, ServesAsBuffers) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    cudaStream_t stream = nullptr;
    check(makeFreshStream(&stream));
    int32_t* const in = allocated(kCount);
    int32_t* const out = allocated(kCount);
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, in));
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 0);
    fill(in, kCount, me.rank);
    rondoComm_t comm = makeComm(me, &id);
    good(rondoAllReduce(in, out, kCount, rondoInt32, rondoSum, comm, stream));
    check(cudaStreamSynchronize(stream));
    EXPECT_TRUE(holds(out, kCount, [](size_t i) { return 2 * int32_t(i % 1000) + 1000; }));
    rondoRegistration_t number = 0;
    for (const bool registered : {false, true}) {
      if (registered) good(rondoCommRegister(comm, out, kCount * 4, 0, &number));
      check(cudaMemset(out, 0xff, kCount * 4));
      good(rondoSendRecv(in, kCount, me.after(1), out, kCount, me.before(1), rondoInt32, comm,
                         stream));
      check(cudaStreamSynchronize(stream));
      const int32_t first = me.before(1) * 1000;
      EXPECT_TRUE(holds(out, kCount, [&](size_t i) { return int32_t(i % 1000) + first; }));
    }
    good(rondoCommDeregister(comm, number));
    me.meet();
    good(rondoCommDestroy(comm));
    good(rondoMemFree(in));
    good(rondoMemFree(out));
    EXPECT_EQ(rondoMemFree(out), rondoInvalidArgument);
    check(cudaStreamDestroy(stream));
  });
}

// The driver's error is in the sentence, and the context lives on.
TEST(DeviceMemory, MoreThanTheDeviceHas) {
  check(cudaSetDevice(0));
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  void* memory = nullptr;
  EXPECT_EQ(rondoMemAllocDevice(&memory, total + 1, 0), rondoOutOfMemory);
  const std::string sentence = rondoGetLastError(nullptr);
  for (const std::string& part :
       {std::string("rondoMemAllocDevice: argument bytes is ") + std::to_string(total + 1),
        std::string("CUDA_ERROR_OUT_OF_MEMORY (out of memory)"), std::string("allowed")}) {
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }
  EXPECT_EQ(rondoMemAllocDevice(&memory, 1, 4711), rondoInvalidArgument);
  good(rondoMemAllocDevice(&memory, 1, 0));
  check(cudaMemset(memory, 0, 1));
  good(rondoMemFree(memory));
  check(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace rondo::test

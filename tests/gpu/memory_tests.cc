// Memory of rondoMemAllocDevice on one GPU: the ranks are threads of this process. Without a GPU:
// tests/cuda/heap_tests.cc.

#include <algorithm>
#include <cstdio>
#include <string>

#include "api/rondo.h"
#include "gpu/api_ranks.h"
#include "kernels/launch.h"

namespace rondo::test {
namespace {

int* allocated(size_t count) {
  void* memory = nullptr;
  good(rondoMemAllocDevice(&memory, count * sizeof(int), RONDO_DEVICE_AUTO));
  return static_cast<int*>(memory);
}

/// A rank's stream, and page-locked memory to look through.
class Desk {
 public:
  explicit Desk(size_t count) : count_(count), stream(newStream()) {
    check(cudaMallocHost(&host_, count * sizeof(int)));
  }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;
  void free() {
    check(cudaFreeHost(host_));
    check(cudaStreamDestroy(stream));
  }
  template <class Value>
  void fill(int* memory, Value value) {
    for (size_t i = 0; i < count_; ++i) host_[i] = value(i);
    check(cudaMemcpyAsync(memory, host_, count_ * sizeof(int), cudaMemcpyHostToDevice, stream));
    check(waitFor(stream));
  }
  template <class Value>
  size_t wrong(const int* memory, Value value) {
    check(cudaMemcpyAsync(host_, memory, count_ * sizeof(int), cudaMemcpyDeviceToHost, stream));
    check(waitFor(stream));
    size_t bad = 0;
    for (size_t i = 0; i < count_; ++i) bad += host_[i] != value(i) ? 1 : 0;
    return bad;
  }

 private:
  const size_t count_;
  int* host_ = nullptr;

 public:
  const cudaStream_t stream;
};

int sumOf(size_t i, int ranks) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) sum += element(r, i);
  return sum;
}

/// A sum of all ranks' `in`, and then the one of the rank before in `out`. Wrong elements.
size_t sumAndPass(const Rank& me, rondoComm_t comm, Desk& desk, const int* in, int* sum, int* out,
                  size_t count) {
  good(rondoAllReduce(in, sum, count, rondoInt32, rondoSum, comm, desk.stream));
  size_t bad = desk.wrong(sum, [&](size_t i) { return sumOf(i, me.ranks); });
  good(rondoSendRecv(in, count, me.after(1), out, count, me.before(1), rondoInt32, comm,
                     desk.stream));
  bad += desk.wrong(out, [&](size_t i) { return element(me.before(1), i); });
  return bad;
}

// Collectives and transfers, also where it is registered.
TEST(DeviceMemory, ServesAsBuffers) {
  constexpr size_t kCount = size_t{3} << 20;
  for (const int ranks : {1, 2, 3}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      Desk desk(kCount);
      int* const in = allocated(kCount);
      int* const out = allocated(kCount);
      cudaPointerAttributes attributes{};
      check(cudaPointerGetAttributes(&attributes, in));
      EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
      EXPECT_EQ(attributes.device, 0);
      desk.fill(in, [&](size_t i) { return element(me.rank, i); });
      rondoComm_t comm = makeComm(me, &id);
      EXPECT_EQ(sumAndPass(me, comm, desk, in, out, out, kCount), 0u);
      me.meet();
      rondoRegistration_t number = 0;
      good(rondoCommRegister(comm, out, kCount * sizeof(int), 0, &number));
      EXPECT_EQ(sumAndPass(me, comm, desk, in, out, out, kCount), 0u);
      me.meet();
      good(rondoCommDeregister(comm, number));
      me.meet();
      good(rondoCommDestroy(comm));
      me.meet();
      good(rondoMemFree(in));
      good(rondoMemFree(out));
      EXPECT_EQ(rondoMemFree(out), rondoInvalidArgument);
      desk.free();
    });
  }
}

// Ten times what the device has is allocated, reduced, sent into and freed; nothing is left.
TEST(DeviceMemory, TenTimesTheDevice) {
  constexpr int kRanks = 2;
  constexpr size_t kUsed = size_t{4} << 20;
  rondoUniqueId id;
  onRanks(kRanks, [&](const Rank& me) {
    Desk desk(kUsed);
    int* const in = allocated(kUsed);
    desk.fill(in, [&](size_t i) { return element(me.rank, i); });
    rondoComm_t comm = makeComm(me, &id);
    size_t before = 0, after = 0, total = 0;
    check(cudaMemGetInfo(&before, &total));
    me.meet();
    const size_t count = before / 5 / sizeof(int) / kUsed * kUsed;
    ASSERT_GE(count, 2 * kUsed);
    size_t all = 0;
    for (int round = 0; all * kRanks < 10 * total; ++round, all += count * sizeof(int)) {
      int* memory = nullptr;
      if (round % 2 == 0) {
        memory = allocated(count);
      } else {
        check(cudaMalloc(&memory, count * sizeof(int)));
      }
      me.meet();  // allocating may wait for the other rank's kernel, as a free does
      EXPECT_EQ(sumAndPass(me, comm, desk, in, memory, memory + count - kUsed, kUsed), 0u);
      me.meet();
      if (round % 2 == 0) {
        good(rondoMemFree(memory));
      } else {
        check(cudaFree(memory));
      }
      me.meet();
    }
    check(cudaMemGetInfo(&after, &total));
    EXPECT_LE(before, after + (size_t{64} << 20));
    me.meet();
    good(rondoCommDestroy(comm));
    me.meet();
    good(rondoMemFree(in));
    desk.free();
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

// The first launch of a kernel that needs more stack than the context has would wait for all that
// runs, a kernel of another communicator that waits for a peer too.
TEST(Stack, IsThereForAllKernelsOnceThereIsACommunicator) {
  size_t usual = 0;
  check(cudaDeviceGetLimit(&usual, cudaLimitStackSize));
  check(cudaDeviceSetLimit(cudaLimitStackSize, 256));  // as a program may that wants the memory
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) { good(rondoCommDestroy(makeComm(me, &id))); });
  size_t now = 0;
  check(cudaDeviceGetLimit(&now, cudaLimitStackSize));
  size_t most = 0;
  for (const Kernel& kernel : kernels()) {
    for (const void* function : {kernel.function, kernel.standing, kernel.anywhere}) {
      cudaFuncAttributes attributes{};
      if (function != nullptr) check(cudaFuncGetAttributes(&attributes, function));
      most = std::max(most, attributes.localSizeBytes);
      EXPECT_LE(attributes.localSizeBytes, now) << kernel.collective << " " << kernel.algorithm;
    }
  }
  EXPECT_LE(most, 1024u) << "more than contexts have by themselves: it takes memory of the device";
  EXPECT_GT(most, 256u) << "nothing was asked for";
  RecordProperty("stack", static_cast<int>(most));
  std::printf("kernels need up to %zu bytes of stack\n", most);
  check(cudaDeviceSetLimit(cudaLimitStackSize, std::max(usual, most)));
}

}  // namespace
}  // namespace rondo::test

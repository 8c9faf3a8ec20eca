#pragma once
// One rank of a test of deaths on GPUs: a process with a communicator, a stream and buffers.

#include <cuda_runtime.h>

#include "chaos/job.h"

namespace rondo::chaos {

constexpr size_t kCount = 1 << 18;

/// One rank's device side.
class Gpu {
 public:
  explicit Gpu(const Me& me, int timeout = 0) : me_(me) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.timeout = timeout;
    me.ok(rondoCommInitRankConfig(&comm, me.size, me.id, me.rank, &config), nullptr, "joining");
    int device = -1;
    me.ok(rondoCommCuDevice(comm, &device), comm, "rondoCommCuDevice");
    me.check(device >= 0, "the communicator has no device");
    ok(cudaSetDevice(device), "cudaSetDevice");
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    ok(cudaMalloc(&in, kCount * sizeof(int)), "cudaMalloc");
    ok(cudaMalloc(&out, kCount * sizeof(int)), "cudaMalloc");
    std::vector<int> ones(kCount, 1);
    // On the stream: a copy on the default one may return before the last bytes are there.
    ok(cudaMemcpyAsync(in, ones.data(), kCount * sizeof(int), cudaMemcpyHostToDevice, stream),
       "cudaMemcpyAsync");
    end();
  }
  void ok(cudaError_t error, const char* what) const {
    me_.check(error == cudaSuccess, format("%s: %s", what, cudaGetErrorString(error)));
  }
  rondoResult_t sum(rondoComm_t with, size_t count = kCount) const {
    return rondoAllReduce(in, out, count, rondoInt32, rondoSum, with, stream);
  }
  void end() const { ok(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }
  rondoResult_t state() const {
    rondoResult_t state = rondoSuccess;
    me_.ok(rondoCommGetAsyncError(comm, &state), comm, "rondoCommGetAsyncError");
    return state;
  }
  /// All ranks have made a call, so that no first one is in the way of what follows.
  void begin() const {
    me_.ok(sum(comm), comm, "a sum");
    end();
    checkSum(me_.size);
    ++me_.shared->ready;
    while (me_.shared->ready < me_.size) usleep(1000);
  }
  /// Sums, several at a time, until the communicator is broken.
  rondoResult_t sumUntilBroken() const {
    for (;;) {
      for (int i = 0; i < 8; ++i) {
        const rondoResult_t result = sum(comm);
        if (result != rondoSuccess) return end(), result;
      }
      end();
      if (const rondoResult_t broken = state()) return broken;
    }
  }
  void checkSum(int wanted) const {
    std::vector<int> host(kCount);
    ok(cudaMemcpyAsync(host.data(), out, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream),
       "cudaMemcpyAsync");
    end();
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < kCount; ++i) {
      if (host[i] != wanted && wrong++ == 0) first = i;
    }
    me_.check(wrong == 0, format("%zu of %zu sums are wrong, the one at %zu is %d instead of %d",
                                 wrong, kCount, first, host[first], wanted));
  }
  /// The communicator is broken, for the reason that has all parts.
  void checkBroken(rondoResult_t wanted, const std::vector<std::string>& parts) const {
    const rondoResult_t now = state(), call = sum(comm);
    const std::string said = rondoGetLastError(comm);
    me_.check(now == wanted && call == wanted, format("%d, %d: %s", now, call, said.c_str()));
    for (const std::string& part : parts) {
      me_.check(said.find(part) != std::string::npos, "\"" + said + "\" has no " + part);
    }
  }
  /// The context is as good as before: memory, another stream, a kernel on it.
  void checkCuda() const {
    unsigned char *memory = nullptr, seen[4096] = {};
    cudaStream_t other = nullptr;
    end();
    ok(cudaMalloc(&memory, sizeof seen), "cudaMalloc afterwards");
    ok(cudaStreamCreate(&other), "cudaStreamCreate afterwards");
    ok(cudaMemsetAsync(memory, 7, sizeof seen, other), "cudaMemsetAsync afterwards");
    ok(cudaMemcpyAsync(seen, memory, sizeof seen, cudaMemcpyDeviceToHost, other),
       "cudaMemcpyAsync");
    ok(cudaStreamSynchronize(other), "cudaStreamSynchronize afterwards");
    for (const unsigned char byte : seen) me_.check(byte == 7, "a kernel afterwards");
    ok(cudaStreamDestroy(other), "cudaStreamDestroy");
    ok(cudaFree(memory), "cudaFree");
    ok(cudaGetLastError(), "cudaGetLastError");
  }
  /// With those who are left, `size` of them, on device memory.
  void goOn(int size) {
    rondoComm_t rest = nullptr;
    me_.ok(rondoCommShrink(comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT), comm, "shrink");
    int left = 0, device = -1;
    rondoCommCount(rest, &left);
    rondoCommCuDevice(rest, &device);
    me_.check(left == size && device >= 0, format("%d ranks are left, device %d", left, device));
    for (int i = 0; i < 3; ++i) me_.ok(sum(rest), rest, "a sum of those who are left");
    checkSum(size);
    me_.ok(rondoCommDestroy(comm), nullptr, "rondoCommDestroy");
    me_.ok(sum(rest), rest, "a sum once the old communicator is gone");
    checkSum(size);
    me_.ok(rondoCommDestroy(rest), nullptr, "rondoCommDestroy");
  }

  rondoComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  int *in = nullptr, *out = nullptr;

 private:
  const Me& me_;
};

/// Before any rank is: as for gpu_tests, hardware queues for ranks that share a GPU, and no kernel
/// that loads late.
inline void prepareCuda() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
}

}  // namespace rondo::chaos

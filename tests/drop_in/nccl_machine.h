#pragma once
// The GPUs of a machine, driven by one thread through NCCL's interface. With one GPU, two ranks
// share it.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "drop_in/nccl_calls.h"
#include "gpu/fresh_stream.h"

namespace nccl_test {

inline int failures = 0, checks = 0;

inline void expect(bool good, const std::string& what) {
  ++checks;
  if (good) return;
  if (++failures <= 20) std::printf("wrong: %s (%s)\n", what.c_str(), ncclGetLastError(nullptr));
}

inline void cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("wrong: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

inline void nccl(ncclResult_t result, const char* what) { expect(result == ncclSuccess, what); }

/// One GPU's share of the machine.
struct Gpu {
  int device = 0;
  cudaStream_t stream = nullptr, other = nullptr;
  unsigned char* in = nullptr;
  unsigned char* out = nullptr;
};

constexpr size_t kBytes = 16u << 20;

class Machine {
 public:
  Machine() {
    int devices = 0;
    cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    gpus_.resize(static_cast<size_t>(devices > 1 ? devices : 2));
    for (size_t r = 0; r < gpus_.size(); ++r) {
      Gpu& gpu = gpus_[r];
      gpu.device = static_cast<int>(r) % devices;
      cuda(cudaSetDevice(gpu.device), "cudaSetDevice");
      cuda(rondo::test::makeFreshStream(&gpu.stream), "a stream");
      cuda(rondo::test::makeFreshStream(&gpu.other), "a stream");
      cuda(cudaMalloc(&gpu.in, kBytes), "memory");
      cuda(cudaMalloc(&gpu.out, kBytes), "memory");
    }
  }
  /// There is one for two ranks.
  bool sharesDevice() const { return gpus_.front().device == gpus_.back().device; }
  int ranks() const { return static_cast<int>(gpus_.size()); }
  Gpu& operator[](int rank) { return gpus_[static_cast<size_t>(rank)]; }
  void wait() {
    for (Gpu& gpu : gpus_) {
      cuda(cudaSetDevice(gpu.device), "cudaSetDevice");
      cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }
  /// call(rank), all in one group, each with its device current.
  void group(const std::function<ncclResult_t(int)>& call, const char* what) {
    nccl(ncclGroupStart(), "ncclGroupStart");
    for (int r = 0; r < ranks(); ++r) {
      cuda(cudaSetDevice((*this)[r].device), "cudaSetDevice");
      nccl(call(r), what);
    }
    nccl(ncclGroupEnd(), what);
  }

 private:
  std::vector<Gpu> gpus_;
};

using Comms = std::vector<ncclComm_t>;

inline Comms makeComms(Machine& machine, ncclConfig_t* config = nullptr) {
  Comms comms(static_cast<size_t>(machine.ranks()));
  ncclUniqueId id;
  nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  machine.group(
      [&](int r) {
        return ncclCommInitRankConfig(&comms[static_cast<size_t>(r)], machine.ranks(), id, r,
                                      config);
      },
      "ncclCommInitRankConfig");
  return comms;
}

inline void destroy(Comms& comms) {
  for (ncclComm_t comm : comms) nccl(ncclCommDestroy(comm), "ncclCommDestroy");
}

// Small whole numbers, which every type holds exactly.
inline int valueOf(int rank, size_t i) { return 1 + (rank + static_cast<int>(i % 3)) % 3; }

/// Numbers as elements of a type, and back.
struct Type {
  int type;
  size_t bytes;
  void (*put)(int value, unsigned char* at);
  double (*get)(const unsigned char* at);
};
template <class T>
Type plain(int type) {
  return {type, sizeof(T),
          [](int value, unsigned char* at) {
            const T x = static_cast<T>(value);
            std::memcpy(at, &x, sizeof x);
          },
          [](const unsigned char* at) {
            T x;
            std::memcpy(&x, at, sizeof x);
            return static_cast<double>(x);
          }};
}
inline Type bfloat16() {
  return {kBfloat16, 2,
          [](int value, unsigned char* at) {
            const float x = static_cast<float>(value);
            std::memcpy(at, reinterpret_cast<const unsigned char*>(&x) + 2, 2);
          },
          [](const unsigned char* at) {
            float x = 0;
            std::memcpy(reinterpret_cast<unsigned char*>(&x) + 2, at, 2);
            return static_cast<double>(x);
          }};
}

inline void fill(Machine& machine, const Type& type, size_t count) {
  std::vector<unsigned char> data(count * type.bytes);
  for (int r = 0; r < machine.ranks(); ++r) {
    for (size_t i = 0; i < count; ++i) type.put(valueOf(r, i), &data[i * type.bytes]);
    cuda(cudaSetDevice(machine[r].device), "cudaSetDevice");
    cuda(cudaMemcpy(machine[r].in, data.data(), data.size(), cudaMemcpyHostToDevice), "filling");
    cuda(cudaMemset(machine[r].out, 0x77, data.size()), "clearing");
  }
  machine.wait();
}

/// Elements [0, count) of a rank's buffer are what `want` says.
inline void compare(const Type& type, const unsigned char* device, size_t count,
                    const std::function<double(size_t)>& want, const std::string& what) {
  std::vector<unsigned char> data(count * type.bytes);
  cuda(cudaMemcpy(data.data(), device, data.size(), cudaMemcpyDeviceToHost), "reading");
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += type.get(&data[i * type.bytes]) != want(i);
  expect(wrong == 0, what + ": " + std::to_string(wrong) + " of " + std::to_string(count) +
                         " elements of type " + std::to_string(type.type));
}

inline double reduced(int op, int ranks, size_t i) {
  double value = valueOf(0, i);
  for (int r = 1; r < ranks; ++r) {
    const double x = valueOf(r, i);
    if (op == kSum || op == kAvg) value += x;
    if (op == kProd) value *= x;
    if (op == kMax) value = x > value ? x : value;
    if (op == kMin) value = x < value ? x : value;
  }
  return op == kAvg ? value / ranks : value;
}

/// Each collective on each type and operator, out of place and in place, compared with the host.
void reductions(Machine& machine, Comms& comms, const Type& type, size_t count);
void movements(Machine& machine, Comms& comms, const Type& type, size_t count);
/// Premultiplied sums, with scalars on the host and on the device.
void operators(Machine& machine, Comms& comms, const Type& type, size_t count);

}  // namespace nccl_test

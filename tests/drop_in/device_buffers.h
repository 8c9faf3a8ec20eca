#pragma once
// Device memory for programs that know neither CUDA's headers nor Rondo: by the driver, which is a
// real one or fake_driver.cc.

#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "drop_in/check.h"

namespace drop_in_test {

using DevicePointer = unsigned long long;

inline void* driverFunction(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "no CUDA driver, or none with %s\n", name);
    std::exit(77);
  }
  return function;
}

template <class... Args>
void driverCall(const char* name, Args... args) {
  const int result = reinterpret_cast<int (*)(Args...)>(driverFunction(name))(args...);
  if (result == 0) return;
  std::printf("rank %d: %s failed with CUresult %d\n", rank, name, result);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Gives the rank a device of its own, where there are enough.
inline void useDevice() {
  int devices = 0, device = 0;
  void* context = nullptr;
  driverCall("cuInit", 0u);
  driverCall("cuDeviceGetCount", &devices);
  driverCall("cuDeviceGet", &device, rank % devices);
  driverCall("cuDevicePrimaryCtxRetain", &context, device);
  driverCall("cuCtxSetCurrent", context);
}

/// Elements on the device, or on the host.
template <class T>
class Buffer {
 public:
  Buffer(bool device, size_t number, T value) : device_(device), host_(number, value) {
    if (device_) driverCall("cuMemAlloc_v2", &address_, bytes() + 1);
    fill(value);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (device_) driverCall("cuMemFree_v2", address_);
  }
  T* data() { return device_ ? reinterpret_cast<T*>(address_) : host_.data(); }
  void fill(T value) { write(std::vector<T>(host_.size(), value)); }
  void write(const std::vector<T>& values) {
    host_ = values;
    const void* const from = host_.data();
    if (device_) driverCall("cuMemcpyHtoD_v2", address_, from, bytes());
  }
  void set(size_t place, T value) {
    host_[place] = value;
    const void* const from = &value;
    if (device_) driverCall("cuMemcpyHtoD_v2", address_ + place * sizeof(T), from, sizeof(T));
  }
  /// What is there now.
  const std::vector<T>& read() {
    void* const to = host_.data();
    if (device_) driverCall("cuMemcpyDtoH_v2", to, address_, bytes());
    return host_;
  }
  bool all(T value) {
    for (const T one : read()) {
      if (one != value) return false;
    }
    return true;
  }
  size_t bytes() const { return host_.size() * sizeof(T); }

 private:
  bool device_;
  DevicePointer address_ = 0;
  std::vector<T> host_;
};

}  // namespace drop_in_test

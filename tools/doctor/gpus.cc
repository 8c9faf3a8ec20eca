#include "doctor/gpus.h"

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace rondo::doctor {
namespace {

// The few functions of the CUDA driver that are needed, found at run time: the doctor is built
// where there is no toolkit.
using Result = int;
using Device = int;
using Context = void*;
using Address = unsigned long long;

class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    find("cuInit", &init);
    find("cuGetErrorName", &errorName);
    find("cuDeviceGetCount", &count);
    find("cuDeviceGet", &get);
    find("cuDeviceCanAccessPeer", &canAccess);
    find("cuDevicePrimaryCtxRetain", &retain);
    find("cuDevicePrimaryCtxRelease_v2", &release);
    find("cuCtxSetCurrent", &setCurrent);
    find("cuCtxEnablePeerAccess", &enable);
    find("cuCtxSynchronize", &synchronize);
    find("cuMemAlloc_v2", &allocate);
    find("cuMemFree_v2", &free);
    find("cuMemcpyHtoD_v2", &toDevice);
    find("cuMemcpyDtoH_v2", &toHost);
    find("cuMemcpyPeer", &peer);
  }
  bool usable() const { return library_ != nullptr && complete_; }

  Result (*init)(unsigned) = nullptr;
  Result (*errorName)(Result, const char**) = nullptr;
  Result (*count)(int*) = nullptr;
  Result (*get)(Device*, int) = nullptr;
  Result (*canAccess)(int*, Device, Device) = nullptr;
  Result (*retain)(Context*, Device) = nullptr;
  Result (*release)(Device) = nullptr;
  Result (*setCurrent)(Context) = nullptr;
  Result (*enable)(Context, unsigned) = nullptr;
  Result (*synchronize)() = nullptr;
  Result (*allocate)(Address*, size_t) = nullptr;
  Result (*free)(Address) = nullptr;
  Result (*toDevice)(Address, const void*, size_t) = nullptr;
  Result (*toHost)(void*, Address, size_t) = nullptr;
  Result (*peer)(Address, Context, Address, Context, size_t) = nullptr;

 private:
  template <class Function>
  void find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    complete_ &= *function != nullptr;
  }
  void* library_;
  bool complete_ = true;
};

void need(const Driver& driver, Result result, const char* what) {
  constexpr Result kAlreadyEnabled = 704;
  if (result == 0 || result == kAlreadyEnabled) return;
  const char* name = nullptr;
  driver.errorName(result, &name);
  throw std::runtime_error(std::string(what) + ": " + (name != nullptr ? name : "unknown error"));
}

/// A device with its primary context and a buffer in it.
class Gpu {
 public:
  static constexpr size_t kBytes = 1 << 20;
  Gpu(const Driver& driver, int ordinal) : driver_(driver) {
    need(driver, driver.get(&device_, ordinal), "cuDeviceGet");
    need(driver, driver.retain(&context_, device_), "cuDevicePrimaryCtxRetain");
    enter();
    need(driver, driver.allocate(&buffer_, kBytes), "cuMemAlloc");
  }
  ~Gpu() {
    driver_.setCurrent(context_);
    if (buffer_ != 0) driver_.free(buffer_);
    if (context_ != nullptr) driver_.release(device_);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  void enter() const { need(driver_, driver_.setCurrent(context_), "cuCtxSetCurrent"); }
  void fill(uint32_t seed) const {
    enter();
    const std::vector<uint32_t> words = pattern(seed);
    need(driver_, driver_.toDevice(buffer_, words.data(), kBytes), "cuMemcpyHtoD");
  }
  bool holds(uint32_t seed) const {
    enter();
    std::vector<uint32_t> words(kBytes / 4);
    need(driver_, driver_.synchronize(), "cuCtxSynchronize");
    need(driver_, driver_.toHost(words.data(), buffer_, kBytes), "cuMemcpyDtoH");
    return words == pattern(seed);
  }
  bool mayAccess(const Gpu& other) const {
    int can = 0;
    need(driver_, driver_.canAccess(&can, device_, other.device_), "cuDeviceCanAccessPeer");
    return can != 0;
  }
  void send(const Gpu& to) const {
    enter();
    need(driver_, driver_.enable(to.context_, 0), "cuCtxEnablePeerAccess");
    need(driver_, driver_.peer(to.buffer_, to.context_, buffer_, context_, kBytes), "cuMemcpyPeer");
    need(driver_, driver_.synchronize(), "cuCtxSynchronize");
  }

 private:
  static std::vector<uint32_t> pattern(uint32_t seed) {
    std::vector<uint32_t> words(kBytes / 4);
    for (uint32_t& word : words) word = seed = seed * 1664525u + 1013904223u;
    return words;
  }

  const Driver& driver_;
  Device device_ = 0;
  Context context_ = nullptr;
  Address buffer_ = 0;
};

PeerPair tryPair(const Driver& driver, int from, int to) {
  PeerPair pair{from, to, false, false, ""};
  try {
    const Gpu sender(driver, from), receiver(driver, to);
    pair.access = sender.mayAccess(receiver);
    if (!pair.access) return pair;
    const auto seed = static_cast<uint32_t>(1 + 97 * from + to);
    receiver.fill(~seed);
    sender.fill(seed);
    sender.send(receiver);
    pair.verified = receiver.holds(seed);
    if (!pair.verified) pair.why = "other bytes were there";
  } catch (const std::exception& error) {
    pair.why = error.what();
  }
  return pair;
}

}  // namespace

std::vector<PeerPair> tryPeerCopies() {
  const Driver driver;
  int devices = 0;
  if (!driver.usable() || driver.init(0) != 0 || driver.count(&devices) != 0) return {};
  std::vector<PeerPair> pairs;
  for (int from = 0; from < devices; ++from) {
    for (int to = 0; to < devices; ++to) {
      if (from != to) pairs.push_back(tryPair(driver, from, to));
    }
  }
  return pairs;
}

}  // namespace rondo::doctor

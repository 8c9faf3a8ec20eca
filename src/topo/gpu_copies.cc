#include "topo/gpu_copies.h"

#include <algorithm>
#include <cctype>
#include <memory>

#include "base/error.h"
#include "base/shared_library.h"

namespace rondo::topo {
namespace {

/// Whole pages of a GPU (of less, peers map small pages), and long enough that a copy's start is
/// less than a hundredth of it.
constexpr size_t kBytes = size_t{256} << 20;
constexpr int kCopies = 5;
constexpr int kNoGpu = 100,
              kPeerAlready = 704;  // CUDA_ERROR_NO_DEVICE, .._PEER_ACCESS_ALREADY_ENABLED

using Memory = unsigned long long;  // CUdeviceptr

/// The driver's functions that are used, as its ABI has them.
class Driver {
 public:
  explicit Driver(const char* library) : library_({library}) {
    library_.need("cuInit", &init);
    library_.need("cuGetErrorString", &errorText);
    library_.need("cuDeviceGetCount", &count);
    library_.need("cuDeviceGet", &deviceOf);
    library_.need("cuDeviceGetPCIBusId", &busId);
    library_.need("cuDeviceCanAccessPeer", &canAccessPeer);
    library_.need("cuDevicePrimaryCtxRetain", &retain);
    library_.need("cuDevicePrimaryCtxRelease_v2", &release);
    library_.need("cuCtxSetCurrent", &setCurrent);
    library_.need("cuCtxEnablePeerAccess", &enablePeer);
    library_.need("cuMemAlloc_v2", &alloc);
    library_.need("cuMemFree_v2", &free);
    library_.need("cuMemHostAlloc", &hostAlloc);
    library_.need("cuMemFreeHost", &hostFree);
    library_.need("cuMemcpyHtoDAsync_v2", &fromHost);
    library_.need("cuMemcpyDtoHAsync_v2", &toHost);
    library_.need("cuMemcpyPeerAsync", &toPeer);
    library_.need("cuEventCreate", &makeEvent);
    library_.need("cuEventDestroy_v2", &dropEvent);
    library_.need("cuEventRecord", &record);
    library_.need("cuEventSynchronize", &waitFor);
    library_.need("cuEventElapsedTime", &elapsed);
  }
  bool loaded() const { return library_.complete(); }

  int (*init)(unsigned) = nullptr;
  int (*errorText)(int, const char**) = nullptr;
  int (*count)(int*) = nullptr;
  int (*deviceOf)(int*, int) = nullptr;
  int (*busId)(char*, int, int) = nullptr;
  int (*canAccessPeer)(int*, int, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*setCurrent)(void*) = nullptr;
  int (*enablePeer)(void*, unsigned) = nullptr;
  int (*alloc)(Memory*, size_t) = nullptr;
  int (*free)(Memory) = nullptr;
  int (*hostAlloc)(void**, size_t, unsigned) = nullptr;
  int (*hostFree)(void*) = nullptr;
  int (*fromHost)(Memory, const void*, size_t, void*) = nullptr;
  int (*toHost)(void*, Memory, size_t, void*) = nullptr;
  int (*toPeer)(Memory, void*, Memory, void*, size_t, void*) = nullptr;
  int (*makeEvent)(void**, unsigned) = nullptr;
  int (*dropEvent)(void*) = nullptr;
  int (*record)(void*, void*) = nullptr;
  int (*waitFor)(void*) = nullptr;
  int (*elapsed)(float*, void*, void*) = nullptr;

  void check(int result, const char* what) const {
    if (result == 0) return;
    const char* text = nullptr;
    if (errorText(result, &text) != 0 || text == nullptr) text = "an unknown error";
    throw Error(rondoUnhandledCudaError, format("%s: %s (%d)", what, text, result));
  }

 private:
  SharedLibrary library_;
};

/// One GPU's context, memory and events.
class Gpu {
 public:
  Gpu(const Driver& driver, int ordinal) : driver_(driver) {
    driver.check(driver.deviceOf(&device_, ordinal), "cuDeviceGet");
    char text[32] = {};
    driver.check(driver.busId(text, sizeof text - 1, device_), "cuDeviceGetPCIBusId");
    busId_ = text;
    std::transform(busId_.begin(), busId_.end(), busId_.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  ~Gpu() {
    if (context_ == nullptr) return;
    driver_.setCurrent(context_);
    for (void* const event : {start_, end_}) {
      if (event != nullptr) driver_.dropEvent(event);
    }
    if (memory_ != 0) driver_.free(memory_);
    driver_.setCurrent(nullptr);
    driver_.release(device_);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const std::string& busId() const { return busId_; }
  bool ready() const { return end_ != nullptr; }

  void prepare() {
    driver_.check(driver_.retain(&context_, device_), "cuDevicePrimaryCtxRetain");
    enter();
    driver_.check(driver_.alloc(&memory_, kBytes), "cuMemAlloc of 256 MiB");
    driver_.check(driver_.makeEvent(&start_, 0), "cuEventCreate");
    driver_.check(driver_.makeEvent(&end_, 0), "cuEventCreate");
  }

  uint64_t hostRate(void* host) {
    enter();
    const uint64_t in =
        rate("cuMemcpyHtoDAsync", [&] { return driver_.fromHost(memory_, host, kBytes, nullptr); });
    const uint64_t out =
        rate("cuMemcpyDtoHAsync", [&] { return driver_.toHost(host, memory_, kBytes, nullptr); });
    return std::min(in, out);
  }

  /// 0: it cannot write there.
  uint64_t peerRate(Gpu& peer) {
    int can = 0;
    driver_.check(driver_.canAccessPeer(&can, device_, peer.device_), "cuDeviceCanAccessPeer");
    if (can == 0) return 0;
    enter();
    const int enabled = driver_.enablePeer(peer.context_, 0);
    if (enabled != kPeerAlready) driver_.check(enabled, "cuCtxEnablePeerAccess");
    return rate("cuMemcpyPeerAsync", [&] {
      return driver_.toPeer(peer.memory_, peer.context_, memory_, context_, kBytes, nullptr);
    });
  }

 private:
  void enter() { driver_.check(driver_.setCurrent(context_), "cuCtxSetCurrent"); }

  /// The median of some copies, the first of which does not count.
  template <class Copy>
  uint64_t rate(const char* what, Copy copy) {
    std::vector<float> times;
    for (int i = 0; i <= kCopies; ++i) {
      driver_.check(driver_.record(start_, nullptr), "cuEventRecord");
      driver_.check(copy(), what);
      driver_.check(driver_.record(end_, nullptr), "cuEventRecord");
      driver_.check(driver_.waitFor(end_), what);
      float milliseconds = 0;
      driver_.check(driver_.elapsed(&milliseconds, start_, end_), "cuEventElapsedTime");
      if (i > 0) times.push_back(milliseconds);
    }
    std::nth_element(times.begin(), times.begin() + kCopies / 2, times.end());
    const double seconds = static_cast<double>(times[kCopies / 2]) * 1e-3;
    return seconds > 0 ? static_cast<uint64_t>(static_cast<double>(kBytes) / seconds) : 0;
  }

  const Driver& driver_;
  int device_ = 0;
  std::string busId_;
  void *context_ = nullptr, *start_ = nullptr, *end_ = nullptr;
  Memory memory_ = 0;
};

}  // namespace

GpuCopies measureGpuCopies(const char* library) {
  GpuCopies out;
  const Driver driver(library);
  if (!driver.loaded()) return out;
  const auto tried = [&out](const std::string& what, const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      out.failures.push_back(what + ": " + error.what());
    }
  };
  std::vector<std::unique_ptr<Gpu>> gpus;
  tried("CUDA", [&] {
    int count = 0;
    const int started = driver.init(0);
    if (started == kNoGpu) return;
    driver.check(started, "cuInit");
    driver.check(driver.count(&count), "cuDeviceGetCount");
    for (int g = 0; g < count; ++g) gpus.push_back(std::make_unique<Gpu>(driver, g));
  });
  const size_t count = gpus.size();
  for (size_t g = 0; g < count; ++g) {
    out.gpus.push_back({gpus[g]->busId(), 0, std::vector<uint64_t>(count)});
    tried("GPU " + gpus[g]->busId(), [&] {
      gpus[g]->prepare();
      // Touched first by who allocates it; where that is on another package than the GPU, the link
      // between them is on the way.
      void* host = nullptr;
      driver.check(driver.hostAlloc(&host, kBytes, 0), "cuMemHostAlloc of 256 MiB");
      const std::unique_ptr<void, int (*)(void*)> freed(host, driver.hostFree);
      out.gpus[g].host = gpus[g]->hostRate(host);
    });
  }
  for (size_t g = 0; g < count; ++g) {
    for (size_t peer = 0; peer < count; ++peer) {
      if (g == peer || !gpus[g]->ready() || !gpus[peer]->ready()) continue;
      tried("GPU " + gpus[g]->busId() + " to " + gpus[peer]->busId(),
            [&] { out.gpus[g].peers[peer] = gpus[g]->peerRate(*gpus[peer]); });
    }
  }
  return out;
}

}  // namespace rondo::topo

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "p2p/cuda_device.h"

#ifdef HAVE_CUDA

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/error.h"
#include "p2p/cuda_driver.h"

namespace rondo {
namespace {

/// Where device memory has been seen, by 2 MiB of address; places that share a bit are taken for
/// each other, which costs a look and no more.
class SeenPlaces {
 public:
  void add(const void* pointer) {
    std::atomic<uint64_t>& word = words_[indexOf(pointer) / 64];
    const uint64_t bit = uint64_t{1} << indexOf(pointer) % 64;
    if ((word.load(std::memory_order_relaxed) & bit) == 0) {
      word.fetch_or(bit, std::memory_order_relaxed);
    }
  }
  bool has(const void* pointer) const {
    const size_t index = indexOf(pointer);
    return (words_[index / 64].load(std::memory_order_relaxed) >> index % 64 & 1) != 0;
  }
  static constexpr size_t kGrain = size_t{2} << 20;
  static constexpr size_t kPlaces = 16384;

 private:
  static size_t indexOf(const void* pointer) {
    const uint64_t place = reinterpret_cast<uintptr_t>(pointer) / kGrain;
    return place * 0x9e3779b97f4a7c15u >> 50;
  }
  static_assert(kPlaces == size_t{1} << (64 - 50));
  std::array<std::atomic<uint64_t>, kPlaces / 64> words_{};
};
SeenPlaces seenPlaces;

/// Whether this process can read there, without reading: the kernel copies the mask that it is
/// given before it finds that there is no such way to use it. Needs no permission.
bool hostReads(const void* pointer) {
  constexpr int kNoSuchWay = -1;
  const int before = errno;
  const uintptr_t word = reinterpret_cast<uintptr_t>(pointer) / 8 * 8;
  const long result = syscall(SYS_rt_sigprocmask, kNoSuchWay, word, nullptr, 8);
  const bool faults = result == -1 && errno == EFAULT;
  errno = before;
  return !faults;
}

PointerKind hostOrGone(const void* pointer, CUresult error) {
  if (hostReads(pointer)) return {};
  return {PointerKind::kGone, -1, static_cast<int>(error)};
}

}  // namespace

PointerKind pointerKind(const void* pointer) {
  static const CudaDriver* const driver = findCudaDriver();
  if (driver == nullptr || pointer == nullptr) return {};
  unsigned type = 0;
  unsigned managed = 0;
  int device = -1;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&type, &managed, &device};
  const CUresult result = driver->pointerGetAttributes(
      3, wanted, values, reinterpret_cast<CUdeviceptr>(const_cast<void*>(pointer)));
  if (result == CUDA_ERROR_NOT_INITIALIZED) return {};  // nobody has used a device yet
  if (result != CUDA_SUCCESS) [[unlikely]]
    return hostOrGone(pointer, result);
  if (managed != 0) return {PointerKind::kManaged, device};
  if (type == CU_MEMORYTYPE_DEVICE) {
    seenPlaces.add(pointer);
    return {PointerKind::kDevice, device};
  }
  if (type == 0 && seenPlaces.has(pointer)) [[unlikely]]
    return hostOrGone(pointer, CUDA_SUCCESS);
  return {};
}

const void* pinnedOnDevice(const void* pointer) {
  static const CudaDriver* const driver = findCudaDriver();
  if (driver == nullptr) return nullptr;
  unsigned type = 0;
  CUdeviceptr there = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
  void* values[] = {&type, &there};
  const CUresult result = driver->pointerGetAttributes(
      2, wanted, values, reinterpret_cast<CUdeviceptr>(const_cast<void*>(pointer)));
  const bool pinned = result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
  return pinned ? reinterpret_cast<const void*>(there) : nullptr;
}

void noteDeviceMemory(const void* memory, size_t bytes) {
  const auto* const begin = static_cast<const char*>(memory);
  const size_t most = std::min(bytes, SeenPlaces::kGrain * SeenPlaces::kPlaces / 16);
  for (size_t at = 0; at < most; at += SeenPlaces::kGrain) seenPlaces.add(begin + at);
  if (bytes > 0) seenPlaces.add(begin + bytes - 1);
}

std::string goneText(const PointerKind& kind) {
  if (kind.error == 0) return "device memory that was freed: nothing reaches it any more";
  const auto result = static_cast<CUresult>(kind.error);
  const char *name = nullptr, *text = nullptr;
  const CudaDriver* const driver = findCudaDriver();
  if (driver != nullptr) {
    driver->getErrorName(result, &name);
    driver->getErrorString(result, &text);
  }
  return format("memory that the host does not reach, and of which the CUDA driver says %s (%s)",
                name != nullptr ? name : "an unknown error", text != nullptr ? text : "?");
}

}  // namespace rondo

#else

namespace rondo {

PointerKind pointerKind(const void*) { return {}; }
const void* pinnedOnDevice(const void*) { return nullptr; }
void noteDeviceMemory(const void*, size_t) {}
std::string goneText(const PointerKind&) { return ""; }

}  // namespace rondo

#endif  // HAVE_CUDA

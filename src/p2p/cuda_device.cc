#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "p2p/cuda_device.h"

#ifdef HAVE_CUDA

#include <cstring>
#include <utility>

#include "api/rondo.h"
#include "base/error.h"
#include "p2p/cuda_driver.h"

namespace rondo {
namespace {

CUdevice handleOf(int ordinal) {
  CUdevice device = 0;
  checkCuda(cudaDriver().deviceGet(&device, ordinal), format("cuDeviceGet(%d)", ordinal));
  return device;
}

int visibleDevices() {
  int count = 0;
  const CUresult result = cudaDriver().deviceGetCount(&count);
  if (result == CUDA_ERROR_NO_DEVICE) return 0;
  checkCuda(result, "cuDeviceGetCount");
  return count;
}

std::array<unsigned char, 16> uuidOf(int ordinal) {
  CUuuid uuid;
  checkCuda(cudaDriver().deviceGetUuid(&uuid, handleOf(ordinal)), "cuDeviceGetUuid");
  std::array<unsigned char, 16> out;
  std::memcpy(out.data(), uuid.bytes, out.size());
  return out;
}

}  // namespace

bool streamCaptures(CUstream_st* stream) {
  static const CudaDriver* const driver = findCudaDriver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // The legacy stream cannot be captured.
  if (driver == nullptr || stream == nullptr) return false;
  return driver->streamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

namespace {

/// Returns the thread's mode until then; -1: the driver was not started.
int exchangeCaptureMode(int mode) noexcept {
  const CudaDriver* const driver = findCudaDriver();
  auto exchanged = static_cast<CUstreamCaptureMode>(mode);
  if (driver == nullptr) return -1;
  return driver->threadExchangeStreamCaptureMode(&exchanged) == CUDA_SUCCESS ? exchanged : -1;
}

/// Also while streams of the current context capture; launches there wait as long.
CUresult waitByFreeing() {
  const CudaDriver& cu = cudaDriver();
  CUdeviceptr memory = 0;
  const CUresult result = cu.memAlloc(&memory, 1);
  return result == CUDA_SUCCESS ? cu.memFree(memory) : result;
}

}  // namespace

CapturesAlone::CapturesAlone() noexcept
    : before_(exchangeCaptureMode(CU_STREAM_CAPTURE_MODE_RELAXED)) {}

CapturesAlone::~CapturesAlone() {
  if (before_ >= 0) exchangeCaptureMode(before_);
}

std::string streamFault(const CudaDevice& device, CUstream_st* stream) {
  const bool madeByCaller = stream != nullptr && stream != CU_STREAM_LEGACY &&
                            stream != CU_STREAM_PER_THREAD;  // the others are of any context
  CUcontext context = nullptr;
  if (!madeByCaller || cudaDriver().streamGetCtx(stream, &context) != CUDA_SUCCESS ||
      context == device.context()) {
    return "";
  }
  const ContextScope scope(context);
  CUdevice owner = 0;
  if (cudaDriver().ctxGetDevice(&owner) != CUDA_SUCCESS) return "";
  const bool same = static_cast<int>(owner) == device.ordinal();
  return format("argument stream is %p, a stream of device %d%s; allowed: one of device %d%s",
                static_cast<void*>(stream), static_cast<int>(owner),
                same ? " in another context" : "", device.ordinal(),
                same ? " in the communicator's context" : "");
}

CudaDevice CudaDevice::open(int wanted, int localRank) {
  const CudaDriver& cu = cudaDriver();
  const int count = visibleDevices();
  if (count == 0) throw Error(rondoUnsupported, "no CUDA device is visible");
  if (wanted != RONDO_DEVICE_AUTO && (wanted < 0 || wanted >= count)) {
    throw Error(rondoInvalidArgument,
                format("device %d does not exist; allowed: 0 to %d", wanted, count - 1));
  }
  CUcontext current = nullptr;
  checkCuda(cu.ctxGetCurrent(&current), "cuCtxGetCurrent");
  if (current != nullptr) {
    CUdevice device = 0;
    checkCuda(cu.ctxGetDevice(&device), "cuCtxGetDevice");
    if (wanted == RONDO_DEVICE_AUTO || handleOf(wanted) == device) {
      return CudaDevice(static_cast<int>(device), current, false);
    }
  }
  const int ordinal = wanted == RONDO_DEVICE_AUTO ? localRank % count : wanted;
  CUcontext primary = nullptr;
  checkCuda(cu.devicePrimaryCtxRetain(&primary, handleOf(ordinal)),
            format("cuDevicePrimaryCtxRetain on device %d", ordinal));
  return CudaDevice(ordinal, primary, true);
}

CudaDevice::CudaDevice(CudaDevice&& other) noexcept
    : ordinal_(other.ordinal_),
      context_(other.context_),
      retained_(std::exchange(other.retained_, false)) {}

CudaDevice::~CudaDevice() {
  if (retained_) cudaDriver().devicePrimaryCtxRelease(static_cast<CUdevice>(ordinal_));
}

uint64_t CudaDevice::memoryBytes() const noexcept {
  size_t bytes = 0;
  const CUresult result = cudaDriver().deviceTotalMem(&bytes, static_cast<CUdevice>(ordinal_));
  return result == CUDA_SUCCESS ? bytes : 0;
}

uint64_t CudaDevice::freeBytes() const {
  const ContextScope scope(context_);
  size_t free = 0, all = 0;
  return cudaDriver().memGetInfo(&free, &all) == CUDA_SUCCESS ? free : memoryBytes();
}

std::array<unsigned char, 16> CudaDevice::uuid() const { return uuidOf(ordinal_); }

bool CudaDevice::storesLinesTo(const std::array<unsigned char, 16>& uuid) const {
  for (int peer = 0; peer < visibleDevices(); ++peer) {
    if (uuidOf(peer) != uuid) continue;
    if (peer == ordinal_) return true;
    int atomics = 0;
    const CUresult result = cudaDriver().deviceGetP2PAttribute(
        &atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, handleOf(ordinal_),
        handleOf(peer));
    return result == CUDA_SUCCESS && atomics != 0;
  }
  return false;
}

std::vector<int> CudaDevice::reachedBy() const {
  std::vector<int> out;
  for (int peer = 0; peer < visibleDevices(); ++peer) {
    int can = 0;
    if (peer != ordinal_ &&
        cudaDriver().deviceCanAccessPeer(&can, handleOf(peer), handleOf(ordinal_)) ==
            CUDA_SUCCESS &&
        can != 0) {
      out.push_back(peer);
    }
  }
  return out;
}

CudaDevice::CardWrites CudaDevice::cardWrites() const {
  const auto ask = [this](CUdevice_attribute attribute) {
    int value = 0;
    const CUresult result = cudaDriver().deviceGetAttribute(&value, attribute, handleOf(ordinal_));
    return result == CUDA_SUCCESS ? value : 0;
  };
  if (ask(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) >=
      CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER) {
    return CardWrites::Seen;
  }
  const int ways = ask(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
  const bool flushes = cudaDriver().flushGpuDirectRdmaWrites != nullptr &&
                       (ways & CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) != 0;
  return flushes ? CardWrites::Flushed : CardWrites::Unseen;
}

void CudaDevice::flushCardWrites() const {
  const ContextScope scope(context_);
  checkCuda(
      cudaDriver().flushGpuDirectRdmaWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                            CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
      "cuFlushGPUDirectRDMAWrites");
}

bool CudaDevice::exportsDescriptors() const {
  const CUdevice_attribute needed[] = {
      CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
      CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED};
  for (CUdevice_attribute attribute : needed) {
    int value = 0;
    if (cudaDriver().deviceGetAttribute(&value, attribute, handleOf(ordinal_)) != CUDA_SUCCESS ||
        value == 0) {
      return false;
    }
  }
  return true;
}

bool CudaDevice::runsProcessesTogether() const {
#if CUDA_VERSION >= 12040
  int mps = 0;
  return cudaDriver().deviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED,
                                         handleOf(ordinal_)) == CUDA_SUCCESS &&
         mps != 0;
#else
  return true;  // not known
#endif
}

void CudaDevice::synchronize(Meanwhile others) const {
  const ContextScope scope(context_);
  const CapturesAlone alone;
  const CudaDriver& cu = cudaDriver();
  if (others == Meanwhile::kCapture) {
    const CUresult result = waitByFreeing();
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return checkCuda(result, "waiting for the context");
  }
  // It is refused while any stream there captures, in whatever mode, and that capture is over then.
  CUresult result = cu.ctxSynchronize();
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) result = waitByFreeing();
  checkCuda(result, "cuCtxSynchronize");
}

CUctx_st* currentCudaContext() {
  const CudaDriver* const driver = findCudaDriver();
  CUcontext current = nullptr;
  if (driver == nullptr || driver->ctxGetCurrent(&current) != CUDA_SUCCESS) return nullptr;
  return current;
}

ContextScope::ContextScope(CUctx_st* context) noexcept {
  if (context == nullptr) return;
  const CudaDriver* driver = findCudaDriver();
  CUcontext current = nullptr;
  if (driver->ctxGetCurrent(&current) == CUDA_SUCCESS && current == context) return;
  pushed_ = driver->ctxPushCurrent(context) == CUDA_SUCCESS;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) findCudaDriver()->ctxPopCurrent(&popped);
}

}  // namespace rondo

#else

namespace rondo {

bool streamCaptures(CUstream_st*) { return false; }

CUctx_st* currentCudaContext() { return nullptr; }

CapturesAlone::CapturesAlone() noexcept : before_(-1) {}
CapturesAlone::~CapturesAlone() { static_cast<void>(before_); }

ContextScope::ContextScope(CUctx_st*) noexcept {}
ContextScope::~ContextScope() { static_cast<void>(pushed_); }

}  // namespace rondo

#endif  // HAVE_CUDA

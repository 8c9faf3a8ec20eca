#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "p2p/cuda_driver.h"

#include "base/error.h"
#include "base/shared_library.h"

// cuda.h renames functions to their newest version (cuMemAlloc is cuMemAlloc_v2): the symbol to
// look for is what the name expands to.
#define RONDO_TEXT(name) #name
#define RONDO_SYMBOL(name) RONDO_TEXT(name)

namespace rondo {
namespace {

struct Loaded {
  CudaDriver driver{};
  std::string missing;  // empty: all there
};

Loaded load() {
  Loaded out;
  // Never closed: the driver has threads of its own.
  static SharedLibrary& library = *new SharedLibrary({"libcuda.so.1"});
  CudaDriver& d = out.driver;
  library.need(RONDO_SYMBOL(cuInit), &d.init);
  library.need(RONDO_SYMBOL(cuGetErrorName), &d.getErrorName);
  library.need(RONDO_SYMBOL(cuGetErrorString), &d.getErrorString);
  library.need(RONDO_SYMBOL(cuDeviceGet), &d.deviceGet);
  library.need(RONDO_SYMBOL(cuDeviceGetCount), &d.deviceGetCount);
  library.need(RONDO_SYMBOL(cuDeviceGetAttribute), &d.deviceGetAttribute);
  library.need(RONDO_SYMBOL(cuDeviceGetUuid), &d.deviceGetUuid);
  library.need(RONDO_SYMBOL(cuDeviceTotalMem), &d.deviceTotalMem);
  library.need(RONDO_SYMBOL(cuDeviceCanAccessPeer), &d.deviceCanAccessPeer);
  library.need(RONDO_SYMBOL(cuDeviceGetP2PAttribute), &d.deviceGetP2PAttribute);
  library.need(RONDO_SYMBOL(cuDevicePrimaryCtxRetain), &d.devicePrimaryCtxRetain);
  library.need(RONDO_SYMBOL(cuDevicePrimaryCtxRelease), &d.devicePrimaryCtxRelease);
  library.need(RONDO_SYMBOL(cuCtxGetCurrent), &d.ctxGetCurrent);
  library.need(RONDO_SYMBOL(cuCtxGetDevice), &d.ctxGetDevice);
  library.need(RONDO_SYMBOL(cuCtxPushCurrent), &d.ctxPushCurrent);
  library.need(RONDO_SYMBOL(cuCtxPopCurrent), &d.ctxPopCurrent);
  library.need(RONDO_SYMBOL(cuCtxSynchronize), &d.ctxSynchronize);
  library.need(RONDO_SYMBOL(cuCtxEnablePeerAccess), &d.ctxEnablePeerAccess);
  library.need(RONDO_SYMBOL(cuStreamCreate), &d.streamCreate);
  library.need(RONDO_SYMBOL(cuStreamSynchronize), &d.streamSynchronize);
  library.need(RONDO_SYMBOL(cuStreamDestroy), &d.streamDestroy);
  library.need(RONDO_SYMBOL(cuStreamIsCapturing), &d.streamIsCapturing);
  library.need(RONDO_SYMBOL(cuThreadExchangeStreamCaptureMode), &d.threadExchangeStreamCaptureMode);
  library.need("cuStreamGetCtx", &d.streamGetCtx);
  library.need(RONDO_SYMBOL(cuPointerGetAttributes), &d.pointerGetAttributes);
  library.need(RONDO_SYMBOL(cuMemHostAlloc), &d.memHostAlloc);
  library.need(RONDO_SYMBOL(cuMemHostGetDevicePointer), &d.memHostGetDevicePointer);
  library.need(RONDO_SYMBOL(cuMemFreeHost), &d.memFreeHost);
  library.need(RONDO_SYMBOL(cuMemHostRegister), &d.memHostRegister);
  library.need(RONDO_SYMBOL(cuMemHostUnregister), &d.memHostUnregister);
  library.need(RONDO_SYMBOL(cuMemAlloc), &d.memAlloc);
  library.need(RONDO_SYMBOL(cuMemFree), &d.memFree);
  library.need(RONDO_SYMBOL(cuMemGetInfo), &d.memGetInfo);
  library.need(RONDO_SYMBOL(cuMemsetD32Async), &d.memsetD32Async);
  library.need(RONDO_SYMBOL(cuMemcpyDtoHAsync), &d.memcpyDtoHAsync);
  library.need(RONDO_SYMBOL(cuIpcGetMemHandle), &d.ipcGetMemHandle);
  library.need(RONDO_SYMBOL(cuIpcOpenMemHandle), &d.ipcOpenMemHandle);
  library.need(RONDO_SYMBOL(cuIpcCloseMemHandle), &d.ipcCloseMemHandle);
  library.need(RONDO_SYMBOL(cuMemGetAllocationGranularity), &d.memGetAllocationGranularity);
  library.need(RONDO_SYMBOL(cuMemCreate), &d.memCreate);
  library.need(RONDO_SYMBOL(cuMemRelease), &d.memRelease);
  library.need(RONDO_SYMBOL(cuMemAddressReserve), &d.memAddressReserve);
  library.need(RONDO_SYMBOL(cuMemAddressFree), &d.memAddressFree);
  library.need(RONDO_SYMBOL(cuMemMap), &d.memMap);
  library.need(RONDO_SYMBOL(cuMemUnmap), &d.memUnmap);
  library.need(RONDO_SYMBOL(cuMemSetAccess), &d.memSetAccess);
  library.need(RONDO_SYMBOL(cuMemExportToShareableHandle), &d.memExportToShareableHandle);
  library.need(RONDO_SYMBOL(cuMemImportFromShareableHandle), &d.memImportFromShareableHandle);
  library.need(RONDO_SYMBOL(cuMemGetAddressRange), &d.memGetAddressRange);
  library.need(RONDO_SYMBOL(cuMemRetainAllocationHandle), &d.memRetainAllocationHandle);
  library.find(RONDO_SYMBOL(cuFlushGPUDirectRDMAWrites), &d.flushGpuDirectRdmaWrites);
  out.missing = library.missing();
  return out;
}

}  // namespace

const CudaDriver* findCudaDriver(std::string* why) {
  static const Loaded loaded = load();
  if (loaded.missing.empty()) return &loaded.driver;
  if (why != nullptr) *why = loaded.missing;
  return nullptr;
}

const CudaDriver& cudaDriver() {
  std::string why;
  const CudaDriver* driver = findCudaDriver(&why);
  if (driver == nullptr) throw Error(rondoUnsupported, why);
  static const CUresult started = driver->init(0);
  if (started != CUDA_SUCCESS) {
    const char* text = nullptr;
    driver->getErrorString(started, &text);
    throw Error(rondoUnsupported,
                format("the CUDA driver does not start: %s", text != nullptr ? text : "?"));
  }
  return *driver;
}

namespace {

[[noreturn]] void fail(rondoResult_t code, CUresult result, const std::string& what) {
  const char* name = nullptr;
  const char* text = nullptr;
  cudaDriver().getErrorName(result, &name);
  cudaDriver().getErrorString(result, &text);
  throw Error(code,
              format("%s: %s (%s)", what.c_str(), name != nullptr ? name : "unknown CUDA error",
                     text != nullptr ? text : "?"));
}

}  // namespace

void checkCuda(CUresult result, const std::string& what) {
  if (result != CUDA_SUCCESS) fail(rondoUnhandledCudaError, result, what);
}

void checkCudaMemory(CUresult result, const std::string& what) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) fail(rondoOutOfMemory, result, what);
  checkCuda(result, what);
}

}  // namespace rondo

#endif  // HAVE_CUDA

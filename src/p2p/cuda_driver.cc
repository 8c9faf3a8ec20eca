#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "p2p/cuda_driver.h"

#include <dlfcn.h>

#include "base/error.h"

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

class Loader {
 public:
  explicit Loader(Loaded* out) : out_(out), library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) out_->missing = "there is no libcuda.so.1";
  }
  template <class Function>
  void find(const char* name, Function* function) {
    if (library_ == nullptr) return;
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    if (*function == nullptr) out_->missing = format("the CUDA driver has no %s", name);
  }

 private:
  Loaded* out_;
  void* library_;  // stays open for the process's life
};

Loaded load() {
  Loaded out;
  Loader loader(&out);
  CudaDriver& d = out.driver;
  loader.find(RONDO_SYMBOL(cuInit), &d.init);
  loader.find(RONDO_SYMBOL(cuGetErrorName), &d.getErrorName);
  loader.find(RONDO_SYMBOL(cuGetErrorString), &d.getErrorString);
  loader.find(RONDO_SYMBOL(cuDeviceGet), &d.deviceGet);
  loader.find(RONDO_SYMBOL(cuDeviceGetCount), &d.deviceGetCount);
  loader.find(RONDO_SYMBOL(cuDeviceGetAttribute), &d.deviceGetAttribute);
  loader.find(RONDO_SYMBOL(cuDeviceGetUuid), &d.deviceGetUuid);
  loader.find(RONDO_SYMBOL(cuDeviceCanAccessPeer), &d.deviceCanAccessPeer);
  loader.find(RONDO_SYMBOL(cuDeviceGetP2PAttribute), &d.deviceGetP2PAttribute);
  loader.find(RONDO_SYMBOL(cuDevicePrimaryCtxRetain), &d.devicePrimaryCtxRetain);
  loader.find(RONDO_SYMBOL(cuDevicePrimaryCtxRelease), &d.devicePrimaryCtxRelease);
  loader.find(RONDO_SYMBOL(cuCtxGetCurrent), &d.ctxGetCurrent);
  loader.find(RONDO_SYMBOL(cuCtxGetDevice), &d.ctxGetDevice);
  loader.find(RONDO_SYMBOL(cuCtxPushCurrent), &d.ctxPushCurrent);
  loader.find(RONDO_SYMBOL(cuCtxPopCurrent), &d.ctxPopCurrent);
  loader.find(RONDO_SYMBOL(cuCtxSynchronize), &d.ctxSynchronize);
  loader.find(RONDO_SYMBOL(cuCtxEnablePeerAccess), &d.ctxEnablePeerAccess);
  loader.find(RONDO_SYMBOL(cuStreamCreate), &d.streamCreate);
  loader.find(RONDO_SYMBOL(cuStreamSynchronize), &d.streamSynchronize);
  loader.find(RONDO_SYMBOL(cuStreamDestroy), &d.streamDestroy);
  loader.find(RONDO_SYMBOL(cuStreamIsCapturing), &d.streamIsCapturing);
  loader.find(RONDO_SYMBOL(cuPointerGetAttributes), &d.pointerGetAttributes);
  loader.find(RONDO_SYMBOL(cuMemHostAlloc), &d.memHostAlloc);
  loader.find(RONDO_SYMBOL(cuMemHostGetDevicePointer), &d.memHostGetDevicePointer);
  loader.find(RONDO_SYMBOL(cuMemFreeHost), &d.memFreeHost);
  loader.find(RONDO_SYMBOL(cuMemHostRegister), &d.memHostRegister);
  loader.find(RONDO_SYMBOL(cuMemHostUnregister), &d.memHostUnregister);
  loader.find(RONDO_SYMBOL(cuMemAlloc), &d.memAlloc);
  loader.find(RONDO_SYMBOL(cuMemFree), &d.memFree);
  loader.find(RONDO_SYMBOL(cuMemsetD32Async), &d.memsetD32Async);
  loader.find(RONDO_SYMBOL(cuMemcpyDtoHAsync), &d.memcpyDtoHAsync);
  loader.find(RONDO_SYMBOL(cuIpcGetMemHandle), &d.ipcGetMemHandle);
  loader.find(RONDO_SYMBOL(cuIpcOpenMemHandle), &d.ipcOpenMemHandle);
  loader.find(RONDO_SYMBOL(cuIpcCloseMemHandle), &d.ipcCloseMemHandle);
  loader.find(RONDO_SYMBOL(cuMemGetAllocationGranularity), &d.memGetAllocationGranularity);
  loader.find(RONDO_SYMBOL(cuMemCreate), &d.memCreate);
  loader.find(RONDO_SYMBOL(cuMemRelease), &d.memRelease);
  loader.find(RONDO_SYMBOL(cuMemAddressReserve), &d.memAddressReserve);
  loader.find(RONDO_SYMBOL(cuMemAddressFree), &d.memAddressFree);
  loader.find(RONDO_SYMBOL(cuMemMap), &d.memMap);
  loader.find(RONDO_SYMBOL(cuMemUnmap), &d.memUnmap);
  loader.find(RONDO_SYMBOL(cuMemSetAccess), &d.memSetAccess);
  loader.find(RONDO_SYMBOL(cuMemExportToShareableHandle), &d.memExportToShareableHandle);
  loader.find(RONDO_SYMBOL(cuMemImportFromShareableHandle), &d.memImportFromShareableHandle);
  loader.find(RONDO_SYMBOL(cuMemGetAddressRange), &d.memGetAddressRange);
  loader.find(RONDO_SYMBOL(cuMemRetainAllocationHandle), &d.memRetainAllocationHandle);
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

void checkCuda(CUresult result, const std::string& what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* text = nullptr;
  cudaDriver().getErrorName(result, &name);
  cudaDriver().getErrorString(result, &text);
  throw Error(rondoUnhandledCudaError,
              format("%s: %s (%s)", what.c_str(), name != nullptr ? name : "unknown CUDA error",
                     text != nullptr ? text : "?"));
}

}  // namespace rondo

#endif  // HAVE_CUDA

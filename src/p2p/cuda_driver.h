#pragma once
// The CUDA driver, found at run time, so that one library runs on machines with and without it.
// For src/p2p/cuda_*.cc only: this header needs the toolkit's.

#include <cuda.h>

#include <string>

namespace rondo {

/// The driver's functions that Rondo uses.
struct CudaDriver {
  decltype(&::cuInit) init;
  decltype(&::cuGetErrorName) getErrorName;
  decltype(&::cuGetErrorString) getErrorString;
  decltype(&::cuDeviceGet) deviceGet;
  decltype(&::cuDeviceGetCount) deviceGetCount;
  decltype(&::cuDeviceGetAttribute) deviceGetAttribute;
  decltype(&::cuDeviceGetUuid) deviceGetUuid;
  decltype(&::cuDeviceTotalMem) deviceTotalMem;
  decltype(&::cuDeviceCanAccessPeer) deviceCanAccessPeer;
  decltype(&::cuDeviceGetP2PAttribute) deviceGetP2PAttribute;
  decltype(&::cuDevicePrimaryCtxRetain) devicePrimaryCtxRetain;
  decltype(&::cuDevicePrimaryCtxRelease) devicePrimaryCtxRelease;
  decltype(&::cuCtxGetCurrent) ctxGetCurrent;
  decltype(&::cuCtxGetDevice) ctxGetDevice;
  decltype(&::cuCtxPushCurrent) ctxPushCurrent;
  decltype(&::cuCtxPopCurrent) ctxPopCurrent;
  decltype(&::cuCtxSynchronize) ctxSynchronize;
  decltype(&::cuCtxEnablePeerAccess) ctxEnablePeerAccess;
  decltype(&::cuStreamCreate) streamCreate;
  decltype(&::cuStreamSynchronize) streamSynchronize;
  decltype(&::cuStreamDestroy) streamDestroy;
  decltype(&::cuStreamIsCapturing) streamIsCapturing;
  decltype(&::cuThreadExchangeStreamCaptureMode) threadExchangeStreamCaptureMode;
  CUresult (*streamGetCtx)(CUstream, CUcontext*);  ///< The first version, whatever the header's.
  decltype(&::cuPointerGetAttributes) pointerGetAttributes;
  decltype(&::cuMemHostAlloc) memHostAlloc;
  decltype(&::cuMemHostGetDevicePointer) memHostGetDevicePointer;
  decltype(&::cuMemFreeHost) memFreeHost;
  decltype(&::cuMemHostRegister) memHostRegister;
  decltype(&::cuMemHostUnregister) memHostUnregister;
  decltype(&::cuMemAlloc) memAlloc;
  decltype(&::cuMemFree) memFree;
  decltype(&::cuMemGetInfo) memGetInfo;
  decltype(&::cuMemsetD32Async) memsetD32Async;
  decltype(&::cuMemcpyDtoHAsync) memcpyDtoHAsync;
  decltype(&::cuIpcGetMemHandle) ipcGetMemHandle;
  decltype(&::cuIpcOpenMemHandle) ipcOpenMemHandle;
  decltype(&::cuIpcCloseMemHandle) ipcCloseMemHandle;
  decltype(&::cuMemGetAllocationGranularity) memGetAllocationGranularity;
  decltype(&::cuMemCreate) memCreate;
  decltype(&::cuMemRelease) memRelease;
  decltype(&::cuMemAddressReserve) memAddressReserve;
  decltype(&::cuMemAddressFree) memAddressFree;
  decltype(&::cuMemMap) memMap;
  decltype(&::cuMemUnmap) memUnmap;
  decltype(&::cuMemSetAccess) memSetAccess;
  decltype(&::cuMemExportToShareableHandle) memExportToShareableHandle;
  decltype(&::cuMemImportFromShareableHandle) memImportFromShareableHandle;
  decltype(&::cuMemGetAddressRange) memGetAddressRange;
  decltype(&::cuMemRetainAllocationHandle) memRetainAllocationHandle;
  /// nullptr before CUDA 11.3.
  decltype(&::cuFlushGPUDirectRDMAWrites) flushGpuDirectRdmaWrites;
};

/// nullptr if there is no driver or it lacks a function; `why` (may be nullptr) then says which.
/// Does not initialise CUDA.
const CudaDriver* findCudaDriver(std::string* why = nullptr);

/// The driver after cuInit. Throws Error(rondoUnsupported).
const CudaDriver& cudaDriver();

/// Throws Error(rondoUnhandledCudaError) "WHAT: NAME (text)" unless `result` is success.
void checkCuda(CUresult result, const std::string& what);
/// The same of an allocation: Error(rondoOutOfMemory) if memory is what lacks.
void checkCudaMemory(CUresult result, const std::string& what);

}  // namespace rondo

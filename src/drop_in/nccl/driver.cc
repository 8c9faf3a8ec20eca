#include "drop_in/nccl/driver.h"

#include "api/rondo.h"
#include "base/error.h"
#include "base/shared_library.h"

namespace rondo::nccl {
namespace {

// The driver's types, as far as they are passed through.
using Result = int;
using Address = unsigned long long;
constexpr unsigned kNoTiming = 2;

struct Driver {
  Result (*init)(unsigned);
  Result (*deviceGet)(int*, int);
  Result (*deviceGetCount)(int*);
  Result (*primaryRetain)(CUctx_st**, int);
  Result (*ctxGetCurrent)(CUctx_st**);
  Result (*ctxSetCurrent)(CUctx_st*);
  Result (*ctxGetDevice)(int*);
  Result (*ctxPush)(CUctx_st*);
  Result (*ctxPop)(CUctx_st**);
  Result (*ctxSynchronize)();
  Result (*exchangeCaptureMode)(int*);
  Result (*memAlloc)(Address*, size_t);
  Result (*memFree)(Address);
  Result (*eventCreate)(CUevent_st**, unsigned);
  Result (*eventDestroy)(CUevent_st*);
  Result (*eventRecord)(CUevent_st*, CUstream_st*);
  Result (*streamWaitEvent)(CUstream_st*, CUevent_st*, unsigned);
  Result (*eventSynchronize)(CUevent_st*);
  Result (*ctxRecordEvent)(CUctx_st*, CUevent_st*);  // nullptr before 12.5
  Result (*captureInfo)(CUstream_st*, int* status, unsigned long long* id, void* graph,
                        const void* dependencies, size_t* count);
  Result (*errorName)(Result, const char**);
  Result (*errorText)(Result, const char**);
  bool whole = false;  ///< All were found, and there is a device.
};

Driver load() {
  Driver d{};
  // Never closed: the driver has threads of its own.
  static SharedLibrary& library = *new SharedLibrary({"libcuda.so.1"});
  library.need("cuInit", &d.init);
  library.need("cuDeviceGet", &d.deviceGet);
  library.need("cuDeviceGetCount", &d.deviceGetCount);
  library.need("cuDevicePrimaryCtxRetain", &d.primaryRetain);
  library.need("cuCtxGetCurrent", &d.ctxGetCurrent);
  library.need("cuCtxSetCurrent", &d.ctxSetCurrent);
  library.need("cuCtxGetDevice", &d.ctxGetDevice);
  library.need("cuCtxPushCurrent_v2", &d.ctxPush);
  library.need("cuCtxPopCurrent_v2", &d.ctxPop);
  library.need("cuCtxSynchronize", &d.ctxSynchronize);
  library.need("cuThreadExchangeStreamCaptureMode", &d.exchangeCaptureMode);
  library.need("cuMemAlloc_v2", &d.memAlloc);
  library.need("cuMemFree_v2", &d.memFree);
  library.need("cuEventCreate", &d.eventCreate);
  library.need("cuEventDestroy_v2", &d.eventDestroy);
  library.need("cuEventRecord", &d.eventRecord);
  library.need("cuStreamWaitEvent", &d.streamWaitEvent);
  library.need("cuEventSynchronize", &d.eventSynchronize);
  library.need("cuStreamGetCaptureInfo_v2", &d.captureInfo);
  library.need("cuGetErrorName", &d.errorName);
  library.need("cuGetErrorString", &d.errorText);
  library.find("cuCtxRecordEvent", &d.ctxRecordEvent);
  int count = 0;
  d.whole = library.complete() && d.init(0) == 0 && d.deviceGetCount(&count) == 0 && count > 0;
  return d;
}

/// Loaded by the first call that needs it: a program may want to fork before.
const Driver& driver() {
  static const Driver one = load();
  return one;
}

const Driver& need() {
  if (driver().whole) return driver();
  throw Error(rondoUnhandledCudaError, "there is no CUDA driver here, or no device is visible");
}

void check(Result result, const char* what) {
  if (result == 0) return;
  const char *name = "?", *text = "";
  driver().errorName(result, &name);
  driver().errorText(result, &text);
  throw Error(rondoUnhandledCudaError, format("%s: %s (%s)", what, name, text));
}

/// Calls of the driver need a context; device 0's is what CUDA's runtime would take.
void needContext() {
  const Driver& cu = need();
  CUctx_st* current = nullptr;
  check(cu.ctxGetCurrent(&current), "cuCtxGetCurrent");
  if (current != nullptr) return;
  check(cu.primaryRetain(&current, 0), "cuDevicePrimaryCtxRetain");
  check(cu.ctxSetCurrent(current), "cuCtxSetCurrent");
}

}  // namespace

Place currentPlace() {
  const Driver& cu = driver();
  if (!cu.whole) return {RONDO_DEVICE_NONE, nullptr};
  Place place{0, nullptr};
  check(cu.ctxGetCurrent(&place.context), "cuCtxGetCurrent");
  if (place.context == nullptr) return placeOf(0);
  check(cu.ctxGetDevice(&place.device), "cuCtxGetDevice");
  return place;
}

Place placeOf(int device) {
  const Driver& cu = need();
  int handle = 0;
  check(cu.deviceGet(&handle, device), format("cuDeviceGet(%d)", device).c_str());
  Place place{device, nullptr};
  check(cu.primaryRetain(&place.context, handle), "cuDevicePrimaryCtxRetain");
  return place;
}

bool hasDevices() { return driver().whole; }

void enter(const Place& place) {
  if (place.context != nullptr) driver().ctxSetCurrent(place.context);
}

void* allocate(size_t bytes) {
  needContext();
  Address memory = 0;
  check(driver().memAlloc(&memory, bytes), format("cuMemAlloc of %zu bytes", bytes).c_str());
  return reinterpret_cast<void*>(memory);
}

void release(void* memory) {
  needContext();
  check(driver().memFree(reinterpret_cast<Address>(memory)),
        format("cuMemFree of %p", memory).c_str());
}

uint64_t captureOf(CUstream_st* stream) {
  int status = 0;
  unsigned long long id = 0;
  const Result result = driver().captureInfo(stream, &status, &id, nullptr, nullptr, nullptr);
  constexpr Result kImplicit = 906;  // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
  if (result == kImplicit) {
    // What is enqueued there would fail, and end the capture.
    throw Error(rondoInvalidUsage,
                "argument stream is the legacy stream (NULL), which waits for one that is being "
                "captured into a graph; allowed: the captured stream, one of "
                "cudaStreamNonBlocking, or the legacy one after cudaStreamEndCapture");
  }
  if (result != 0) return 0;
  constexpr int kCapturing = 1;
  return status == kCapturing ? id : 0;
}

namespace {

CUevent_st* madeEvent(CUevent_st** event) {
  if (*event == nullptr) check(driver().eventCreate(event, kNoTiming), "cuEventCreate");
  return *event;
}

}  // namespace

void orderStreams(CUstream_st* first, CUstream_st* later, CUevent_st** event) {
  markStream(first, event);
  waitForMark(later, *event);
}

void markStream(CUstream_st* stream, CUevent_st** event) {
  check(driver().eventRecord(madeEvent(event), stream), "cuEventRecord");
}

void markContext(CUctx_st* context, CUevent_st** event) {
  madeEvent(event);
  if (driver().ctxRecordEvent != nullptr) {
    check(driver().ctxRecordEvent(context, *event), "cuCtxRecordEvent");
  } else {  // a driver before 12.5
    waitForDevice();
  }
}

void waitForMark(CUstream_st* stream, CUevent_st* event) {
  check(driver().streamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
}

void waitOnHost(CUevent_st* event) {
  check(driver().eventSynchronize(event), "cuEventSynchronize");
}

/// Refused while a stream of the context is being captured; then memory is freed, which waits for
/// as much, once the driver knows that this thread's calls concern no capture.
void waitForDevice() {
  constexpr Result kUnsupported = 900;  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
  const Driver& cu = driver();
  const Result result = cu.ctxSynchronize();
  if (result != kUnsupported) return check(result, "cuCtxSynchronize");
  int mode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
  cu.exchangeCaptureMode(&mode);
  Address memory = 0;
  Result freed = cu.memAlloc(&memory, 1);
  if (freed == 0) freed = cu.memFree(memory);
  cu.exchangeCaptureMode(&mode);
  check(freed, "waiting for the device");
}

void destroyEvent(CUevent_st* event) noexcept {
  if (event != nullptr) driver().eventDestroy(event);
}

InContext::InContext(CUctx_st* context) noexcept {
  CUctx_st* current = nullptr;
  if (context == nullptr || !driver().whole) return;
  if (driver().ctxGetCurrent(&current) == 0 && current == context) return;
  pushed_ = driver().ctxPush(context) == 0;
}

InContext::~InContext() {
  CUctx_st* popped = nullptr;
  if (pushed_) driver().ctxPop(&popped);
}

}  // namespace rondo::nccl

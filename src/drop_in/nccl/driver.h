#pragma once
// The few things of the CUDA driver that NCCL's interface needs beside Rondo's, found at run time:
// the library is built, and its rules are tested, without CUDA.

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUevent_st;
struct CUstream_st;

namespace rondo::nccl {

/// Where a thread works: a device, and the context that is current.
struct Place {
  int device = -2;  ///< RONDO_DEVICE_NONE without a GPU.
  CUctx_st* context = nullptr;
};

/// The legacy stream by its name; NULL is it, too.
inline CUstream_st* const kLegacy = reinterpret_cast<CUstream_st*>(1);

/// Whether there is a driver, and a device that is visible.
bool hasDevices();

/// The calling thread's device as cudaGetDevice says it: that of the current context, else 0.
Place currentPlace();
/// A device, and its primary context. Throws Error.
Place placeOf(int device);

/// Makes `place` current on the calling thread, which is one of the library's own.
void enter(const Place& place);

/// Memory of the calling thread's device. Throws Error.
void* allocate(size_t bytes);
void release(void* memory);

/// Of a capture: equal for streams that are captured into one graph, 0 while none captures. The
/// stream must exist: the driver crashes otherwise. Throws Error for the legacy stream while one
/// that it waits for captures.
uint64_t captureOf(CUstream_st* stream);

// Events are made in the current context when they are first needed. All but destroyEvent throw
// Error.
/// What comes on `later` waits for what is on `first`.
void orderStreams(CUstream_st* first, CUstream_st* later, CUevent_st** event);
/// The event happens after what is on the stream, or on all streams of the context.
void markStream(CUstream_st* stream, CUevent_st** event);
void markContext(CUctx_st* context, CUevent_st** event);
void waitForMark(CUstream_st* stream, CUevent_st* event);
void waitOnHost(CUevent_st* event);
void waitForDevice();
void destroyEvent(CUevent_st* event) noexcept;

/// Makes a context current for a scope.
class InContext {
 public:
  explicit InContext(CUctx_st* context) noexcept;
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  ~InContext();

 private:
  bool pushed_ = false;
};

}  // namespace rondo::nccl

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

/// Of a capture: equal for streams that are captured into one graph, 0 while none captures.
/// `sound` is false if the stream does not exist (any more).
uint64_t captureOf(CUstream_st* stream, bool* sound);

/// An event of the current context; nullptr without a driver. Throws Error.
CUevent_st* makeEvent();
void destroyEvent(CUevent_st* event) noexcept;
/// What comes on `later` waits for what is on `first`. Throws Error.
void orderStreams(CUstream_st* first, CUstream_st* later, CUevent_st* event);
void waitForStream(CUstream_st* stream);
void waitForDevice();

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

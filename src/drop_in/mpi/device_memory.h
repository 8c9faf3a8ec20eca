#pragma once
// Device memory that a program gives to MPI: recognised by the CUDA driver, which is found at run
// time, and copied to and from host memory. Needs no CUDA header.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "api/rondo_types.h"
#include "drop_in/mpi/runs.h"

namespace rondo::drop_in {

/// Whether buffers are looked at: RONDO_MPI=both or device, and there is a driver. Written in
/// MPI_Init.
inline bool devicesOn = false;
/// Whether any rank of MPI_COMM_WORLD looks at buffers: the same on all. Written in MPI_Init.
inline bool devicesSomewhere = false;

/// Sets devicesOn if the driver can be used; false: why not is in *why, a sentence.
bool findDevices(std::string* why);

bool isDeviceMemory(const void* address);
/// Memory that only a device can read; false for host memory, pinned and managed memory too. Asks
/// the driver each time: an address may have become another kind of memory since the last call.
inline bool onDevice(const void* address) { return devicesOn && isDeviceMemory(address); }
/// A call of the program's begins: what the driver said of addresses before may be over.
void forgetAnswers();

/// Where device memory lies. Memory of the virtual memory calls and of pools has no context.
struct DeviceSpot {
  void* context = nullptr;
  int device = -1;
};
/// Of an address on a device. The program's copies and fills of its allocation end before they
/// return from now on, so that what a blocking call of its wrote is there when MPI gets the buffer;
/// at the first sight of an allocation what is on the default stream is waited for.
DeviceSpot prepareSpot(const void* address);
/// The same, of a buffer that the call under way has asked onDevice() about: the driver is not
/// asked again, if forgetAnswers() was at the call's begin.
DeviceSpot prepareAsked(const void* address);

/// What tells whether the kernels of two processes run at once.
struct DeviceSharing {
  std::array<unsigned char, 16> device{};  ///< All 0: not known.
  bool together = true;                    ///< It runs several processes at once (MPS).
};
DeviceSharing sharingOf(int device);

/// The thread's; nullptr: none.
void* currentContext();

/// Makes a context current for a scope; nullptr: leaves the thread's. Throws Error.
class ContextScope {
 public:
  explicit ContextScope(void* context);
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

 private:
  bool pushed_;
};

/// What a stream was given to do, to be launched often. Made by DeviceStream.
class DeviceGraph {
 public:
  DeviceGraph() = default;
  explicit DeviceGraph(void* executable) : executable_(executable) {}
  DeviceGraph(DeviceGraph&& other) noexcept : executable_(other.executable_) { other.leave(); }
  DeviceGraph& operator=(DeviceGraph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  ~DeviceGraph();
  explicit operator bool() const { return executable_ != nullptr; }
  void* get() const { return executable_; }
  /// Its context is gone, and it with that.
  void leave() { executable_ = nullptr; }

 private:
  void* executable_ = nullptr;
};

/// A place in what a stream does. Its context is current where nothing else is said.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(DeviceEvent&& other) noexcept : event_(other.event_) { other.leave(); }
  DeviceEvent& operator=(DeviceEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~DeviceEvent();  ///< In any context.
  /// After all that was enqueued. Throws Error.
  void record(rondoStream_t stream);
  /// Whether the stream has come so far. Throws Error.
  bool reached() const;
  /// Its context is gone, and it with that.
  void leave() { event_ = nullptr; }

 private:
  void* event_ = nullptr;
};

/// Memory on a device, whose context is current where nothing else is said.
class DeviceMemory {
 public:
  /// Throws Error.
  explicit DeviceMemory(size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept : address_(other.address_) { other.leave(); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(address_, other.address_);
    return *this;
  }
  ~DeviceMemory();
  char* get() const { return address_; }
  /// Its context is gone, and it with that.
  void leave() { address_ = nullptr; }

 private:
  char* address_ = nullptr;
};

/// Enqueues a copy from the device to itself. Throws Error.
void copyOnDevice(void* to, const void* from, size_t bytes, rondoStream_t stream);

/// A stream that waits for none of the program's, made in the current context. Throws Error.
class DeviceStream {
 public:
  DeviceStream();
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  ~DeviceStream();
  rondoStream_t get() const { return static_cast<rondoStream_t>(stream_); }
  /// Whether all that was enqueued is done. Throws Error.
  bool idle() const;

  /// What this thread enqueues from now on goes into a graph. False: the driver cannot. What other
  /// threads of the program capture or call meanwhile is not touched.
  bool beginCapture();
  /// Ends it. No graph: the driver could not make one.
  DeviceGraph endCapture();
  /// Throws Error.
  void launch(const DeviceGraph& graph);

 private:
  void* stream_ = nullptr;
};

/// Page-locked memory of this process for copies of `device`; nullptr: the driver cannot. It stays
/// memory when the context goes.
char* lockPages(size_t bytes, const void* device);

/// Done on return, after what is on the device at entry: no stream of the program's is waited for,
/// as buffers are ready when they are given to MPI. Throw Error.
void copyFromDevice(void* host, const void* device, size_t bytes);
void copyToDevice(void* device, const void* host, size_t bytes);
/// The same of parts of them.
void copyToDevice(char* device, const char* host, std::span<const Run> runs);

}  // namespace rondo::drop_in

#pragma once
// A rank's CUDA device and context, and what kind of memory a pointer is. Needs no CUDA header.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct CUctx_st;
struct CUstream_st;

namespace rondo {

struct PointerKind {
  enum Memory : uint8_t { kHost, kDevice, kManaged, kGone };
  Memory memory = kHost;
  int device = -1;  ///< Device ordinal; -1 on the host.
  int error = 0;    ///< kGone: what the driver said instead of an answer (a CUresult); 0: nothing.

  bool onDevice() const { return memory == kDevice || memory == kManaged; }
};

/// One driver call, allowed while a stream captures; everything is host memory where there is no
/// driver, or none was started. kGone is what the driver knows nothing of, or gives no answer about
/// (its device is lost), and the host cannot read: memory where device memory was seen before, by
/// this function or noteDeviceMemory(), and has been freed. Freed memory that was never seen looks
/// like the host's.
PointerKind pointerKind(const void* pointer);
/// Where devices have page-locked memory of the host's; nullptr: it is none.
const void* pinnedOnDevice(const void* pointer);
/// There is device memory, which somebody may free.
void noteDeviceMemory(const void* memory, size_t bytes);
/// What is gone, for a sentence: "device memory that was freed: ...", or the driver's words.
std::string goneText(const PointerKind& kind);

/// Whether what is enqueued on `stream` goes into a graph.
bool streamCaptures(CUstream_st* stream);

/// The device and context that a rank works in.
class CudaDevice {
 public:
  /// `wanted` is an ordinal, or RONDO_DEVICE_AUTO: then the current context, if there is one,
  /// otherwise the primary context of device `localRank` modulo visible devices. Makes nothing
  /// current. Throws Error: rondoUnsupported if there is no driver or no device,
  /// rondoInvalidArgument for an ordinal that does not exist.
  static CudaDevice open(int wanted, int localRank);

  CudaDevice(CudaDevice&& other) noexcept;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  CudaDevice& operator=(CudaDevice&&) = delete;
  ~CudaDevice();

  int ordinal() const { return ordinal_; }
  CUctx_st* context() const { return context_; }
  /// Identifies the device on this host whatever CUDA_VISIBLE_DEVICES says.
  std::array<unsigned char, 16> uuid() const;
  /// A warp's store of a whole 128-byte line arrives whole in the memory of device `uuid`: on the
  /// same device, or over NVLink, which is told by native atomics. False for a device that this
  /// process does not see.
  bool storesLinesTo(const std::array<unsigned char, 16>& uuid) const;
  /// The other visible devices that can address this one's memory.
  std::vector<int> reachedBy() const;
  /// Memory can be exported as a file descriptor.
  bool exportsDescriptors() const;
  /// Kernels of several processes run on it at once (MPS); otherwise processes take turns.
  bool runsProcessesTogether() const;
  /// Its memory, whoever has it; 0: the driver does not say.
  uint64_t memoryBytes() const noexcept;
  /// Of them, what nobody has now; all of it where the driver does not say.
  uint64_t freeBytes() const;
  /// When kernels see what a network card has written into its memory: at once, after
  /// flushCardWrites(), or who knows when.
  enum class CardWrites : uint8_t { Seen, Flushed, Unseen };
  CardWrites cardWrites() const;
  void flushCardWrites() const;
  /// What other threads may do in the context while one waits for it: launch, but then what they
  /// capture may be lost, or capture, but then launches wait, too. Of a context that several ranks
  /// have, kernels wait for each other's launches: kLaunch.
  enum class Meanwhile : uint8_t { kLaunch, kCapture };
  /// Waits for everything enqueued in the context, whatever is captured there.
  void synchronize(Meanwhile others = Meanwhile::kLaunch) const;

 private:
  CudaDevice(int ordinal, CUctx_st* context, bool retained)
      : ordinal_(ordinal), context_(context), retained_(retained) {}
  int ordinal_;
  CUctx_st* context_;
  bool retained_;
};

/// "argument stream is 0x.., a stream of device 1; allowed: one of device 0", of a stream on which
/// a call failed; empty: it is of the device's context, or the driver does not say.
std::string streamFault(const CudaDevice& device, CUstream_st* stream);

/// While it lives what the calling thread asks the driver for concerns no capture of another
/// thread: it is not refused because of one, and ends none. Before a device was opened, nothing.
class CapturesAlone {
 public:
  CapturesAlone() noexcept;
  CapturesAlone(const CapturesAlone&) = delete;
  CapturesAlone& operator=(const CapturesAlone&) = delete;
  ~CapturesAlone();

 private:
  int before_;  ///< The thread's CUstreamCaptureMode; less than 0: unchanged.
};

/// The calling thread's context; nullptr if it has none, or no driver.
CUctx_st* currentCudaContext();

/// Makes a context current for a scope, unless it is already, or nullptr. Never throws, because
/// destructors use it: where it fails (the driver is shutting down), so does the call that needed
/// it.
class ContextScope {
 public:
  explicit ContextScope(CUctx_st* context) noexcept;
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

 private:
  bool pushed_ = false;
};

}  // namespace rondo

#pragma once
// What device memory between hosts needs of a device: memory that both sides address, and launches.
// Tests have one without a GPU (tests/support/pretended_device.h).

#include <cstdint>
#include <functional>
#include <memory>

#include "coll/device_runner.h"
#include "coll/device_tenants.h"
#include "kernels/far.h"
#include "p2p/far_transport.h"

namespace rondo {

/// One rank's. Calls come from one thread at a time. Everything throws Error.
class FarDevice {
 public:
  virtual ~FarDevice() = default;

  virtual int ordinal() const = 0;
  virtual DeviceTenant tenant() const = 0;
  /// Takes the blocks that its kernels may keep busy, once all ranks have opened theirs and before
  /// anything else: what is left of the device is for so many ranks of the communicator.
  virtual void claim(const DeviceSharers& sharers) = 0;
  /// Blocks that each of the two kernels may keep busy, 1 to kFarBlocks.
  virtual int blocks() const = 0;

  struct Memory {
    unsigned char* host;
    unsigned char* device;  ///< The same memory as kernels address it.
    std::shared_ptr<void> owner;
  };
  /// Zeroed, page-locked; there as long as the device is, or anybody has its owner.
  virtual Memory pinned(uint64_t bytes) = 0;
  /// Zeroed memory of the device itself; likewise.
  virtual uint32_t* counters(uint64_t words) = 0;
  virtual void setCounters(uint32_t* at, uint32_t value, uint64_t words) = 0;

  /// What follows is enqueued, also while the stream captures. `name`: the call, for sentences.
  virtual void launch(const FarCall& call, int blocks, rondoStream_t stream) = 0;
  virtual void launch(const char* name, const FarExchangeCall& call, int blocks,
                      rondoStream_t stream) = 0;
  virtual void copy(const char* name, void* to, const void* from, uint64_t bytes,
                    rondoStream_t stream) = 0;
  /// What this rank gives, `count` elements, times its scalar, to `into`.
  virtual void multiply(const DeviceCall& call, void* into, uint64_t count) = 0;
  /// Memory between two points of the call's stream.
  virtual void* allocate(const DeviceCall& call, uint64_t bytes) = 0;
  virtual void release(const DeviceCall& call, void* memory) = 0;
  /// What is enqueued on `later` from now on waits for what is on `first` by now.
  virtual void order(const char* name, rondoStream_t first, rondoStream_t later) = 0;
  /// Of a device of levels (DeviceConfig::inLevels): what `branch` enqueues on the stream that it
  /// is given and what `main` enqueues on `stream` both come after what is on `stream` by now, and
  /// before what comes later, but run beside each other. In a capture they are two branches of the
  /// graph. Joined whatever either throws.
  virtual void beside(const char* name, rondoStream_t stream,
                      const std::function<void(rondoStream_t)>& branch,
                      const std::function<void()>& main) = 0;
  /// Whether what is enqueued on `stream` becomes part of a graph.
  virtual bool captures(rondoStream_t stream) = 0;
  /// Waits for all that was enqueued.
  virtual void synchronize() = 0;

  /// What the network must know of its memory.
  virtual MemoryKind memoryKind() const = 0;
  /// Whether kernels see what a network card has written there, once settleCardWrites() was called.
  virtual bool seesCardWrites() const = 0;
  /// Any thread.
  virtual void settleCardWrites() = 0;
};

/// The device that `config` asks for, its kernels loaded. Throws Error(rondoUnsupported) where
/// there is none, rondoInvalidArgument for an ordinal that does not exist.
std::unique_ptr<FarDevice> openFarDevice(const DeviceConfig& config);

}  // namespace rondo

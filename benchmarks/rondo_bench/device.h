#pragma once
// A rank's CUDA device: its context, one stream, memory, and the timing of calls on it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/rondo_register.h"
#include "cuda_driver.h"
#include "memory.h"
#include "session.h"
#include "timing.h"

namespace rondo::bench {

class Device {
 public:
  /// The communicator's device becomes current. Throws UsageError if there is none.
  explicit Device(const Session& session);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const CudaDriver& cuda() const { return cuda_; }
  CuStream stream() const { return stream_; }
  const std::string& name() const { return name_; }
  void synchronize() const;

 private:
  CudaDriver cuda_;
  CuDevice device_ = 0;
  CuStream stream_ = nullptr;
  std::string name_;
};

class DeviceMemory : public Memory {
 public:
  /// Registers its blocks with `comm`, unless it is nullptr: then all ranks allocate and release
  /// blocks of the same lengths in the same order. `flags` as of rondoCommRegister.
  DeviceMemory(const Device& device, rondoComm_t comm, int flags)
      : device_(device), comm_(comm), flags_(flags) {}
  void* allocate(size_t bytes, size_t align) override;
  void release(void* block) override;
  void write(void* to, size_t bytes, const std::function<void(void*)>& produce) override;
  void read(const void* from, size_t bytes,
            const std::function<void(const void*)>& consume) override;

 protected:
  /// Memory of the device and its end.
  virtual CuPointer take(size_t bytes);
  virtual void give(CuPointer block);

 private:
  const Device& device_;
  const rondoComm_t comm_;
  const int flags_;
  std::map<void*, rondoRegistration_t> registered_;
  std::vector<char> scratch_;
};

}  // namespace rondo::bench

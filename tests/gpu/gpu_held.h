#pragma once
// A storm's buffers on a device.

#include <cuda_runtime.h>

#include <random>
#include <string>
#include <vector>

#include "support/storm_held.h"

namespace rondo::testing {

/// Ends the process: the other ranks wait for this one.
[[noreturn]] void giveUp(const std::string& what);
void need(cudaError_t error, const char* what);

/// Device memory in a row, and as much page-locked: other copies may wait for kernels that wait for
/// this rank.
class StormArena {
 public:
  explicit StormArena(size_t bytes);
  StormArena(const StormArena&) = delete;
  StormArena& operator=(const StormArena&) = delete;
  ~StormArena();
  size_t take(size_t bytes);
  void clear() { used_ = 0; }
  char* device(size_t at) const { return device_ + at; }
  char* host(size_t at) const { return host_ + at; }

 private:
  size_t bytes_, used_ = 0;
  char *device_ = nullptr, *host_ = nullptr;
};

/// A call whose buffers lie on the device, as far off their alignment as the host's.
class GpuHeld : public StormHeld {
 public:
  GpuHeld(const StormCall& issued, int ofRank, int ofSize, std::mt19937& own, StormArena& arena);
  GpuHeld(const GpuHeld&) = delete;
  GpuHeld& operator=(const GpuHeld&) = delete;
  /// What the host's buffers hold, by copies on `stream`.
  void load(cudaStream_t stream);
  void fetch(cudaStream_t stream);
  /// Once the copies of fetch() have ended.
  void take();
  const char* deviceFrom() const;
  char* deviceTo() const;

 private:
  struct Place {
    StormBuffer* buffer;
    char *device, *host;
  };
  Place placed(StormBuffer* buffer, StormArena& arena);
  char* onDevice(const char* at) const;

  std::vector<Place> places_;
};

}  // namespace rondo::testing

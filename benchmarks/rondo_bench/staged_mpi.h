#pragma once
// MPI's collectives on device memory the way a program calls an MPI that knows no devices: copies
// to page-locked memory of the host, the call, and a copy back.

#include <mpi.h>

#include "benchmark.h"
#include "contender.h"
#include "device.h"

namespace rondo::bench {

class StagedMpi {
 public:
  /// `device` outlives it.
  explicit StagedMpi(const Device& device) : device_(device) {}
  ~StagedMpi();
  StagedMpi(const StagedMpi&) = delete;
  StagedMpi& operator=(const StagedMpi&) = delete;

  /// Of a collective. Its calls wait for what is on their stream and end with a copy on it. Made
  /// by no other thread while one runs.
  Contender contender(const Benchmark& benchmark, MPI_Comm comm);

 private:
  void call(const std::function<void(const CallArgs&)>& mpi, const CallArgs& args);
  char* room(size_t bytes);

  const Device& device_;
  void* room_ = nullptr;
  size_t roomBytes_ = 0;
};

}  // namespace rondo::bench

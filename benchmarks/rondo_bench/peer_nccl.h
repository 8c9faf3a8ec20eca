#pragma once
// NCCL as a library to compare with on device memory, loaded at run time.

#include <memory>
#include <string>

#include "benchmark.h"
#include "contender.h"
#include "options.h"
#include "session.h"

namespace rondo::bench {

/// Throws UsageError if NCCL has no such type, or averages it inexactly, or if the suite times
/// something else of it than its all-reduce.
void requireNcclCan(const Benchmark& benchmark, const Options& options, int ranks);

class Nccl {
 public:
  /// Collective; the rank's device must be current. Throws UsageError if NCCL cannot be loaded.
  explicit Nccl(const Session& session);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  std::string version() const;
  Contender allReduce() const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  struct ncclComm* comm_ = nullptr;
};

}  // namespace rondo::bench

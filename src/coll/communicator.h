#pragma once
// What a communicator is made of, below the C API.

#include <functional>
#include <memory>
#include <string>

#include "coll/device_runner.h"
#include "coll/facts.h"
#include "coll/plan_cache.h"
#include "coll/planner.h"
#include "coll/runner.h"
#include "p2p/shm_transport.h"

namespace rondo {

/// Who a rank is among the others.
struct RankPlace {
  int rank = 0;
  int size = 1;
  int localRank = 0;
  int localSize = 1;
};

/// One collective call on host memory, arguments checked.
struct HostRequest {
  PlanKey key;
  const void* src;
  void* dst;
};

class Communicator {
 public:
  struct Parts {
    std::string name;
    RankPlace place;
    CommFacts facts;
    CpuLevel cpu = CpuLevel::kPlain;
    WaitPolicy wait;  ///< Without `aborted`, which is set here.
    std::vector<TuneRule> tune;
    bool explain = false;
    std::unique_ptr<ShmTransport> shm;     ///< nullptr with one rank.
    std::unique_ptr<DeviceRunner> device;  ///< nullptr: host memory only.
    std::string whyNoDevice;               ///< Then the reason, as a sentence.
    /// Tests: replaces ports of this rank; may be empty.
    std::function<void(Channels&, int rank)> decorate;
  };
  explicit Communicator(Parts parts);

  const std::string& name() const { return parts_.name; }
  const RankPlace& place() const { return parts_.place; }
  /// CUDA device ordinal, or RONDO_DEVICE_NONE.
  int device() const { return parts_.device ? parts_.device->device() : RONDO_DEVICE_NONE; }
  /// nullptr: host memory only, and whyNoDevice() says why.
  DeviceRunner* deviceRunner() const { return parts_.device.get(); }
  const std::string& whyNoDevice() const { return parts_.whyNoDevice; }
  const CommFacts& facts() const { return parts_.facts; }

  /// Runs the call to its end. Only one thread at a time.
  RunResult run(const HostRequest& request) {
    const BoundPlan* plan = plans_.find(request.key);
    if (plan == nullptr) [[unlikely]]
      plan = makePlan(request.key);
    return runPlan(*plan, request);
  }

  /// Ends pending and later calls on all ranks. Any thread.
  void abort() {
    if (parts_.shm) parts_.shm->abort();
    if (parts_.device) parts_.device->abort();
  }
  /// 0, or 1 + the rank that aborted.
  uint32_t aborted() const { return parts_.shm ? parts_.shm->aborted() : 0; }

 private:
  const BoundPlan* makePlan(const PlanKey& key);
  RunResult runPlan(const BoundPlan& plan, const HostRequest& request);

  Parts parts_;
  Channels channels_;
  PlanCache plans_;
  Runner runner_;
  uint64_t
      streamBytes_;  ///< Calls of at least this many bytes write their results past the caches.
};

}  // namespace rondo

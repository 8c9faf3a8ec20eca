#pragma once
// What a communicator is made of, below the C API.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coll/device_runner.h"
#include "coll/exchange.h"
#include "coll/facts.h"
#include "coll/plan_cache.h"
#include "coll/planner.h"
#include "coll/registry.h"
#include "coll/runner.h"
#include "coll/scaled_ops.h"
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
  const UnevenSlots* uneven = nullptr;  ///< With key.uneven.
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

  /// Runs the call to its end. Only one thread at a time; not while operations of a group are under
  /// way (idle()).
  RunResult run(const HostRequest& request) {
    const HostCall call = prepare(request);
    const RunResult result = runner_.run(*plan_, call, parts_.wait);
    const bool settled = result != RunResult::Ok || request.uneven == nullptr || !parts_.shm;
    return settled ? result : awaitSilent();
  }

  /// The same in pieces, for groups: begin() once, then poll() until it says something other than
  /// Busy. `moved` is set if anything was done.
  enum class Progress { Busy, Done, Aborted, Mismatch };
  void begin(const HostRequest& request) {
    const HostCall call = prepare(request);
    runner_.begin(*plan_, call);
  }
  Progress poll(bool* moved);
  void beginExchange(const std::vector<Transfer>& transfers);
  Progress pollExchange(bool* moved);

  /// Operations of groups take turns: each takes a number when it is issued and runs when it is
  /// served.
  uint64_t takeNumber() { return issued_.fetch_add(1, std::memory_order_relaxed); }
  bool served(uint64_t number) const { return finished_.load(std::memory_order_acquire) == number; }
  void finishNumber(uint64_t number) { finished_.store(number + 1, std::memory_order_release); }
  /// Whether every operation that was issued has ended.
  bool idle() const { return served(issued_.load(std::memory_order_relaxed)); }
  ScaledOps& scaledOps() { return scaledOps_; }
  /// How a thread waits for a group; whether calls differ, the polls find out.
  const WaitPolicy& groupWait() const { return groupWait_; }

  /// Two ranks whose current calls differ though they should be the same, as a sentence; empty:
  /// none that can be seen.
  std::string mismatchText() const;
  /// The same for sends and receives, after pollExchange() said so.
  const std::string& exchangeMismatch() const { return exchange_.mismatchText(); }

  /// Ends pending and later calls on all ranks. Any thread.
  void abort() {
    if (parts_.shm) parts_.shm->abort();
    if (parts_.device) parts_.device->abort();
  }
  /// 0, or 1 + the rank that aborted.
  uint32_t aborted() const { return parts_.shm ? parts_.shm->aborted() : 0; }

 private:
  /// Finds or makes the call's plan, and tells the peers what this rank is at.
  HostCall prepare(const HostRequest& request) {
    plan_ = request.key.nothing() ? &nothing_ : plans_.find(request.key);
    if (plan_ == nullptr) [[unlikely]]
      plan_ = makePlan(request.key);
    uneven_ = request.uneven;
    if (parts_.shm) announce(request.key);
    // With slots, in place means another address: taken for granted there.
    const bool inPlace = request.src == request.dst || plan_->slots;
    return {static_cast<const char*>(request.src),
            static_cast<char*>(request.dst),
            plan_->totalBytes >= streamBytes_,
            plan_->stamp ^ static_cast<uint32_t>(sequence_ * 0x9e3779b1u),
            plan_->scale == nullptr && (!inPlace || plan_->algorithm->inPlaceAnnounce),
            request.uneven};
  }
  const BoundPlan* makePlan(const PlanKey& key);
  void announce(const PlanKey& key);
  bool someoneElsewhere() const;
  bool readCall(int rank, uint64_t sequence, Call* call, int of = -1,
                PairCounts* counts = nullptr) const;
  RunResult awaitSilent();
  Progress askSilent() const;
  std::string mismatchAt(uint64_t sequence) const;

  Parts parts_;
  Channels channels_;
  PlanCache plans_;
  Runner runner_;
  Exchange exchange_;
  ScaledOps scaledOps_;
  const BoundPlan* plan_ = nullptr;      // of the current call
  BoundPlan nothing_{};                  // of calls with count 0, which peers must see too
  const UnevenSlots* uneven_ = nullptr;  // of the current call
  std::vector<int> silent_;              // peers of which it takes nothing
  WaitPolicy groupWait_;
  uint32_t idlePolls_ = 0;
  uint64_t sequence_ = 0;            // collectives so far
  std::atomic<uint64_t> issued_{0};  // group operations
  std::atomic<uint64_t> finished_{0};
  uint64_t
      streamBytes_;  ///< Calls of at least this many bytes write their results past the caches.
};

}  // namespace rondo

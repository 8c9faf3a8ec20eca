#pragma once
// What a communicator owns for its device: the memory that peers address, and the kernels over it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/rondo_types.h"
#include "base/options.h"
#include "base/stage_times.h"
#include "coll/device_planner.h"
#include "coll/device_standing.h"
#include "coll/device_tenants.h"
#include "coll/device_way.h"
#include "coll/exchange.h"
#include "coll/scaled_ops.h"
#include "p2p/bootstrap.h"
#include "p2p/fd_exchange.h"

namespace rondo {

struct LevelsFacts;

struct DeviceConfig {
  int device = RONDO_DEVICE_AUTO;  ///< Ordinal, RONDO_DEVICE_AUTO or RONDO_DEVICE_NONE.
  int localRank = 0;
  uint64_t spinBoundMs = 0;         ///< RONDO_SPIN_BOUND_MS; 0: none.
  std::vector<TuneRule> tune = {};  ///< RONDO_TUNE; the same on all ranks.
  bool explain = false;             ///< RONDO_EXPLAIN: rank 0 says what it chose, and what else.
  bool legacyIpc = false;   ///< Tests: share memory by legacy CUDA IPC on all ranks if any asks.
  int smBudget = 0;         ///< config.smBudget: multiprocessors of its kernels; 0: what is usual.
  int smMost = 0;           ///< RONDO_SM_BUDGET_AT_MOST: no more than that; 0: no bound.
  int blocksHeld = 0;       ///< That each rank of the communicator has of its device already.
  DeviceSharers sharers{};  ///< Of the device, as ranks of other hosts have said, too.
  bool inLevels = false;    ///< One of the two runners of a communicator in levels.
  /// What its sentences call this rank, of how many; -1: as the runner itself numbers it.
  int shownRank = -1, shownSize = 0;
  bool noSms = false;         ///< RONDO_SM_BUDGET_NONE; counts if all ranks say so.
  bool hostMemory = false;    ///< RONDO_P2P=off: ranks meet in host memory; the same on all ranks.
  bool noLineStores = false;  ///< Tests: 128-byte stores count as those over PCIe.
  bool registeredOnly = false;  ///< Tests: into what isn't registered nothing goes straight.
  DependentLaunch dependentLaunch = DependentLaunch::On;  ///< RONDO_DEPENDENT_LAUNCH.
  bool noBackground = false;   ///< RONDO_REGISTER=off; counts for a rank and its peers.
  uint64_t registerBytes = 0;  ///< RONDO_REGISTER; 0: what is usual.
  ZeroCopyUse zeroCopy = ZeroCopyUse::Auto;  ///< RONDO_NET_ZERO_COPY; the same on all ranks.
  bool closeAlways = false;     ///< Tests: kernels come close whoever else uses the device.
  bool lean = false;            ///< Tests: memory as a further communicator has it.
  bool losePeerWrites = false;  ///< Tests: this rank's writes to its peers go astray.
  DeviceCosts costs = {};       ///< What kernels are chosen by; the same on all ranks.
  StageTimes* times = nullptr;  ///< Of the communicator's making; nullptr: nobody asks.
};

/// A collective on device memory, arguments checked.
struct DeviceCall {
  const char* name;  ///< "rondoAllReduce"
  Collective collective;
  const void* send;
  void* recv;
  size_t count;  ///< Of a slot.
  rondoDataType_t type;
  rondoRedOp_t op;  ///< Of reductions.
  int root;
  rondoStream_t stream;
  const ScaledOp* scaled = nullptr;  ///< `op` is a premultiplied sum, this one.
};

/// One rank's part. Calls on it come from one thread at a time, but for abort().
class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;

  virtual int device() const = 0;
  /// Whether its kernels meet those of the others in host memory, not in that of the devices.
  virtual bool throughHost() const { return false; }
  /// What choose() knows of the devices; nullptr where they are of several hosts.
  virtual const DeviceFacts* deviceFacts() const { return nullptr; }

  /// Enqueues the collective on its stream and returns. Both pointers are device memory of
  /// device(), aligned to an element; in place where the host's collective may be. Makes no
  /// allocation and no driver call that a capturing stream forbids. Returns how it is served.
  /// Throws Error: rondoUnsupported for what has no kernel, rondoRemoteError once a wait was given
  /// up, rondoUnhandledCudaError.
  virtual DeviceServed run(const DeviceCall& call) = 0;

  /// Whether the kernel of the collective that is enqueued next may stay for the one after it, for
  /// so long: the caller promises that its buffers are ready, whatever is on the stream, and that
  /// it asks awaited() until the call has ended before it makes another one. False: no use now.
  /// Throws as run() does.
  virtual bool awaitNext(std::chrono::nanoseconds) { return false; }
  /// Of the call after awaitNext(). Throws as run() does.
  virtual Awaited awaited() { return Awaited::kOnStream; }
  /// Tests: calls that a kernel took that had stayed for them.
  virtual uint64_t handedOver() const { return 0; }

  /// How many of the first of `calls`, neighbours in a group, runJoint() takes: 0, or at least 2.
  /// The same on all ranks, whose groups are alike.
  virtual size_t joins(std::span<const DeviceCall>) { return 0; }
  /// Right after joins() has said how many: enqueues them as one launch, on the stream of the
  /// first, which waits for the others' streams, as they do for it. Calls that depend on each other
  /// by this rank's buffers are launches of their own, in their order. Throws as run() does.
  virtual DeviceServed runJoint(std::span<const DeviceCall>) { return {}; }
  /// What joins() would say, without an effect, and the predicted time of those calls together.
  struct Joined {
    size_t calls = 0;
    uint64_t picoseconds = 0;
  };
  virtual Joined wouldJoin(std::span<const DeviceCall>) const { return {}; }

  /// Enqueues sends and receives of device memory of device() as one launch on the first of
  /// `streams`; the others wait for it, and it for what is on them. Every transfer between two
  /// ranks has a partner of the same length in the same place of their order; transfers of length 0
  /// are nothing. Exchanges and collectives do not wait for each other. Throws as run() does.
  virtual void exchange(const char* name, std::span<const Transfer> transfers,
                        std::span<const rondoStream_t> streams) = 0;

  /// As exchange() on one stream, as part of a collective: neither meets transfers of the other,
  /// nor do they wait for each other. Of a runner of levels (DeviceConfig::inLevels).
  virtual void passOn(const char* name, std::span<const Transfer> transfers, rondoStream_t stream) {
    exchange(name, transfers, {&stream, 1});
  }

  /// As exchange() on one stream, but its receives may write where its sends read: by way of memory
  /// that is taken and given back on the stream, as long as what is sent to other ranks. Peers need
  /// not do the same.
  virtual void exchangeInPlace(const char* name, std::span<const Transfer> transfers,
                               rondoStream_t stream) = 0;

  /// What is enqueued on `later` from now on waits for what is on `first` by now.
  virtual void order(rondoStream_t first, rondoStream_t later) = 0;

  /// Larger for a later communicator; the same on all ranks (coll/device_order.h).
  virtual uint64_t serial() const = 0;

  /// Throws Error(rondoRemoteError) if a kernel gave up a wait since the communicator was made:
  /// what it and later kernels wrote is not to be used.
  virtual void check() const = 0;

  /// Ends the waits of kernels that run or come. From any thread.
  virtual void abort() noexcept = 0;
  /// After abort(): waits until the device is idle. Whether a kernel of this rank gave up a wait,
  /// as far as that is known.
  virtual bool gaveUp() { return true; }
  /// Whether one has given up by now.
  virtual bool gaveUpSoFar() const { return false; }
  /// How long a kernel has waited, as one of them said since this was last asked; 0: none waits
  /// long (100 ms). One thread at a time, whichever.
  virtual std::chrono::milliseconds takeLongWait() noexcept { return {}; }
  /// Whether what is enqueued on the stream goes into a graph.
  virtual bool captures(rondoStream_t) const { return false; }

  /// `call` runs once, on any thread, when calls stop working for a cause outside the kernels
  /// (rondoRemoteError: a peer's); nullptr: not any more.
  virtual void onFailure(const std::function<void(rondoResult_t)>&) {}
  /// That cause, as a sentence; empty: there is none.
  virtual std::string failure(rondoResult_t*) const { return ""; }

  /// What becomes of a call with these agreed arguments.
  virtual DeviceChoice choose(const DeviceRequest& request) const = 0;
  /// Whether it becomes sends and receives.
  virtual bool byTransfers(const DeviceRequest& request) { return choose(request).byTransfers; }
  /// Whether run() takes gathers and scatters, which else are sends and receives; the same on all
  /// ranks.
  virtual bool runsRooted() const { return false; }

  /// Where calls may go in levels (coll/levels_choice.h): what they are chosen by; else nullptr.
  virtual const LevelsFacts* levels() const { return nullptr; }

  /// Tests: lets all counters start at `value`. No kernel of any rank may be in flight, here or
  /// until all ranks have called it.
  virtual void startEpochsAt(uint32_t value) = 0;
};

/// Collective over `boot`. All memory, all mappings and all kernels are there when it returns, on
/// every rank, so that no later call needs the context to itself. `fds` was made with the same
/// `peers` (all other ranks, ascending) and is used only if some ranks are different processes;
/// nullptr if none are.
/// Devices that cannot reach each other's memory meet in host memory, with a warning.
/// Returns nullptr on all ranks, and says in `why` (a sentence), if a rank has no device, this
/// build no kernels, or memory is lacking: the communicator then has host memory only. Throws the
/// same Error on all ranks for a device ordinal that does not exist.
std::unique_ptr<DeviceRunner> createDeviceRunner(Bootstrap& boot, FdExchange* fds,
                                                 const std::vector<int>& peers,
                                                 const DeviceConfig& config, std::string* why);

}  // namespace rondo

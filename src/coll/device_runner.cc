#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "coll/device_runner.h"

#ifdef HAVE_CUDA

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <utility>

#include "api/types.h"
#include "base/error.h"
#include "coll/device_lease.h"
#include "kernels/launch.h"

namespace rondo {
namespace {

using algo::Count;
using algo::Geometry;

// Up to here the one-shot exchange beats the ring. In a graph, one-shot / ring, us (H200 over
// NVLink, 2026-11): 4 ranks 15.0 / 22.9 at 512 KiB, 27.2 / 26.3 at 1 MiB;
// 2 ranks 9.0 / 9.8 at 512 KiB.
constexpr size_t kOneShotBytes = 512u << 10;
// A ring's lane with smaller blocks than this spends its time in flags.
constexpr Count kRingBlockBytes = 4u << 10;

Count divideUp(Count a, Count b) { return (a + b - 1) / b; }

// Few blocks for few bytes: a second block costs more than it brings below 128 packets; 64 packets
// a block up to 8 blocks, 256 up to 32, then as many as a lane holds.
Geometry oneShotGeometry(Count count, int lanesAtMost) {
  const Count packets = divideUp(count, 2);
  Count lanes = 1;
  if (packets > 128) lanes = std::min<Count>(8, divideUp(packets, 64));
  lanes = std::max(lanes, divideUp(packets, 256));
  lanes = std::min<Count>(lanes, static_cast<Count>(lanesAtMost));
  return Geometry{count, static_cast<int>(lanes), 1, 2 * kWindowPackets, 2};
}

Geometry ringGeometry(Count count, int ranks, int lanesAtMost) {
  const Count perLane = static_cast<Count>(ranks) * (kRingBlockBytes / sizeof(float));
  const Count lanes = std::min<Count>(divideUp(count, perLane), static_cast<Count>(lanesAtMost));
  return Geometry{count, static_cast<int>(lanes), ranks, kSlotBytes / sizeof(float), 4};
}

int oneShotThreads(const Geometry& geometry) {
  const Count packets = divideUp(divideUp(geometry.count, static_cast<Count>(geometry.lanes)), 2);
  return static_cast<int>(std::min<Count>(divideUp(packets, 32) * 32, kBlockThreads));
}

// What a rank makes of its device before it knows the others.
struct Opened {
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<PinnedMemory> faults;
};

class CudaRunner : public DeviceRunner {
 public:
  CudaRunner(Bootstrap& boot, FdExchange* fds, const std::vector<int>& peers, Opened opened,
             const std::vector<DeviceCard>& cards, int lanesAtMost, uint64_t spinBoundMs)
      : rank_(boot.rank()),
        size_(boot.size()),
        spinBoundMs_(spinBoundMs),
        lanesAtMost_(lanesAtMost),
        device_(std::move(*opened.device)),
        faults_(std::move(opened.faults)),
        lease_(boot, fds, peers, device_, cards),
        fault_{static_cast<FaultWords*>(faults_->device()), spinBoundMs_ * 1000000},
        window_(lease_.window()),
        ring_(lease_.ring()) {}

  ~CudaRunner() override {
    // Kernels that still run use what is freed next.
    try {
      device_.synchronize();
    } catch (const Error&) {  // the context is gone, and with it all memory
    }
  }

  int device() const override { return device_.ordinal(); }
  void abort() noexcept override { hostWord(&FaultWords::abort).store(1); }
  void check() const override;
  DeviceChoice choose(size_t count) const override;
  void allReduce(const void* send, void* recv, size_t count, rondoDataType_t type, rondoRedOp_t op,
                 rondoStream_t stream) override;
  void startEpochsAt(uint32_t value) override { lease_.setCounters(device_, value); }

 private:
  std::atomic_ref<uint32_t> hostWord(uint32_t FaultWords::*word) const {
    return std::atomic_ref<uint32_t>(static_cast<FaultWords*>(faults_->host())->*word);
  }
  int launch(const Kernel& kernel, const DeviceChoice& choice, const float* src, float* dst,
             rondoStream_t stream) const;

  const int rank_;
  const int size_;
  const uint64_t spinBoundMs_;
  const int lanesAtMost_;
  CudaDevice device_;
  const std::unique_ptr<PinnedMemory> faults_;
  DeviceLease lease_;
  const FaultView fault_;
  const WindowView window_;
  const RingView ring_;
};

void CudaRunner::check() const {
  if (hostWord(&FaultWords::abort).load(std::memory_order_relaxed) != 0) {
    throw Error(rondoRemoteError, "the communicator was aborted; its device kernels have ended");
  }
  if (hostWord(&FaultWords::error).load(std::memory_order_relaxed) != 0) {
    throw Error(rondoRemoteError,
                format("a device collective of rank %d of %d waited more than %llu ms "
                       "(RONDO_SPIN_BOUND_MS) for a peer and was given up",
                       rank_, size_, static_cast<unsigned long long>(spinBoundMs_)));
  }
}

DeviceChoice CudaRunner::choose(size_t count) const {
  const bool oneShot =
      size_ > 1 && size_ <= kMaxWindowRanks && count <= kOneShotBytes / sizeof(float);
  if (!oneShot) {
    return {"ring", ringGeometry(count, size_, std::min(kRingLanes, lanesAtMost_)), kBlockThreads};
  }
  const Geometry geometry = oneShotGeometry(count, std::min(kWindowLanes, lanesAtMost_));
  return {"oneshot", geometry, oneShotThreads(geometry)};
}

void CudaRunner::allReduce(const void* send, void* recv, size_t count, rondoDataType_t type,
                           rondoRedOp_t op, rondoStream_t stream) {
  check();
  if (count == 0) return;
  const DeviceChoice choice = choose(count);
  const Kernel* kernel = findKernel("allreduce", choice.algorithm, size_, type, op);
  if (kernel == nullptr) {
    throw Error(rondoUnsupported,
                format("rondoAllReduce: datatype %d (%s) with operator %d (%s) is not available on "
                       "device memory; available there: float32 with sum",
                       type, typeName(type), op, opName(op)));
  }
  for (const void* pointer : {send, static_cast<const void*>(recv)}) {
    if (reinterpret_cast<uintptr_t>(pointer) % sizeof(float) != 0) {
      throw Error(rondoInvalidArgument,
                  format("rondoAllReduce: %s is %p; allowed: addresses that are multiples of 4",
                         pointer == send ? "sendbuff" : "recvbuff", pointer));
    }
  }
  const ContextScope scope(device_.context());
  const int error =
      launch(*kernel, choice, static_cast<const float*>(send), static_cast<float*>(recv), stream);
  if (error != 0) {
    throw Error(
        rondoUnhandledCudaError,
        format("rondoAllReduce: launching the %s kernel on device %d: %s (%s)", choice.algorithm,
               device_.ordinal(), cudaErrorName(error), cudaErrorText(error)));
  }
}

int CudaRunner::launch(const Kernel& kernel, const DeviceChoice& choice, const float* src,
                       float* dst, rondoStream_t stream) const {
  const Cut cut = cutOf(choice.geometry);
  if (kernel.ranks != 0) {
    const WindowCall call{src, dst, rank_, cut, window_, fault_};
    return launchKernel(kernel, &call, choice.geometry.lanes, choice.threads, stream);
  }
  const RingCall call{src, dst, rank_, size_, cut, ring_, fault_};
  return launchKernel(kernel, &call, choice.geometry.lanes, choice.threads, stream);
}

// Differs between processes, also of different process id name spaces.
std::array<uint64_t, 2> processTag() {
  static const std::array<uint64_t, 2> tag = [] {
    std::random_device random;
    const auto word = [&] { return uint64_t{random()} << 32 | random(); };
    return std::array<uint64_t, 2>{word(), word()};
  }();
  return tag;
}

Opened openDevice(const DeviceConfig& config, DeviceCard* card) {
  if (config.device == RONDO_DEVICE_NONE) {
    throw Error(rondoUnsupported, "it was made without a device");
  }
  Opened opened;
  opened.device = std::make_unique<CudaDevice>(CudaDevice::open(config.device, config.localRank));
  const ContextScope scope(opened.device->context());
  card->device = opened.device->uuid();
  card->descriptors = !config.legacyIpc && opened.device->exportsDescriptors();
  const int error = loadKernels(&card->blocksAtOnce);
  if (error != 0) {
    throw Error(rondoUnhandledCudaError,
                format("loading the kernels on device %d: %s (%s)", opened.device->ordinal(),
                       cudaErrorName(error), cudaErrorText(error)));
  }
  opened.faults = std::make_unique<PinnedMemory>(*opened.device, sizeof(FaultWords));
  return opened;
}

// How many blocks of a kernel every rank's share of its device holds: ranks that share a device
// wait for each other, so their kernels must fit on it together.
int agreedLanes(const std::vector<DeviceCard>& cards) {
  int least = kRingLanes;
  for (const DeviceCard& card : cards) {
    const auto sharers = std::count_if(cards.begin(), cards.end(), [&](const DeviceCard& other) {
      return other.device == card.device;
    });
    least = std::min(least, card.blocksAtOnce / static_cast<int>(sharers));
  }
  return least;
}

}  // namespace

std::unique_ptr<DeviceRunner> createDeviceRunner(Bootstrap& boot, FdExchange* fds,
                                                 const std::vector<int>& peers,
                                                 const DeviceConfig& config, std::string* why) {
  DeviceCard mine{};
  mine.process = processTag();
  Opened opened;
  try {
    opened = openDevice(config, &mine);
  } catch (const Error& error) {
    mine.code = error.code();
    std::strncpy(mine.why.data(), error.what(), mine.why.size() - 1);
  }
  std::vector<DeviceCard> cards(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, cards.data());
  for (size_t r = 0; r < cards.size(); ++r) {
    if (cards[r].code == rondoSuccess) continue;
    *why = format("rank %zu has no device: %s", r, cards[r].why.data());
    if (cards[r].code == rondoInvalidArgument) throw Error(rondoInvalidArgument, *why);
    return nullptr;
  }
  const int lanes = agreedLanes(cards);
  if (lanes < 1) {
    *why =
        format("%d ranks share so few devices that their kernels do not fit together", boot.size());
    return nullptr;
  }
  try {
    return std::make_unique<CudaRunner>(boot, fds, peers, std::move(opened), cards, lanes,
                                        config.spinBoundMs);
  } catch (const Error& error) {
    if (error.code() != rondoUnhandledCudaError) throw;
    *why = error.sentence();  // agreed: the same on all ranks
    return nullptr;
  }
}

}  // namespace rondo

#else

namespace rondo {

std::unique_ptr<DeviceRunner> createDeviceRunner(Bootstrap&, FdExchange*, const std::vector<int>&,
                                                 const DeviceConfig&, std::string* why) {
  *why = "this build of Rondo has no CUDA kernels";
  return nullptr;
}

}  // namespace rondo

#endif  // HAVE_CUDA

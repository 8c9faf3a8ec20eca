#include "coll/far_runner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "api/types.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/device_in_place.h"
#include "coll/device_order.h"
#include "coll/device_scaled.h"
#include "coll/far_thread.h"

namespace rondo {
namespace {

/// A collective of so few bytes is put in and taken out by one block of threads: there is nothing
/// to gain by more, and each polls across PCIe.
constexpr uint64_t kBytesPerBlock = 16u << 10;
/// At an end, for what is still under way.
constexpr std::chrono::microseconds kBetweenLooks{20};

int32_t slotsOf(Slots used, int ranks) {
  return used == Slots::None ? 0 : used == Slots::All ? ranks : 1;
}

std::vector<bool> farRanks(const Communicator& comm) {
  std::vector<bool> far(static_cast<size_t>(comm.place().size));
  for (int r = 0; r < comm.place().size; ++r) {
    far[static_cast<size_t>(r)] = comm.channels().isFar(r);
  }
  return far;
}

/// The slot that a rank gets from itself, and copies within its memory; -1: none, or short enough
/// to come back with the others.
int32_t ownSlot(const FarCall& call, int rank) {
  switch (static_cast<Collective>(call.collective)) {
    case Collective::Broadcast:
      return call.root == rank ? 0 : -1;
    case Collective::AllGather:
    case Collective::AllToAll:
      return call.outLines == 0 ? rank : -1;
    default:
      return -1;
  }
}

/// What goes to whom: all ranks, or those of a rail.
struct FarRoute {
  int rank, ranks;
  uint64_t stride;  ///< As FarCall has it.
  bool onRail;
};

class CarriedRunner final : public FarRunner {
 public:
  CarriedRunner(std::unique_ptr<FarDevice> device, std::vector<FarCarriers> carriers,
                const DeviceConfig& config, uint64_t serial, bool zeroCopies)
      : serial_(serial),
        place_(carriers.front().all->place()),
        facts_(carriers.front().all->facts()),
        rail_(carriers.front().rail ? carriers.front().rail->place() : RankPlace{}),
        zeroCopies_(zeroCopies ? farRanks(*carriers.front().pieces)
                               : std::vector<bool>(place_.size)),
        spinBoundMs_(config.spinBoundMs),
        device_(std::move(device)),
        staging_(place_.size, static_cast<int>(carriers.size())),
        memory_(device_->pinned(staging_.bytes())),
        counters_(device_->counters(staging_.counterWords())),
        fault_{
            staging_.faults(memory_.device), spinBoundMs_ * 1'000'000,
            reinterpret_cast<FaultLook*>(device_->counters(sizeof(FaultLook) / sizeof(uint32_t)))},
        view_(staging_.view(memory_.device, counters_)),
        desk_(std::make_shared<FarDesk>(
            std::move(carriers), staging_.view(memory_.host, nullptr),
            staging_.pairs(memory_.host, nullptr), staging_.faults(memory_.host),
            FarZeroCopy{device_->memoryKind(), [this] { device_->settleCardWrites(); }})) {
    call_.view = staging_.pairs(memory_.device, counters_);
    call_.fault = fault_;
    call_.zeroCopyFrom = kLeastZeroCopy;
    call_.zeroCopyPiece = kZeroCopyPiece;
    queues_.resize(static_cast<size_t>(farQueues(place_.size)));
    desk_->keep(memory_.owner);
    // All of them first: who has the desk reads memory that is gone if another cannot be started.
    for (int lane = 0; lane < desk_->lanes(); ++lane) threads_.push_back(&FarThread::of(lane));
    for (FarThread* thread : threads_) thread->add(desk_);
  }

  ~CarriedRunner() override {
    // Kernels that still run need the desk, and use what is freed next.
    try {
      device_->synchronize();
    } catch (const Error&) {  // the context is gone, and with it all memory
    }
    settle();
    desk_->onFailure(nullptr);
    for (FarThread* thread : threads_) thread->remove(*desk_);
    desk_->close();
    desk_.reset();
  }

  int device() const override { return device_->ordinal(); }
  DeviceServed run(const DeviceCall& call) override;
  void exchange(const char* name, std::span<const Transfer> transfers,
                std::span<const rondoStream_t> streams) override;
  void exchangeInPlace(const char* name, std::span<const Transfer> transfers,
                       rondoStream_t stream) override {
    runInPlace(name, transfers, place_.rank, stream, *device_, [&](std::span<const Transfer> part) {
      exchange(name, part, {&stream, 1});
    });
  }
  void order(rondoStream_t first, rondoStream_t later) override {
    device_->order("rondoGroupEnd", first, later);
  }
  uint64_t serial() const override { return serial_; }
  void check() const override;
  void abort() noexcept override { desk_->abort(); }
  bool captures(rondoStream_t stream) const override { return device_->captures(stream); }
  DeviceChoice choose(const DeviceRequest&) const override {
    DeviceChoice choice{};
    choice.algorithm = "host";  // that of host memory, chosen there
    return choice;
  }
  void startEpochsAt(uint32_t value) override {
    device_->setCounters(counters_, value, staging_.counterWords());
    desk_->startAt(value);
  }
  void onFailure(const std::function<void(rondoResult_t)>& call) override {
    desk_->onFailure(call);
  }
  std::string failure(rondoResult_t* code) const override {
    const FarFailure failure = desk_->failure();
    *code = failure.code;
    return failure.what;
  }
  void runOnRail(const DeviceCall& call, uint64_t stride) override {
    check();
    launchCall(call, {rail_.rank, rail_.size, stride, true});
  }
  void checkRailsBy(const std::function<void()>& check) override { desk_->checkRailsBy(check); }
  void* allocate(const DeviceCall& call, uint64_t bytes) override {
    return device_->allocate(call, bytes);
  }
  void release(const DeviceCall& call, void* memory) override { device_->release(call, memory); }
  void beside(const char* name, rondoStream_t stream,
              const std::function<void(rondoStream_t)>& branch,
              const std::function<void()>& main) override {
    device_->beside(name, stream, branch, main);
  }
  const CommFacts& facts() const override { return facts_; }
  int lanes() const override { return desk_->lanes(); }

 private:
  void settle();
  void launchCall(const DeviceCall& call, const FarRoute& route);
  void launchAround(const char* name, std::span<const Transfer> transfers, rondoStream_t stream);
  void copySelf(const char* name, std::span<const Transfer> transfers, rondoStream_t stream);
  void launchCollected(const char* name, rondoStream_t stream);
  void launched(rondoStream_t stream, uint64_t rings);

  const uint64_t serial_;
  const RankPlace place_;
  const CommFacts facts_;
  const RankPlace rail_;                // of one rank: there is none
  const std::vector<bool> zeroCopies_;  // by rank: long transfers go by the network itself
  const uint64_t spinBoundMs_;
  const std::unique_ptr<FarDevice> device_;
  const FarStaging staging_;
  const FarDevice::Memory memory_;
  uint32_t* const counters_;
  const FaultView fault_;
  const FarView view_;
  std::shared_ptr<FarDesk> desk_;
  std::vector<FarThread*> threads_;            // of its lanes
  FarExchangeCall call_{};                     // of the launch that is collected
  std::vector<std::vector<FarPiece>> queues_;  // as in FarPairView
};

/// What kernels gave and did not wait for must reach the others.
void CarriedRunner::settle() {
  using Clock = std::chrono::steady_clock;
  const auto bound = std::chrono::milliseconds(spinBoundMs_);
  const auto start = Clock::now();
  while (!desk_->settled()) {
    if (spinBoundMs_ != 0 && Clock::now() - start > bound) {
      std::fprintf(stderr,
                   "rondo: warning: rank %d of %d ends its communicator, but others have not taken "
                   "what it gave within %llu ms (RONDO_SPIN_BOUND_MS); they do not get it\n",
                   place_.rank, place_.size, static_cast<unsigned long long>(spinBoundMs_));
      return;
    }
    for (FarThread* thread : threads_) thread->wake();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

/// What the desk found counts once the communicator knows, which comes before kernels end: until
/// then the cause that ends it may be another rank's.
void CarriedRunner::check() const {
  const auto word = [&](uint32_t FaultWords::*which) {
    return std::atomic_ref<uint32_t>(staging_.faults(memory_.host)->*which).load();
  };
  if (word(&FaultWords::abort) != 0) {
    const FarFailure failure = desk_->failure();
    if (!failure.what.empty()) throw Error(failure.code, failure.what);
    throw Error(rondoRemoteError, "the communicator was aborted; its device kernels have ended");
  }
  if (word(&FaultWords::error) != 0) {
    throw Error(rondoRemoteError,
                format("a device collective of rank %d of %d waited more than %llu ms "
                       "(RONDO_SPIN_BOUND_MS) for a peer and was given up",
                       place_.rank, place_.size, static_cast<unsigned long long>(spinBoundMs_)));
  }
}

void CarriedRunner::launched(rondoStream_t stream, uint64_t rings) {
  if (!desk_->expectsReplays()) {
    if (device_->captures(stream)) {
      desk_->expectReplays();
    } else {
      desk_->expect(rings);
    }
  }
  for (FarThread* thread : threads_) thread->wake();
}

DeviceServed CarriedRunner::run(const DeviceCall& call) {
  check();
  if (call.count == 0) return {};
  if (call.scaled != nullptr) {
    return runScaledSum(call, place_, *device_, [this](const DeviceCall& sum) { return run(sum); });
  }
  launchCall(call, {place_.rank, place_.size, call.count, false});
  return {DeviceWay::kHost};
}

void CarriedRunner::launchCall(const DeviceCall& call, const FarRoute& route) {
  const uint64_t element = typeSize(call.type);
  const uint64_t slots = hasSlots(call.collective) ? static_cast<uint64_t>(route.ranks) : 1;
  if (slots * element > kFarSlotBytes) {
    throw Error(
        rondoUnsupported,
        format("%s: device memory with %d ranks on several hosts is not available; allowed "
               "there: at most %llu ranks",
               call.name, route.ranks, static_cast<unsigned long long>(kFarSlotBytes / element)));
  }
  const SlotUse use = slotUse(call.collective, route.rank, call.root);
  FarCall far{};
  far.src = static_cast<const unsigned char*>(call.send);
  far.dst = static_cast<unsigned char*>(call.recv);
  far.count = call.count;
  far.chunk = farChunk(call.collective, call.count, element, route.ranks, desk_->lanes());
  far.stride = route.stride;
  far.elementBytes = static_cast<uint32_t>(element);
  far.srcSlots = slotsOf(use.src, route.ranks);
  far.dstSlots = slotsOf(use.dst, route.ranks);
  far.collective = static_cast<int32_t>(call.collective);
  far.type = call.type;
  far.op = isReduction(call.collective) ? static_cast<int32_t>(call.op) : 0;
  far.root = isRooted(call.collective) ? call.root : 0;
  far.onRail = route.onRail ? 1 : 0;
  far.name = call.name;
  far.view = view_;
  far.fault = fault_;
  const FarLined slot{1, std::min(far.chunk, far.count) * element, 0};
  const auto fits = [&](int32_t number) {
    return slot.perSlot() * static_cast<uint64_t>(number) <= kMostFarLines ? 1u : 0u;
  };
  far.inLines = fits(far.srcSlots);
  far.outLines = fits(far.dstSlots);
  far.own = ownSlot(far, route.rank);
  const uint64_t wanted = (std::min(far.chunk, far.count) * slots * element - 1) / kBytesPerBlock;
  const auto most =
      static_cast<uint64_t>(far.inLines != 0 && far.outLines != 0 ? 1 : device_->blocks());
  const auto blocks = static_cast<int>(std::min(wanted + 1, most));
  const uint64_t chunks = (call.count + far.chunk - 1) / far.chunk;
  if (blocks > 1 && chunks > kFarSlots) far.inLines = 0;
  device_->launch(far, blocks, call.stream);
  launched(call.stream, chunks);
}

void CarriedRunner::exchange(const char* name, std::span<const Transfer> transfers,
                             std::span<const rondoStream_t> streams) {
  check();
  for (const rondoStream_t other : streams.subspan(1)) {
    // One that is not captured yet joins the capture behind the launch.
    if (captures(streams[0]) && !captures(other)) continue;
    device_->order(name, other, streams[0]);
  }
  launchAround(name, transfers, streams[0]);
  for (const rondoStream_t other : streams.subspan(1)) device_->order(name, streams[0], other);
}

/// To and from the other ranks by kernels, within this one by copies.
void CarriedRunner::launchAround(const char* name, std::span<const Transfer> transfers,
                                 rondoStream_t stream) {
  for (auto& queue : queues_) queue.clear();
  const int n = place_.size;
  size_t longest = 0;
  for (const Transfer& t : transfers) {
    if (t.bytes == 0 || t.peer == place_.rank) continue;
    const int away = t.sends ? t.peer - place_.rank : place_.rank - t.peer;
    auto& queue = queues_[static_cast<size_t>(2 * ((away + n) % n - 1) + (t.sends ? 0 : 1))];
    queue.push_back({reinterpret_cast<unsigned char*>(t.data), t.bytes});
    longest = std::max(longest, queue.size());
  }
  copySelf(name, transfers, stream);
  const auto most = static_cast<size_t>(mostPerFarQueue(n));
  for (size_t begin = 0; begin < longest; begin += most) {
    call_.queues = 0;
    int pieces = 0;
    for (size_t index = 0; index < queues_.size(); ++index) {
      const std::vector<FarPiece>& all = queues_[index];
      const size_t first = std::min(begin, all.size()), last = std::min(begin + most, all.size());
      if (first == last) continue;
      if (endsFarLaunchBefore(index, call_.queues)) {
        launchCollected(name, stream);
        pieces = 0;
      }
      FarQueue& queue = call_.queue[call_.queues++];
      const auto peer = static_cast<size_t>(farPeer(index, place_.rank, n));
      queue = {static_cast<int32_t>(index), pieces, pieces, zeroCopies_[peer] ? 1 : 0};
      for (size_t i = first; i < last; ++i) call_.piece[queue.end++] = all[i];
      pieces = queue.end;
    }
    launchCollected(name, stream);
  }
}

void CarriedRunner::launchCollected(const char* name, rondoStream_t stream) {
  if (call_.queues == 0) return;
  uint64_t rings = 0, lanes = 1;
  for (int q = 0; q < call_.queues; ++q) {
    for (int i = call_.queue[q].begin; i < call_.queue[q].end; ++i) {
      const FarCut cut = farCut(call_, call_.queue[q], i);
      const uint64_t pieces = farPieces(cut, call_.piece[i].bytes);
      rings += pieces;
      lanes = std::max(lanes, std::min(pieces, static_cast<uint64_t>(cut.lanes)));
    }
  }
  call_.lanes = static_cast<int32_t>(lanes);
  device_->launch(name, call_, std::min(call_.queues * call_.lanes, device_->blocks()), stream);
  launched(stream, rings);
  call_.queues = 0;
}

/// Sends of this rank to itself meet the receives of the same place in order.
void CarriedRunner::copySelf(const char* name, std::span<const Transfer> transfers,
                             rondoStream_t stream) {
  size_t receive = 0;
  for (const Transfer& send : transfers) {
    if (send.peer != place_.rank || !send.sends) continue;
    while (transfers[receive].peer != place_.rank || transfers[receive].sends) ++receive;
    char* const to = transfers[receive++].data;
    if (send.bytes > 0 && to != send.data) {
      device_->copy(name, to, send.data, send.bytes, stream);
    }
  }
}

}  // namespace

int farLanes(int processorsPerRank) {
  return processorsPerRank >= 8 ? 4 : processorsPerRank >= 4 ? 2 : 1;
}

std::unique_ptr<FarRunner> createFarRunner(Bootstrap& boot, const DeviceConfig& config,
                                           const FarMakers& makers, int lanes, std::string* why) {
  std::optional<OpenedFar> opened = openFarTogether(boot, makers.open, why);
  if (!opened) return nullptr;
  std::vector<FarCarriers> carriers;
  for (int lane = 0; lane < lanes; ++lane) {
    carriers.push_back({makers.makeCarrier(lane), makers.makeCarrier(lane), nullptr});
  }
  Communicator& first = *carriers.front().pieces;
  if (makers.makeRails) {
    auto rails = makers.makeRails(first, lanes, *opened);
    for (size_t lane = 0; lane < rails.size(); ++lane) carriers[lane].rail = std::move(rails[lane]);
  }
  const bool zeroCopies = allZeroCopy(boot, first, *opened->device, config.zeroCopy);
  std::unique_ptr<FarRunner> runner;
  const bool made = agreedForFar(boot, why, [&] {
    runner = std::make_unique<CarriedRunner>(std::move(opened->device), std::move(carriers), config,
                                             opened->serial, zeroCopies);
  });
  return made ? std::move(runner) : nullptr;
}

}  // namespace rondo

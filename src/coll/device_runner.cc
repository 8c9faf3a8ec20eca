#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "coll/device_runner.h"

#ifdef HAVE_CUDA

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "api/types.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/close_launch.h"
#include "coll/device_awaits.h"
#include "coll/device_budget.h"
#include "coll/device_choices.h"
#include "coll/device_copies.h"
#include "coll/device_error.h"
#include "coll/device_exchange.h"
#include "coll/device_faults.h"
#include "coll/device_joint.h"
#include "coll/device_lease.h"
#include "coll/device_open.h"
#include "coll/device_request.h"
#include "coll/device_scaled.h"
#include "coll/straight_rings.h"
#include "coll/stream_order.h"
#include "coll/stream_pool.h"
#include "coll/user_memory.h"
#include "kernels/direct_call.h"
#include "kernels/launch.h"
#include "kernels/scale.h"
#include "p2p/agree_on.h"

namespace rondo {
namespace {

class CudaRunner : public DeviceRunner, public MemoryRegistry, private DeviceCopies::Kernels {
 public:
  CudaRunner(const RankPlace& place, OpenedDevice opened, std::unique_ptr<DeviceLease> lease,
             const std::vector<DeviceCard>& cards, int lanesAtMost, const DeviceConfig& config)
      : serial_(agreedSerial(cards)),
        rank_(place.rank),
        size_(place.size),
        shown_(config.shownRank < 0 ? ShownRank{place.rank, place.size}
                                    : ShownRank{config.shownRank, config.shownSize}),
        explain_(config.explain && place.rank == 0),
        tune_(config.tune),
        close_(config.dependentLaunch, opened.launchesClose, lanesAtMost,
               config.closeAlways ? nullptr : &DeviceBudget::users(opened.device->ordinal())),
        device_(std::move(*opened.device)),
        sharesContext_(sharesContext(cards, rank_)),
        faults_(std::move(opened.faults), config.spinBoundMs, shown_),
        budget_(std::move(opened.budget)),
        lease_(std::move(lease)),
        facts_{size_,
               lanesAtMost,
               lease_->lineStores(),
               lease_->shape().windowLL,
               lease_->shape().windowLL128,
               lease_->shape().ringLanes,
               !lease_->onHost() && mayGoStraight(cards),
               lease_->onHost() ? config.costs.throughHost() : config.costs,
               agreedClose(cards),
               lease_->shape().pairLanes},
        fault_(faults_.view(lease_->faultLook())),
        windowLL_(lease_->windowLL()),
        windowLL128_(lease_->windowLL128()),
        helloLL_(lease_->hello(Protocol::kLL)),
        helloLL128_(lease_->hello(Protocol::kLL128)),
        ring_(lease_->ring()),
        exchange_(lease_->pairs(), lease_->direct(), memory_, fault_, rank_, size_, lanesAtMost,
                  &close_),
        passOn_(config.inLevels ? std::make_unique<DeviceExchange>(
                                      lease_->passOnPairs(), lease_->passOnDirect(), memory_,
                                      fault_, rank_, size_, lanesAtMost, &close_)
                                : nullptr),
        memory_(device_, cards, rank_, !lease_->onHost(),
                {config.noBackground, config.registerBytes, [this] { return faults_.healthy(); }}),
        straightRings_(memory_, rank_, size_),
        awaits_(device_, faults_, shown_),
        copies_(lease_->meeting(), fault_, rank_, {device_, memory_, facts_, tune_, *this},
                std::all_of(cards.begin(), cards.end(),
                            [](const DeviceCard& card) { return card.noSms != 0; })),
        streams_(device_, close_) {
    const ContextScope scope(device_.context());
    streams_.make();
    pool_.make();
  }

  ~CudaRunner() override {
    if (exchange_.asked() > 0) sayStraight();
    awaits_.say();
    endsAlone_.emplace();
    // Kernels that still run use what is freed next.
    try {
      if (faults_.healthy()) awaits_.leave();
      device_.synchronize(whileWaiting(device_, sharesContext_));
      const ContextScope scope(device_.context());
      pool_.free();
      streams_.free();
      copies_.free();
    } catch (const Error&) {  // the context is gone, and all that is in it
    }
  }

  int device() const override { return device_.ordinal(); }
  bool throughHost() const override { return lease_->onHost(); }
  const DeviceFacts* deviceFacts() const override { return &facts_; }
  void abort() noexcept override { faults_.abort(); }
  bool gaveUp() override;
  bool gaveUpSoFar() const override { return faults_.gaveUp(); }
  std::chrono::milliseconds takeLongWait() noexcept override { return faults_.takeLongWait(); }
  bool captures(rondoStream_t stream) const override { return streamCaptures(stream); }
  void check() const override { faults_.check(); }
  DeviceChoice choose(const DeviceRequest& request) const override {
    return chooseDevice(request, facts_, tune_);
  }
  bool byTransfers(const DeviceRequest& request) override {
    return remembered(request).choice.byTransfers;
  }
  bool runsRooted() const override { return copies_.servesRooted(); }
  DeviceServed run(const DeviceCall& call) override;
  bool awaitNext(std::chrono::nanoseconds linger) override { return awaits_.next(linger); }
  Awaited awaited() override { return awaits_.awaited(); }
  uint64_t handedOver() const override { return awaits_.handedOver(); }
  size_t joins(std::span<const DeviceCall> calls) override;
  DeviceServed runJoint(std::span<const DeviceCall> calls) override;
  Joined wouldJoin(std::span<const DeviceCall> calls) const override {
    const JointChoice joint =
        jointOf(calls, [this](const DeviceRequest& alone) { return choose(alone).picoseconds; });
    return {static_cast<size_t>(joint.calls), joint.picoseconds};
  }
  void exchange(const char* name, std::span<const Transfer> transfers,
                std::span<const rondoStream_t> streams) override;
  void passOn(const char* name, std::span<const Transfer> transfers, rondoStream_t stream) override;
  void exchangeInPlace(const char* name, std::span<const Transfer> transfers,
                       rondoStream_t stream) override;
  void order(rondoStream_t first, rondoStream_t later) override {
    const ContextScope scope(device_.context());
    streams_.order(first, later);
  }
  uint64_t serial() const override { return serial_; }
  void startEpochsAt(uint32_t value) override { lease_->setCounters(device_, value); }
  uint64_t addMemory(Bootstrap& boot, void* memory, size_t bytes, MemoryUse use) override;
  void removeMemory(Bootstrap& boot, uint64_t number) override {
    const CapturesAlone alone;
    memory_.remove(boot, number);
  }
  void removeWindow(uint64_t number) override {
    const CapturesAlone alone;
    const ContextScope scope(device_.context());
    memory_.removeWindow(number);
  }
  Held heldMemory() const override {
    return memory_.held(
        {.straight = exchange_.straight() + straightRings_.calls(), .copied = copies_.calls()});
  }
  void useMemoryFrom(uint64_t straight, uint64_t copied) override {
    exchange_.straightFrom(straight);
    straightRings_.startFrom(straight);
    copies_.startFrom(copied);
  }

  void meetNeighbours(Bootstrap& boot) { memory_.meetNeighbours(boot); }

  // For runScaledSum().
  void multiply(const DeviceCall& call, void* into, uint64_t count) const;
  void* allocate(const DeviceCall& call, uint64_t bytes) const;
  void release(const DeviceCall& call, void* memory) const;

 private:
  struct Chosen {
    DeviceChoice choice;
    DeviceServed served;
  };
  const Chosen& remembered(const DeviceRequest& request);
  JointChoice jointOf(std::span<const DeviceCall> calls,
                      const std::function<uint64_t(const DeviceRequest&)>& alone) const;
  void sayStraight() const {
    logLine(LogPart::Device, LogLevel::Info, shown_.rank, [&] {
      return format(
          "%llu receives outside graphs were long enough to go straight into their buffers; %llu, "
          "those of graphs among them, were offered to their senders",
          static_cast<unsigned long long>(exchange_.asked()),
          static_cast<unsigned long long>(exchange_.straight()));
    });
  }
  CallArgs argumentsOf(const DeviceCall& call, const DeviceChoice& choice) const;
  int launch(const DeviceCall& call, const DeviceChoice& choice);
  bool stands(const DeviceCall& call, uint64_t lingerNs, DeviceServed* served);
  DeviceServed runScaled(const DeviceCall& call);
  DeviceServed copyAlone(const DeviceCall& call) const;
  DeviceServed runStraight(const DeviceCall& call);
  uint64_t timeByKernel(const DeviceRequest& request) override;
  void runByKernel(const DeviceCall& call) override;
  [[noreturn]] void refuse(const DeviceCall& call) const;
  void check(const char* name, rondoStream_t stream) {
    awaits_.takeLinger();
    check();
    checkStream(device_, name, stream);
    awaits_.leave();
  }

  std::optional<CapturesAlone> endsAlone_;  // of the destructor; the first here, so the last to go
  const uint64_t serial_;
  const int rank_;
  const int size_;
  const ShownRank shown_;
  const bool explain_;
  const std::vector<TuneRule> tune_;
  CloseLaunch close_;
  CudaDevice device_;
  const bool sharesContext_;
  DeviceFaults faults_;
  const DeviceBudget budget_;
  const std::unique_ptr<DeviceLease> lease_;
  const DeviceFacts facts_;
  const FaultView fault_;
  const WindowView windowLL_;
  const WindowView windowLL128_;
  const HelloView helloLL_;
  const HelloView helloLL128_;
  const RingView ring_;
  DeviceExchange exchange_;
  const std::unique_ptr<DeviceExchange> passOn_;  // nullptr: not of levels
  UserMemory memory_;
  StraightRings straightRings_;
  DeviceAwaits awaits_;
  DeviceCopies copies_;
  StreamOrder streams_;
  StreamPool pool_;
  std::vector<Transfer> transfers_;  // of runStraight()
  JointChoice joint_;                // of the last joins()
  std::set<std::string> said_;       // of joint ones, by explain_
  DeviceChoices<Chosen> choices_;
};

uint64_t CudaRunner::addMemory(Bootstrap& boot, void* memory, size_t bytes, MemoryUse use) {
  const CapturesAlone alone;
  const ContextScope scope(device_.context());
  const int error = copies_.prepare();
  boot.agree(error == 0 ? rondoSuccess : rondoUnhandledCudaError,
             error == 0 ? "" : format("making a stream: %s", cudaErrorText(error)));
  copies_.prepared();
  return memory_.add(boot, memory, bytes, use);
}

const CudaRunner::Chosen& CudaRunner::remembered(const DeviceRequest& request) {
  return choices_.find(request, [this](const DeviceRequest& wanted) {
    if (explain_) std::fputs(explainDevice(wanted, facts_, tune_).c_str(), stderr);
    const DeviceChoice choice = choose(wanted);
    return Chosen{choice, servedBy(wanted.collective, choice)};
  });
}

void CudaRunner::refuse(const DeviceCall& call) const {
  throw Error(
      rondoUnsupported,
      format(
          "%s: rank %d: device memory with %d ranks is not available in place; allowed there: at "
          "most %d ranks, or two buffers and at most %d (reductions, scans, rondoAllGather and "
          "rondoBroadcast: any)",
          call.name, rank_, size_, kMaxWindowRanks, kMaxPairRanks));
}

DeviceServed CudaRunner::runScaled(const DeviceCall& call) {
  const ContextScope scope(device_.context());
  return runScaledSum(call, {rank_, size_, 0, size_}, *this,
                      [this](const DeviceCall& sum) { return run(sum); });
}

void CudaRunner::multiply(const DeviceCall& call, void* into, uint64_t count) const {
  throwCuda(device_, call.name, "launching the kernel that multiplies",
            multiplyOnDevice(call, into, count));
}

// With one rank every collective is a copy of one slot, reductions too: the driver's copy has all
// of the device to itself, and a kernel of ours would have its lanes.
DeviceServed CudaRunner::copyAlone(const DeviceCall& call) const {
  if (call.send == call.recv || call.collective == Collective::Exscan) return {};
  throwCuda(device_, call.name, "enqueueing a copy",
            copyOnStream(call.recv, call.send, call.count * typeSize(call.type), call.stream));
  return {DeviceWay::kOneCopy};
}

void* CudaRunner::allocate(const DeviceCall& call, uint64_t bytes) const {
  void* memory = nullptr;
  throwCuda(device_, call.name, "memory for the products",
            pool_.allocate(&memory, bytes, call.stream));
  return memory;
}

void CudaRunner::release(const DeviceCall& call, void* memory) const {
  throwCuda(device_, call.name, "freeing the products", freeOnStream(memory, call.stream));
}

/// As sends and receives.
DeviceServed CudaRunner::runStraight(const DeviceCall& call) {
  exchange_.checkAvailable(call.name);
  asTransfers(call, rank_, size_, &transfers_);
  throwCuda(device_, call.name, "launching its sends and receives",
            exchange_.enqueue(transfers_, call.stream));
  return {DeviceWay::kTransfers};
}

std::string launching(const DeviceCall& call, const DeviceChoice& choice) {
  return format("%s: launching the %s kernel", call.name, choice.algorithm);
}

bool CudaRunner::gaveUp() {
  try {
    device_.synchronize(whileWaiting(device_, sharesContext_));
  } catch (const Error&) {  // nobody will know
    return true;
  }
  return faults_.gaveUp();
}

uint64_t CudaRunner::timeByKernel(const DeviceRequest& request) {
  return remembered(request).choice.picoseconds;
}

void CudaRunner::runByKernel(const DeviceCall& call) {
  const DeviceChoice choice = remembered(requestOf(call, size_)).choice;
  if (const int error = launch(call, choice); error != 0)
    throwCuda(device_, launching(call, choice), error);
}

/// Whether a kernel that waits for calls has it.
bool CudaRunner::stands(const DeviceCall& call, uint64_t lingerNs, DeviceServed* served) {
  if (call.count == 0 || size_ == 1 || call.scaled != nullptr) return false;
  checkDeviceCall(call, rank_);
  const Chosen& chosen = remembered(requestOf(call, size_));
  const DeviceChoice& choice = chosen.choice;
  if (choice.algorithm == nullptr || choice.kernel->standing == nullptr ||
      streamCaptures(call.stream)) {
    awaits_.fails();
    return false;
  }
  const StandingWork work{
      choice.kernel,
      {choice.protocol == Protocol::kLL ? windowLL_ : windowLL128_, argumentsOf(call, choice)},
      choice.geometry.lanes,
      choice.threads,
      call.stream};
  int error = 0;
  if (!awaits_.begin(work, lingerNs, &error)) return false;
  if (error != 0) throwCuda(device_, launching(call, choice), error);
  *served = chosen.served;
  return true;
}

DeviceServed CudaRunner::run(const DeviceCall& call) {
  const uint64_t lingerNs = awaits_.takeLinger();
  check();
  checkStream(device_, call.name, call.stream);
  DeviceServed served;
  if (lingerNs != 0 && stands(call, lingerNs, &served)) return served;
  awaits_.leave();
  if (call.count == 0) return {};
  const DeviceRequest wanted = requestOf(call, size_);
  if (call.scaled != nullptr && wanted.reduces != Reduces::kScaled) return runScaled(call);
  checkDeviceCall(call, rank_);
  const ContextScope scope(device_.context());
  if (size_ == 1) return copyAlone(call);
  if (copies_.serve(call)) return {DeviceWay::kCopyEngines};
  if (becomesTransfers(call.collective)) return runStraight(call);
  const Chosen& chosen = remembered(wanted);
  const DeviceChoice& choice = chosen.choice;
  if (choice.algorithm == nullptr) refuse(call);
  if (choice.straight != 0 && call.send != call.recv) return runStraight(call);
  if (const int error = launch(call, choice); error != 0)
    throwCuda(device_, launching(call, choice), error);
  return chosen.served;
}

JointChoice CudaRunner::jointOf(std::span<const DeviceCall> calls,
                                const std::function<uint64_t(const DeviceRequest&)>& alone) const {
  // Copy engines that are to do all they can are asked first.
  if (calls.size() < 2 || copies_.alone()) return {};
  std::array<DeviceRequest, kMostJoined> requests;
  const size_t most = std::min(calls.size(), requests.size());
  size_t known = 0;
  for (; known < most && calls[known].scaled == nullptr; ++known) {
    requests[known] = requestOf(calls[known], size_);
    if (!joinable(requests[0], requests[known])) break;  // each call of a group is asked
  }
  return chooseJoint({requests.data(), known}, facts_, tune_, alone);
}

size_t CudaRunner::joins(std::span<const DeviceCall> calls) {
  joint_ = jointOf(
      calls, [this](const DeviceRequest& alone) { return remembered(alone).choice.picoseconds; });
  if (explain_ && joint_.calls > 0) {
    const std::string line = explainJoint(joint_);
    if (said_.insert(line).second) std::fputs(line.c_str(), stderr);
  }
  return static_cast<size_t>(joint_.calls);
}

DeviceServed CudaRunner::runJoint(std::span<const DeviceCall> calls) {
  check(calls.front().name, calls.front().stream);
  for (const DeviceCall& call : calls) checkDeviceCall(call, rank_);
  const JointChoice& choice = joint_;
  const ContextScope scope(device_.context());
  JointWindowCall joint =
      jointCall(choice, calls, choice.protocol == Protocol::kLL ? windowLL_ : windowLL128_, fault_,
                rank_, size_);
  const char* const name = calls.front().name;
  streams_.around(name, calls, false);
  const rondoStream_t stream = calls.front().stream;
  const auto launchNow = [&](size_t some) {
    const int blocks = static_cast<int>(some) * choice.lanes;
    const CloseLaunch::Manner manner = close_.next(blocks, stream);
    joint.args.close = manner.ofCall();
    throwCuda(device_, name, "launching the kernel of several calls",
              launchKernel(*choice.kernel, &joint, blocks, choice.threads, stream,
                           close_.launching(manner)));
    close_.launched(manner, stream, joint, joint.args.close);
  };
  if (!touchEachOther(calls, size_)) {
    launchNow(calls.size());
  } else {
    for (size_t i = 0; i < calls.size(); ++i) {
      joint.firstLane = static_cast<int32_t>(i) * choice.lanes;
      joint.item[0] = joint.item[i];
      launchNow(1);
    }
  }
  streams_.around(name, calls, true);
  return servedBy(calls.front().collective, choice.asAlone());
}

void CudaRunner::exchangeInPlace(const char* name, std::span<const Transfer> transfers,
                                 rondoStream_t stream) {
  check(name, stream);
  exchange_.checkAvailable(name);
  const ContextScope scope(device_.context());
  throwCuda(device_, name, "enqueueing sends and receives in place",
            exchange_.enqueueInPlace(transfers, pool_, stream));
}

void CudaRunner::exchange(const char* name, std::span<const Transfer> transfers,
                          std::span<const rondoStream_t> streams) {
  for (const rondoStream_t stream : streams) check(name, stream);
  exchange_.checkAvailable(name);
  const ContextScope scope(device_.context());
  for (const rondoStream_t other : streams.subspan(1))
    streams_.around(name, streams[0], other, false);
  throwCuda(device_, name, "launching sends and receives",
            exchange_.enqueue(transfers, streams[0]));
  for (const rondoStream_t other : streams.subspan(1))
    streams_.around(name, streams[0], other, true);
}

void CudaRunner::passOn(const char* name, std::span<const Transfer> transfers,
                        rondoStream_t stream) {
  check(name, stream);
  passOn_->checkAvailable(name);
  const ContextScope scope(device_.context());
  throwCuda(device_, name, "launching its sends and receives", passOn_->enqueue(transfers, stream));
}

CallArgs CudaRunner::argumentsOf(const DeviceCall& call, const DeviceChoice& choice) const {
  const uint64_t slot = call.count * typeSize(call.type);
  const SlotUse use = slotUse(call.collective, rank_, call.root);
  const uint32_t divisor = call.op == rondoAvg ? static_cast<uint32_t>(size_) : 0;
  return {static_cast<const unsigned char*>(call.send),
          static_cast<unsigned char*>(call.recv),
          rank_,
          size_,
          static_cast<uint32_t>(typeSize(call.type)),
          call.root,
          Reduction{call.type, call.scaled != nullptr ? rondoSum : call.op, divisor},
          0,
          cutOf(choice.geometry),
          fault_,
          use.src == Slots::All ? slot : 0,
          use.dst == Slots::All ? slot : 0,
          scaleOf(call)};
}

/// How many slots a ring's lane may be ahead of what is announced: a block, as the next one waits
/// for another rank anyway, and where all ranks pass on a long message what keeps the links full (4
/// x H200, 2026-11: docs/tried.md).
uint32_t aheadOf(const DeviceCall& call, const CallArgs& args) {
  constexpr uint32_t kPipeSlots = 5;
  if (isRooted(call.collective) || isScan(call.collective)) return kPipeSlots;
  const auto slices = static_cast<uint32_t>(divideUp(blockBytes(args), kSliceBytes));
  return std::max(2u, slices) * kSliceSlots;
}

int CudaRunner::launch(const DeviceCall& call, const DeviceChoice& choice) {
  CallArgs args = argumentsOf(call, choice);
  const int lanes = choice.geometry.lanes;
  const bool rings = choice.protocol == Protocol::kSimple;
  const StraightRing straight = rings ? straightRings_.about(call, args, choice) : StraightRing{};
  const CloseLaunch::Manner manner = close_.next(lanes, call.stream);
  args.close = manner.ofCall();
  if (rings) {
    const RingCall ring{args, ring_, straight, aheadOf(call, args)};
    const int error = launchRing(*choice.kernel, ring, lanes, choice.threads, call.stream,
                                 close_.launching(manner));
    if (error == 0) close_.launched(manner, call.stream, ring, ring.args.close);
    return error;
  }
  const bool isLL = choice.protocol == Protocol::kLL;
  const HelloCall window{{isLL ? windowLL_ : windowLL128_, args}, isLL ? helloLL_ : helloLL128_};
  const int error = launchKernel(*choice.kernel, &window, lanes, choice.threads, call.stream,
                                 close_.launching(manner));
  if (error == 0) close_.launched(manner, call.stream, window, window.args.close);
  return error;
}

}  // namespace

std::unique_ptr<DeviceRunner> createDeviceRunner(Bootstrap& boot, FdExchange* fds,
                                                 const std::vector<int>& peers,
                                                 const DeviceConfig& config, std::string* why) {
  DeviceCard mine{};
  OpenedDevice opened = openDevice(config, &mine);
  std::vector<DeviceCard> cards(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, cards.data());
  endStage(config.times, "others' devices");
  for (size_t r = 0; r < cards.size(); ++r) {
    if (cards[r].code == rondoSuccess) continue;
    *why = format("rank %zu has no device: %s", r, cards[r].why.data());
    if (cards[r].code == rondoInvalidArgument) throw Error(rondoInvalidArgument, *why);
    return nullptr;
  }
  const CapturesAlone alone;
  const int lanes = agreedLanes(cards, why);
  if (lanes < 1) return nullptr;
  const std::vector<DeviceTenant> tenants = tenantsOf(cards);
  if (!config.inLevels) warnOfTurns(tenants, boot.rank());
  const int ordinal = opened.device->ordinal();
  DeviceBudget::sharedBy(ordinal, sharersOf(tenants, static_cast<size_t>(boot.rank())).processes);
  const bool taken = opened.budget.take(ordinal, mine.room.total, lanes);
  try {
    boot.agree(taken ? rondoSuccess : rondoUnhandledCudaError,
               taken ? ""
                     : "another communicator was made at the same time on the same device, and not "
                       "enough of it is left");
    auto lease = DeviceLease::create(
        {boot, fds, peers, *opened.device, cards},
        config.lean ? leanShape(boot.size(), lanes) : agreedShape(cards, lanes, config.inLevels),
        {config.hostMemory, config.losePeerWrites, config.times});
    endStage(config.times, "first writes");
    std::unique_ptr<CudaRunner> runner;
    agreeOn(boot, [&] {
      runner =
          std::make_unique<CudaRunner>(RankPlace{boot.rank(), boot.size(), 0, boot.size()},
                                       std::move(opened), std::move(lease), cards, lanes, config);
    });
    endStage(config.times, "streams");
    runner->meetNeighbours(boot);
    endStage(config.times, "neighbours");
    return runner;
  } catch (const Error& error) {
    if (error.code() != rondoUnhandledCudaError && error.code() != rondoOutOfMemory) throw;
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

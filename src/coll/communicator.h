#pragma once
// What a communicator is made of, below the C API.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "coll/call_log.h"
#include "coll/choice_memory.h"
#include "coll/closing.h"
#include "coll/device_runner.h"
#include "coll/dump_signal.h"
#include "coll/exchange.h"
#include "coll/facts.h"
#include "coll/flag_way.h"
#include "coll/flight_recorder.h"
#include "coll/host_request.h"
#include "coll/joint_call.h"
#include "coll/plan_cache.h"
#include "coll/planner.h"
#include "coll/registry.h"
#include "coll/runner.h"
#include "coll/runner_short.h"
#include "coll/scaled_ops.h"
#include "p2p/fabric.h"

namespace rondo {

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
    int averagesOver = 0;  ///< What rondoAvg divides by, where its ranks are a part; 0: by them.
    bool carries = false;  ///< Another one's device memory; the caller does not see it.
    size_t ranksOfProcess = 1;             ///< Which share its pool; also those beside a part.
    std::string costsSource = {};          ///< Where facts.costs come from, for people.
    uint64_t stallSeconds = 0;             ///< A longer wait is reported; 0: none.
    uint64_t timeoutMs = 0;                ///< A longer wait ends the communicator; 0: none.
    uint64_t id = 0;                       ///< The same on all ranks, and on no others.
    std::vector<MemberText> members;       ///< Where each rank is.
    std::string recordFile;                ///< RONDO_RECORD.
    DumpSignal dumpSignal;                 ///< RONDO_DUMP_SIGNAL.
    std::unique_ptr<Fabric> fabric;        ///< nullptr with one rank.
    std::unique_ptr<DeviceRunner> device;  ///< nullptr: host memory only.
    std::string whyNoDevice;               ///< Then the reason, as a sentence.
    /// Tests: replaces ports of this rank; may be empty.
    std::function<void(Channels&, int rank)> decorate;
    uint64_t callsBefore = 0;  ///< Tests: the first one's number, less 1.
  };
  explicit Communicator(Parts parts);
  ~Communicator();

  const std::string& name() const { return parts_.name; }
  const RankPlace& place() const { return parts_.place; }
  /// CUDA device ordinal, or RONDO_DEVICE_NONE.
  int device() const { return parts_.device ? parts_.device->device() : RONDO_DEVICE_NONE; }
  /// nullptr: host memory only, and whyNoDevice() says why.
  DeviceRunner* deviceRunner() const { return parts_.device.get(); }
  const std::string& whyNoDevice() const { return parts_.whyNoDevice; }
  const CommFacts& facts() const { return parts_.facts; }
  const std::string& costsSource() const { return parts_.costsSource; }
  size_t ranksOfProcess() const { return parts_.ranksOfProcess; }
  /// Replaces facts().costs. Before the first call, by all ranks alike.
  void adoptCosts(const HostCosts& costs, MeasuredCosts measured, const std::string& source) {
    setCosts(costs, measured, &parts_.facts);
    parts_.costsSource = source;
  }
  /// measureFlag() between two ranks of one host; other ranks do nothing. While no call runs.
  RunResult flagWay(const FlagPair& pair, uint64_t* picoseconds);

  /// Runs the call to its end. Only one thread at a time; not while operations of a group are under
  /// way (idle()).
  RunResult run(const HostRequest& request) {
    const HostCall call = prepare(request, {&request, 1}, OpOrigin::Call);
    const RunResult result = runner_.run(*plan_, call, parts_.wait);
    if (result != RunResult::Ok) [[unlikely]]
      return result;
    if (plan_->totalBytes >= kLeastInPlace && mayHaveReadOtherData()) [[unlikely]]
      return RunResult::Aborted;
    if (log_.asksSilent()) return awaitSilent();
    log_.finish();
    return result;
  }

  /// The same in pieces, for groups: begin() once, then poll() until it says something other than
  /// Busy. `moved` is set if anything was done.
  enum class Progress { Busy, Done, Aborted, Mismatch };
  /// More than one request: JointCall::passOf() joined them. They stay where they are meanwhile.
  void begin(std::span<const HostRequest> pass, OpOrigin origin);
  /// After poll() said Done: so many of the first of them have ended, at least one. The others wait
  /// for a begin() of their own.
  size_t endedOfPass() const { return endedOfPass_; }
  Progress poll(bool* moved);
  /// Sends and receives to their end, like run(). After Mismatch, exchangeMismatch() says why.
  RunResult runExchange(std::span<const Transfer> transfers);
  /// `enqueued`: ticks() when a group took them; 0: now.
  void beginExchange(std::span<const Transfer> transfers, OpOrigin origin, uint64_t enqueued);
  Progress pollExchange(bool* moved);

  /// What a call on host memory is predicted to take, in picoseconds, of as many ranks as there
  /// are; nothing is begun, nor remembered. Throws Error(rondoUnsupported): nothing predicts it.
  uint64_t foretell(const PlanKey& key) const;

  /// Operations of groups take turns: each takes a number when it is issued and runs when it is
  /// served.
  uint64_t takeNumber() { return issued_.fetch_add(1, std::memory_order_relaxed); }
  bool served(uint64_t number) const { return finished_.load(std::memory_order_acquire) == number; }
  void finishNumber(uint64_t number) { finished_.store(number + 1, std::memory_order_release); }
  /// Whether every operation that was issued has ended.
  bool idle() const { return served(issued_.load(std::memory_order_relaxed)); }
  /// The first operation of a group that failed, for whom no request tells of it. `what` is read
  /// once idle(): written by the operation's turn.
  struct GroupFault {
    const char* call = nullptr;  ///< nullptr: none failed.
    rondoResult_t code = rondoInternalError;
    std::string what;
  };
  void noteFault(const GroupFault& fault) {
    if (groupFault_.call == nullptr) groupFault_ = fault;
  }
  const GroupFault& groupFault() const { return groupFault_; }
  /// What rondoCommFinalize tells the peers, and learns of them.
  Closing& closing() { return closing_; }
  ScaledOps& scaledOps() { return scaledOps_; }
  /// Tests: plans that are kept.
  size_t plans() const { return plans_.size(); }
  /// How a thread waits that runs sends and receives; whether calls differ, the polls find out.
  const WaitPolicy& groupWait() const { return groupWait_; }
  /// How a thread waits for a group, which may be on other communicators, too, and which others may
  /// run: its polls see aborts, and how long each communicator waits.
  const WaitPolicy& pollersWait() const { return pollersWait_; }

  /// Two ranks whose current calls differ though they should be the same, as a sentence; empty:
  /// none that can be seen.
  std::string mismatchText();
  /// What every call comes to from now on, and why, as a sentence.
  struct End {
    rondoResult_t code;
    std::string why;
  };
  /// Of a communicator that aborted() says has ended: calls that differ, or a rank's doing.
  End endOf();
  /// What kernels of this rank have found, of which no other thread knows: registered memory that
  /// ranks gave at different places, a wait beyond RONDO_SPIN_BOUND_MS. No words: nothing.
  End foundByKernels() const;
  /// Whether a rank ended it because calls differ. Any thread.
  bool differs() const { return parts_.fabric && parts_.fabric->differing() >= 0; }
  /// The same for sends and receives, after pollExchange() said so.
  const std::string& exchangeMismatch() const { return exchange_.mismatchText(); }

  /// Ends pending and later calls on all ranks. Any thread.
  void abort() {
    if (parts_.fabric) parts_.fabric->abort();
    aloneEnded_.store(!parts_.fabric, std::memory_order_release);
    if (parts_.device) parts_.device->abort();
  }
  /// Ends what this rank has on its device, and nothing of the others; false: of this communicator
  /// nothing less than abort() ends. Any thread.
  bool endOwnPart() {
    if (parts_.fabric && parts_.fabric->spansHosts()) return false;
    leaving_.store(true, std::memory_order_release);
    if (parts_.device) parts_.device->abort();
    return true;
  }
  /// Behind it: ends the communicator for all if a kernel of this rank gave up, as a peer's waits
  /// for it then. Waits until the device is idle; the progress thread tells meanwhile, as what the
  /// device waits for may wait for those that are told.
  void tellIfGivenUp() {
    if (parts_.device && parts_.fabric && parts_.device->gaveUp()) parts_.fabric->abort();
  }
  /// The same, because calls differ: `why` is what the other ranks say, as far as they know nothing
  /// themselves.
  void abortDiffering(const std::string& why);
  /// Of a mismatch of which nobody knows more.
  std::string differText() const;
  /// Whether calls end, and then why, as a sentence.
  bool aborted() const {
    return parts_.fabric ? parts_.fabric->aborted() != 0
                         : aloneEnded_.load(std::memory_order_acquire);
  }
  std::string abortText() const;
  /// Whether a rank's end is the cause.
  bool deserted() const { return parts_.fabric && parts_.fabric->culprit() >= 0; }

  /// For who runs exchanges of its own on a communicator that has no other calls.
  const Channels& channels() const { return channels_; }
  ExchangeContext exchangeContext() const {
    return {findCopy(parts_.cpu), channels_.stamp.get(), streamBytes_};
  }

  /// nullptr with one rank.
  Fabric* fabric() const { return parts_.fabric.get(); }
  const WaitPolicy& wait() const { return parts_.wait; }
  FlightRecorder& recorder() { return recorder_; }
  /// Says of a collective on device memory which one it is, and whether it goes into a graph.
  void numberLaunch(rondoStream_t stream, OpFacts* facts) {
    capturing_ = capturing_ || parts_.device->captures(stream);
    facts->captured = capturing_;
    facts->sequence = ++launches_;
  }
  /// The last so many were not launched: to the peers they are no calls.
  void takeBackLaunches(size_t number) { launches_ -= number; }
  /// The same of sends and receives there.
  void numberTransfers(OpFacts* facts) const {
    facts->captured = capturing_;
    facts->collectives = launches_;
  }
  /// No call may run any more, for this reason: recorded, and logged. Once.
  void noteBroken(const std::string& why);

 private:
  /// Finds or makes the plan of `request`, which stands for `pass`, and tells the peers what this
  /// rank is at.
  HostCall prepare(const HostRequest& request, std::span<const HostRequest> pass, OpOrigin origin) {
    exchanging_ = false;
    const bool scaled = request.key.op >= ScaledOps::kFirst;
    PlanKey key = request.key;
    if (scaled) key.op = ScaledOps::kFirst;  // one plan for all that are made, often one for a call
    plan_ = key.nothing() ? &nothing_ : plans_.find(key);
    if (plan_ == nullptr) [[unlikely]]
      plan_ = makePlan(key);
    for (const HostRequest& each : pass) {
      log_.announce(each, pass.size(), origin, plan_->choice);
      if (logs(LogPart::Call, LogLevel::Debug)) [[unlikely]]
        logCall(each);
    }
    // With slots, in place means another address: taken for granted there.
    const bool inPlace = request.src == request.dst || plan_->slots;
    return {static_cast<const char*>(request.src),
            static_cast<char*>(request.dst),
            plan_->totalBytes >= streamBytes_,
            plan_->stamp ^ static_cast<uint32_t>(log_.sequence() * 0x9e3779b1u) ^
                (scaled ? static_cast<uint32_t>(request.key.op) * 0x85ebca6bu : 0),
            plan_->scale == nullptr && (!inPlace || plan_->algorithm->inPlaceAnnounce),
            request.uneven,
            plan_->scale == nullptr ? nullptr : scalarOf(request)};
  }
  /// Of an operation that has done all its steps: a call that fails returns without a word to those
  /// that read its memory in place, and its program may have written there since.
  bool mayHaveReadOtherData() const {
    return parts_.fabric != nullptr && parts_.fabric->endedByWhoGoesOn();
  }
  const BoundPlan* makePlan(const PlanKey& key);
  const void* scalarOf(const HostRequest& request);
  Candidate choose(const Request& request);
  std::string waitsText(std::chrono::steady_clock::duration waited) const;
  End deviceFailure() const;
  void logCall(const HostRequest& request) const;
  RunResult awaitSilent();
  // communicator_watch.cc
  static void noteLongWait();
  void watch(std::chrono::steady_clock::duration waited);
  void tellWait(std::chrono::steady_clock::duration waited);
  void askLate(std::chrono::steady_clock::duration waited);
  std::vector<int> awaitedFar() const;
  void watchDevice();
  int strandedBy() const;
  void startWait() {
    idlePolls_ = 0;
    idleSince_ = {};
    comparedAt_ = longWaits_.load(std::memory_order_relaxed);  // what was long before was another
  }
  void noteLongPoll();
  /// At peers' calls: at those that can be read, or, in a wait that is long by the clock, with a
  /// word to other hosts.
  enum class Look { None, Here, Late };
  Look lookDue(bool moved);
  bool waitsLong();
  bool endIfDeserted(bool* moved);
  void endIfStandsStill(bool moved);
  Progress ended();
  void reportStall(const std::string& text);
  void giveUp(const std::string& why);
  std::string timeoutText(int rank) const;
  std::string reasonOf(int rank) const;
  /// Says where peers and rondo-status see it what the current operation waits for. Only by the
  /// thread that runs it.
  void noteWait();

  /// Idle polls of a group after which its wait is a long one, written down with its steps; those
  /// of other calls are every few milliseconds.
  static constexpr uint32_t kPollsOfALongWait = 4096;
  /// Calls are compared every few milliseconds of any wait, too: on a crowded host a thousand polls
  /// are many seconds.
  static inline std::atomic<uint32_t> longWaits_{0};

  Parts parts_;
  Channels channels_;
  PlanCache plans_;
  ChoiceMemory choices_;
  Runner runner_;
  Exchange exchange_;
  JointCall joint_;
  size_t endedOfPass_ = 1;
  FlightRecorder recorder_;
  CallLog log_;
  Closing closing_;
  GroupFault groupFault_;
  ScaledOps scaledOps_;
  const BoundPlan* plan_ = nullptr;  // of the current call
  BoundPlan nothing_{};              // of calls with count 0, which peers must see too
  WaitPolicy groupWait_, pollersWait_;
  uint64_t launches_;                                // collectives on device memory
  bool capturing_ = false;                           // some of them went into graphs
  std::chrono::steady_clock::time_point lookAgain_;  // at what ranks called on device memory
  std::atomic<bool> leaving_{false};                 ///< After endOwnPart().
  bool stranded_ = false;  // a kernel waited at the last look though all others had left
  mutable std::mutex verdictMutex_;
  std::string verdict_;  // once config.timeout has run out here
  // Of the operation of a group that runs: since it moved, and a time between that and now; none:
  // it does not wait for long. And when that is to be looked at.
  uint32_t idlePolls_ = 0;
  std::chrono::steady_clock::time_point idleSince_, idleLookAt_;
  // Of the wait that other hosts were last told of: how long it was then, and what was known.
  std::atomic<int64_t> toldAfter_{0};
  std::atomic<uint64_t> toldNews_{0};
  // When other hosts were last asked where late ranks are, of the steady clock.
  std::atomic<int64_t> askedAt_{0};
  uint32_t comparedAt_ = 0;  // the last of longWaits_ that calls were compared for
  bool explainedCosts_ = false;
  bool exchanging_ = false;  // the current operation is one of sends and receives
  std::atomic<bool> knownBroken_{false};
  std::atomic<bool> aloneEnded_{false};  // without a fabric (one rank, or virtual): it was aborted
  std::atomic<uint64_t> issued_{0};      // group operations
  std::atomic<uint64_t> finished_{0};
  uint64_t
      streamBytes_;  ///< Calls of at least this many bytes write their results past the caches.
};

}  // namespace rondo

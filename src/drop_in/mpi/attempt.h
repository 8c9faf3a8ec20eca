#pragma once
// One MPI call that Rondo may answer: the decision, the counting, the errors.

#include <mpi.h>

#include <exception>
#include <memory>
#include <string>

#include "base/ticks.h"
#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/mpi_progress.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/requests.h"
#include "drop_in/mpi/staged.h"
#include "drop_in/mpi/stats.h"

namespace rondo::drop_in {

class Attempt {
 public:
  /// `known`: what find() has just said of `comm`, if it was asked.
  Attempt(Call call, MPI_Comm comm, const KnownComm* known = nullptr)
      : known_(known != nullptr ? *known : find(comm)), comm_(comm), call_(call), why_(known_.why) {
    if (statsOn) [[unlikely]]
      start_ = statsClock();
    if (rehearsing) [[unlikely]]
      flushTransfers();
    if (devicesOn) [[unlikely]] {
      forgetAnswers();
      if (isBlocking(call)) known_.devices.later().flush(known_);
    }
    if (why_ == Why::Many && isBlocking(call)) [[unlikely]]
      why_ = useOnceMore(comm);
    if (isBlocking(call) && (known_.uneven.due() || known_.laters.due())) [[unlikely]]
      agree();
    if (isUneven(call) && why_ == Why::Taken) known_.uneven.count();
  }

  /// Goes to MPI unless `good`, because of `otherwise`; says whether Rondo still answers.
  bool need(bool good, Why otherwise) {
    if (why_ == Why::Taken && !good) why_ = otherwise;
    return why_ == Why::Taken;
  }
  bool open() const { return why_ == Why::Taken; }
  /// A buffer of this rank's is device memory, or not.
  void saw(bool device) { device_ |= device; }
  /// Whether ranks have to agree on where their buffers are: the same on all of them.
  bool asksMemory() const { return why_ == Why::Taken && known_.devices.asks() && !rehearsing; }
  /// See DevicePath::scratch(); nullptr, too, if `beside` is no device memory, or ranks do not ask.
  char* scratch(const Elements& beside, size_t bytes) const {
    return beside.device && asksMemory() ? known_.devices.scratch(beside.begin, bytes) : nullptr;
  }
  /// The size of the v-collectives that all ranks know of; here are so many blocks of this one,
  /// `bytes` together.
  size_t agreedSize(size_t bytes, size_t blocks) const {
    known_.uneven.note(bytes, blocks);
    return known_.uneven.bytes();
  }
  /// Of a call whose result is the same whoever does it, and that is Rondo's by all else, its
  /// blocks of `bytes` bytes, the same on all ranks: whether it stays Rondo's, as it does where
  /// Rondo is quicker. The last question.
  bool staysRondos(size_t bytes) {
    return need(!measuring || why_ != Why::Taken || choose(bytes), Why::Quicker);
  }
  /// The same of a non-blocking one that gives `request`.
  bool staysRondosLater(size_t bytes, const MPI_Request* request) {
    return need(!measuring || why_ != Why::Taken || chooseLater(bytes, request), Why::Quicker);
  }
  AgreedSize& uneven() const { return known_.uneven; }
  int size() const { return known_.size; }
  int rank() const { return known_.rank; }
  bool isRoot(int root) const { return known_.rank == root; }
  bool hasRank(int rank) const { return rank >= 0 && rank < known_.size; }
  rondoComm_t rondo() const { return known_.rondo; }
  Why why() const { return why_; }

  /// MPI's answer is the call's.
  int passed(int code) {
    if (code != MPI_SUCCESS) [[unlikely]]
      turn_ = {};
    done();
    return code;
  }

  /// A rehearsal's is nobody's: see refuseCall().
  int unknown(const char* what, const char* allowed);

  /// Rondo's is: run() gives it. What run() throws has befallen this rank only, so that the others
  /// must be let go.
  template <class Run>
  int taken(const Run& run) {
    if (known_.aborted.load(std::memory_order_relaxed)) [[unlikely]]
      return refused();
    rondoResult_t result;
    try {
      result = run();
    } catch (...) {
      return caught(std::current_exception());
    }
    if (result != rondoSuccess) [[unlikely]]
      return failed(result);
    moveMpiOn();
    done();
    return MPI_SUCCESS;
  }

  /// What taken() gives where Rondo's call has failed, of a call without an Attempt.
  static int failedAtOnce(Call call, MPI_Comm comm, const KnownComm& known, rondoResult_t result);
  /// And where something was thrown.
  static int caughtAtOnce(Call call, MPI_Comm comm, const KnownComm& known,
                          const std::exception_ptr& thrown);

  /// By all ranks, if asksMemory(): true if the call is over, because it ran between the devices,
  /// or is MPI's, or failed; *code is its result then. False: it is to be taken as ever. `key`: of
  /// a call that may be kept as a graph.
  template <class Pass, class Run>
  bool over(const OwnMemory& mine, const Pass& pass, const Run& run, int* code,
            const CallKey& key = {}) {
    if (known_.aborted.load(std::memory_order_relaxed)) return false;
    Way way = Way::Host;
    rondoResult_t result = known_.devices.agree(known_, comm_, mine, alike(key), &way);
    if (result == rondoSuccess && way == Way::Host) return false;
    if (result == rondoSuccess && way == Way::Mpi) {
      why_ = Why::HostMemory;
      *code = passed(pass.onHost());
      return true;
    }
    try {
      if (result == rondoSuccess) result = known_.devices.run(run, key);
    } catch (...) {
      *code = caught(std::current_exception());
      return true;
    }
    if (result == rondoUnsupported) return false;
    if (result != rondoSuccess) {
      *code = failedOnDevices(result);
    } else {
      why_ = Why::OnDevice;
      *code = passed(MPI_SUCCESS);
    }
    return true;
  }

  /// For a non-blocking call, if asksMemory(): what begun() is to have if the communicator's calls
  /// can run between devices; else nullptr. Throws std::bad_alloc.
  template <class Run>
  std::unique_ptr<Asked> askLater(const OwnMemory& mine, const Run& run, const CallKey& key) {
    known_.devices.noteLater(mine);
    if (!known_.devices.later().isOpen()) return nullptr;
    // Braces: Clang before 16 takes no parentheses for an aggregate.
    return std::make_unique<Asked>(
        Asked{known_.devices.wordOf(mine, alike(key)), run, known_.devices.fits(mine), device_});
  }
  /// In a blocking call of all ranks that says nothing of memory, if asksMemory().
  void meet() { known_.devices.meet(known_, comm_); }

  /// As taken() for a non-blocking call: make() gives a Job, which runs on by itself.
  template <class Make>
  int begun(MPI_Request* request, const Make& make, std::unique_ptr<Asked> asked = nullptr) {
    if (known_.aborted.load(std::memory_order_relaxed)) [[unlikely]]
      return refused();
    rondoResult_t result;
    const bool asks = asked != nullptr;
    try {
      result = beginPending(known_, comm_, call_, make(), request, std::move(asked));
    } catch (...) {
      return caught(std::current_exception());
    }
    if (result != rondoSuccess) [[unlikely]]
      return failed(result);
    asks ? doneByQueue() : done();
    return MPI_SUCCESS;
  }

 private:
  /// Of a call that has been made.
  struct Made {};
  Attempt(Made, Call call, MPI_Comm comm, const KnownComm& known)
      : known_(known), comm_(comm), call_(call), why_(known.why) {}
  void done() {
    if (turn_.timed()) [[unlikely]]
      timed();
    endFreed();
    if (statsOn) [[unlikely]]
      count(call_, why_ == Why::Taken && device_ ? Why::ByHost : why_, statsClock() - start_);
  }
  /// Which way it went is counted when that is known.
  void doneByQueue() {
    endFreed();
    if (statsOn) addTime(call_, statsClock() - start_);
  }
  /// What MPI makes equal on all ranks, as a number.
  uint64_t alike(const CallKey& key) const {
    const uint64_t what = static_cast<uint64_t>(key.type) * 32 + static_cast<uint64_t>(key.op);
    return static_cast<uint64_t>(call_) + key.count * 64 + (what << 40);
  }
  void agree();
  bool choose(size_t bytes) {
    choice_ = &known_.measured.of(call_, bytes);
    if (!known_.hasMet) [[unlikely]]
      meetFirst();
    if (choice_->due()) [[unlikely]]
      meet(*choice_);
    return begins(choice_->next());
  }
  bool chooseLater(size_t bytes, const MPI_Request* request);
  bool begins(MeasuredChoice::Turn turn) {
    turn_ = turn;
    if (turn.timed()) [[unlikely]]
      began_ = rondo::ticks();
    return turn.who == MeasuredChoice::kRondo;
  }
  void meet(MeasuredChoice& choice) const;
  void meetFirst() const;
  rondoResult_t addUp(const MeasuredChoice::Trial& mine, MeasuredChoice::Trial* all) const;
  /// A call whose time ranks want to know has returned.
  void timed();
  int raised(rondoResult_t result, const std::string& what);
  int refused();
  int failed(rondoResult_t result);
  int failedOnDevices(rondoResult_t result);
  void abort();
  int caught(const std::exception_ptr& thrown);

  const OwnCalls own_;
  const KnownComm& known_;
  CallTurn among_{known_.itsTurns()};  ///< Threads that call on it too.
  MPI_Comm comm_;
  Call call_;
  Why why_;
  bool device_ = false;
  MeasuredChoice::Turn turn_{};
  MeasuredChoice* choice_ = nullptr;      ///< Of a call that is measured.
  const MPI_Request* request_ = nullptr;  ///< Of a non-blocking one.
  uint64_t start_ = 0, began_ = 0;
};

}  // namespace rondo::drop_in

#pragma once
// A group of operations on one or several communicators, run in pieces by whoever has time.

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "coll/communicator.h"

namespace rondo {

/// How an operation failed. Stands by itself: the communicator may be gone when it is reported.
struct OperationFault {
  const char* call = nullptr;               ///< nullptr: nothing failed.
  const Communicator* comm = nullptr;       ///< Only to be compared.
  rondoResult_t code = rondoInternalError;  ///< What the call comes to.
  std::string what;
};

/// Filled by one thread (add...), issued, polled by any, closed again by the one that saw it done.
/// It is used again and again, and keeps its memory, so that groups cost no allocations.
class GroupRun {
 public:
  GroupRun() = default;
  GroupRun(const GroupRun&) = delete;
  GroupRun& operator=(const GroupRun&) = delete;

  /// `call` outlives the run; what request.uneven points to, and its operator, are copied.
  /// Collectives keep their order.
  void addCollective(Communicator& comm, const char* call, const HostRequest& request);
  /// Sends and receives of a communicator run at once, before its collectives.
  void addTransfers(Communicator& comm, const char* call, std::span<const Transfer> transfers);
  bool empty() const { return used_ == 0; }

  /// What is wrong with the operations of `comm` as a whole; empty: nothing.
  std::string faultOf(const Communicator& comm);
  /// What the operations of `comm` are predicted to take, in picoseconds. Throws
  /// Error(rondoUnsupported): nothing predicts one of them.
  uint64_t foretell(const Communicator& comm) const;
  /// Takes the run's turn on each of its communicators; from now on it can be polled. Only a thread
  /// that may use them.
  void issue(OpOrigin origin);

  /// Does what can be done at once, unless another thread is at it (or the run is not issued); says
  /// whether anything was done.
  bool tryPoll();
  /// Ends the run though it is not done, for a thread that waited too long: its communicators are
  /// good for nothing but their end.
  void giveUp();
  bool done() const { return done_.load(std::memory_order_acquire); }
  /// Its caller polls it, in a wait or a test. Counted roughly.
  void attend() {
    attended_.store(attended_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// How often since this was asked last.
  uint32_t takeAttended() { return attended_.exchange(0, std::memory_order_relaxed); }
  /// The first failure; once done().
  const OperationFault& fault() const { return fault_; }
  /// Empties the run, which is done or was never issued. A thread that still polls it, does so in
  /// vain.
  void close();

  /// Bytes of the longest of its operations.
  uint64_t longest() const { return longest_; }

 private:
  /// What the run does on one communicator.
  struct Part {
    Communicator* comm = nullptr;
    uint64_t number = 0;  ///< Its turn there.
    std::vector<Transfer> transfers;
    const char* transferCall = nullptr;  ///< Of the first one.
    uint64_t enqueued = 0;               ///< ticks() of the first one.
    std::vector<HostRequest> requests;
    std::vector<const char*> calls;  ///< Of each request.
    size_t next = 0;                 ///< First request that has not ended.
    size_t running = 0;              ///< So many from `next` on run as one; 0: none runs.
    bool exchanging = false;         ///< The transfers run.
    bool ended = false;
    bool shifted = false;  ///< A pass ended early: the next ones begin elsewhere than
                           ///< faultOf() thought, and alike calls run one by one.

    bool exchanges() const { return !transfers.empty(); }
    std::span<const HostRequest> waiting() const { return std::span(requests).subspan(next); }
  };
  Part& partOf(Communicator& comm);
  void keepScaled(Communicator& comm, HostRequest* request);
  std::string clashOf(const Part& part);
  bool poll();
  bool pollPart(Part& part);
  void start(Part& part);
  bool finishOperation(Part& part);
  void end(Part& part);
  void fail(Part& part, Communicator::Progress how, const std::string& what, rondoResult_t code);

  std::deque<Part> parts_;  ///< The first used_ of them count; addresses stay.
  size_t used_ = 0;
  std::deque<UnevenSlots> uneven_;  ///< The first unevenUsed_ of them count; addresses stay.
  size_t unevenUsed_ = 0;
  std::deque<ScaledOp> scaled_;  ///< The first scaledUsed_ of them count; addresses stay.
  size_t scaledUsed_ = 0;
  uint64_t longest_ = 0;
  OpOrigin origin_ = OpOrigin::Group;
  JointCall checker_;               ///< For faultOf().
  std::atomic<uint32_t> owner_{1};  ///< 1 while a thread polls, and while the run is not issued.
  std::atomic<bool> done_{false};
  std::atomic<uint32_t> attended_{0};
  OperationFault fault_;
};

}  // namespace rondo

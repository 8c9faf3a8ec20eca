#pragma once
// A group of operations on one or several communicators, run in pieces by whoever has time.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "coll/communicator.h"

namespace rondo {

/// One collective, or several sends and receives at once, of one rank.
struct Operation {
  const char* call;
  HostRequest request{};
  std::shared_ptr<UnevenSlots> uneven;  ///< Keeps what request.uneven points to.
  std::vector<Transfer> transfers;      ///< Not empty: then these, and no collective.
};

/// How an operation failed. Stands by itself: the communicator may be gone when it is reported.
struct OperationFault {
  const char* call = nullptr;          ///< nullptr: nothing failed.
  const Communicator* comm = nullptr;  ///< Only to be compared.
  bool remote = false;                 ///< A peer's doing, not a wrong call.
  std::string what;
};

class GroupRun {
 public:
  GroupRun() = default;
  GroupRun(const GroupRun&) = delete;
  GroupRun& operator=(const GroupRun&) = delete;

  /// Sends and receives of a communicator become one operation that comes first; collectives keep
  /// their order. Only the thread that uses `comm`, before the first poll.
  void add(Communicator& comm, Operation operation);

  /// Does what can be done at once, unless another thread is at it; says whether anything was done.
  bool tryPoll();
  /// Ends the run though it is not done, for a thread that waited too long: its communicators are
  /// good for nothing but their end.
  void giveUp();
  bool done() const { return done_.load(std::memory_order_acquire); }
  /// The first failure; once done().
  const OperationFault& fault() const { return fault_; }

 private:
  struct Part {
    Communicator* comm;
    uint64_t number;  ///< Its turn on the communicator.
    std::deque<Operation> operations;
    bool running;
  };
  bool poll();
  bool pollPart(Part& part);
  void start(Part& part);
  void fail(Part& part, Communicator::Progress how, const std::string& what);

  std::vector<Part> parts_;
  std::atomic<uint32_t> owner_{0};  ///< 1 while a thread polls.
  std::atomic<bool> done_{false};
  OperationFault fault_;
};

}  // namespace rondo

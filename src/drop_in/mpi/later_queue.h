#pragma once
// Non-blocking collectives on a communicator that has devices. A kernel waits for the other ranks',
// and whoever waits for his device waits for it: so none may be launched before all ranks have made
// the call, which MPI does not promise of one that does not block. Here ranks tell each other that
// they have, and where their memory is, by non-blocking all-reduces of 4 bytes on a host
// communicator of their own; whatever call comes first, on the device or by way of the host, begins
// first, on all ranks.

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "api/rondo.h"

namespace rondo::drop_in {

class Pending;
struct KnownComm;

/// That this rank's calls between devices are of one communicator. From the asking to the end of
/// such a call, no call of another communicator goes between devices: see docs/drop-in-mpi.md,
/// "What keeps it from hanging". Any thread.
class DeviceTurn {
 public:
  DeviceTurn() = default;
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;
  ~DeviceTurn() { release(); }

  /// False, and nothing taken: a call of another communicator has it.
  bool take(const KnownComm& known);
  /// Once more than taken does nothing.
  void release() {
    if (taken_) [[unlikely]]
      giveBack();
  }

 private:
  void giveBack();
  bool taken_ = false;
};

class TurnEnds {
 public:
  explicit TurnEnds(DeviceTurn& turn) : turn_(turn) {}
  TurnEnds(const TurnEnds&) = delete;
  TurnEnds& operator=(const TurnEnds&) = delete;
  ~TurnEnds() { turn_.release(); }

 private:
  DeviceTurn& turn_;
};

/// A call that may run between devices.
struct Asked {
  uint32_t word = 0;                                             ///< What this rank tells.
  std::function<rondoResult_t(rondoComm_t, rondoStream_t)> run;  ///< On the devices.
  bool fits = false;                                             ///< For all this rank knows.
  bool device = false;                                           ///< Some of its memory is there.
};

/// A communicator's. MPI orders add() and flush(); any thread may be in advance() meanwhile.
class LaterQueue {
 public:
  LaterQueue() = default;
  LaterQueue(const LaterQueue&) = delete;
  LaterQueue& operator=(const LaterQueue&) = delete;

  /// Calls go through the queue from now on; it owns `asking`. The same on all ranks.
  void open(rondoComm_t asking) { asking_ = asking; }
  bool isOpen() const { return asking_ != nullptr; }

  /// Begins the call, or has it begin after those before it. Not successful: it is not there.
  rondoResult_t add(const KnownComm& known, const std::shared_ptr<Pending>& pending);
  /// Begins what all ranks have called. `known` is this queue's communicator, which lives.
  /// `byProgram`: the thread is one of the program's, and may call MPI.
  void advance(const KnownComm& known, bool byProgram = true);
  bool waits() const { return waiting_.load(std::memory_order_acquire) != 0; }
  /// In a blocking collective of all ranks: until all calls have begun.
  void flush(const KnownComm& known) {
    if (waits()) [[unlikely]]
      flushNow(known);
  }

  void destroy();
  void abort();

 private:
  std::shared_ptr<Pending> first();
  void beginAnswered(const KnownComm& known);
  void flushNow(const KnownComm& known);

  std::atomic<rondoComm_t> asking_ = nullptr;
  std::atomic<int> waiting_{0};  ///< So many have not begun.
  std::atomic<bool> busy_{false};
  std::mutex mutex_;  ///< Of the list alone.
  std::deque<std::shared_ptr<Pending>> list_;
};

}  // namespace rondo::drop_in

#pragma once
// Operations on device memory: launched at once, or collected by the calling thread's open group
// and launched at its end.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/handle.h"
#include "coll/device_runner.h"

namespace rondo {

class GroupTime;

/// Sends and receives of one call, checked.
struct TransferCall {
  const char* name;  ///< "rondoSend"
  std::span<const Transfer> transfers;
  rondoStream_t stream;
  /// They are a collective, which keeps its place among those of a group, also where this rank has
  /// none: what becomes one launch is the same on all ranks.
  bool collective = false;
  /// Receives write where sends read; of collectives, where the runner does that.
  bool inPlace = false;
};

/// What a group collects of one thread's operations on device memory. Reused; its vectors keep
/// their memory.
class DeviceGroup {
 public:
  void add(rondoComm* comm, const DeviceCall& call);
  void add(rondoComm* comm, const TransferCall& call);
  bool empty() const { return used_ == 0; }
  const std::vector<rondoComm*>& comms() const { return comms_; }
  void clear();

  /// What is wrong with the operations as a whole, recorded.
  rondoResult_t check(const char* call) const;
  /// Enqueues everything: communicators in the order in which they were made, so that all ranks
  /// have them in one order on a stream; for each its sends and receives as one launch, then its
  /// collectives in the order of their calls, those made of sends and receives too. Ends with the
  /// first failure, recorded.
  rondoResult_t launch(const char* call);
  /// What launch() is predicted to take, added to *sum. Ends with the first failure, recorded:
  /// rondoUnsupported where nothing predicts an operation.
  rondoResult_t foretell(const char* call, GroupTime* sum) const;

 private:
  /// A collective made of transfers, were it none.
  struct Pieces {
    const char* name;
    size_t after;       ///< So many of Part::calls.
    size_t begin, end;  ///< In Part::pieces.
    rondoStream_t stream;
    bool inPlace;
  };
  struct Part {
    rondoComm* comm = nullptr;
    std::vector<Transfer> transfers;
    std::vector<rondoStream_t> streams;  ///< Of the transfers, each once.
    const char* transferCall = nullptr;  ///< Of the first one.
    std::vector<DeviceCall> calls;
    std::vector<Transfer> pieces;
    std::vector<Pieces> made;  ///< In the order of their calls.
    /// Of what is launched first.
    rondoStream_t firstStream() const {
      if (!streams.empty()) return streams.front();
      return !made.empty() && made.front().after == 0 ? made.front().stream : calls.front().stream;
    }
    std::span<const Transfer> of(const Pieces& each) const {
      return std::span<const Transfer>(pieces).subspan(each.begin, each.end - each.begin);
    }
  };
  class Launch;
  static uint64_t timeOf(const Part& part);
  static std::string captureFault(const Part& part);
  Part& partOf(rondoComm* comm);

  std::vector<Part> parts_;  ///< The first used_ of them count.
  size_t used_ = 0;
  std::vector<rondoComm*> comms_;  ///< Of the parts.
  /// The first scaledUsed_ of them count. No deque, which takes memory while it is empty: a
  /// thread's group is made at its first call.
  std::vector<std::unique_ptr<ScaledOp>> scaled_;
  size_t scaledUsed_ = 0;
};

/// Enqueues a checked collective, or puts it into the open group. Gather, scatter, and all-to-all
/// where no kernel does it, are sends and receives.
rondoResult_t runOnDevice(rondoComm* comm, const DeviceCall& call);

/// The same for sends and receives.
rondoResult_t runOnDevice(rondoComm* comm, const TransferCall& call);

}  // namespace rondo

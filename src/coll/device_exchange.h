#pragma once
// Sends and receives of device memory: any number of them as one launch.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coll/close_launch.h"
#include "coll/exchange.h"
#include "coll/stream_pool.h"
#include "coll/user_memory.h"
#include "kernels/direct_call.h"
#include "kernels/launch.h"

namespace rondo {

/// Turns transfers into launches. Reused from call to call: its memory is there before the first.
class DeviceExchange {
 public:
  /// `blocks`: of the communicator's, how many may run at once. Large transfers go straight to
  /// where the sender has the receiver's memory, as the receiver's `memory` knows it at each call.
  /// `close`: which launches come close behind the kernel before them.
  DeviceExchange(const PairView& pairs, const DirectView& direct, const UserMemory& memory,
                 const FaultView& fault, int rank, int size, int blocks, CloseLaunch* close);

  /// Throws Error(rondoUnsupported), for call `name`, if there are no FIFOs between the ranks.
  void checkAvailable(const char* name) const;

  /// Enqueues the transfers on `stream`; those of length 0 are nothing. Transfers with one peer in
  /// one direction run in their order, all others at once; a transfer to this rank itself meets the
  /// receive of the same place in order (Exchange::selfFault() sees that there is one). They are
  /// one launch, but where a queue is longer than a launch has room for: then all ranks cut it at
  /// the same places. Returns a cudaError_t.
  int enqueue(std::span<const Transfer> transfers, CUstream_st* stream);

  /// The same where receives write what sends read: these are copied aside first, into memory of
  /// the pool's.
  int enqueueInPlace(std::span<const Transfer> transfers, const StreamPool& pool,
                     CUstream_st* stream);

  /// Tests, on all ranks: transfers of at least so many bytes do.
  void straightFrom(uint64_t bytes) { asksFrom_ = marksFrom_ = bytes; }

  /// Receives so far that were offered to their senders.
  uint64_t straight() const { return straight_; }
  /// And those that were long enough to be, without those of graphs.
  uint64_t asked() const { return asked_; }

  /// Pieces of one queue that fit one launch beside as many of every other.
  static int mostPerQueue(int size) { return kMostPieces / (2 * (size - 1) + 2); }

 private:
  ExchangeHead& head() { return call_; }
  const ExchangeHead& head() const { return call_; }
  void collect(std::span<const Transfer> transfers);
  int launchRound(size_t round, CUstream_st* stream);
  bool place(CUstream_st* stream);
  int launch(int pieces, int blocks, int threads, CUstream_st* stream,
             const CloseLaunch::Manner& manner);
  int threadsFor(const TransferCut& cut) const;

  const int size_;
  const int blocks_;
  CloseLaunch& close_;
  ExchangeCall<kMostPieces> call_;
  /// By queue: the whole of it. Sends to rank r at 2 r, receives from it at 2 r + 1, what this rank
  /// copies to itself at both places of its own rank.
  std::vector<std::vector<TransferPiece>> queues_;
  uint64_t straight_ = 0, asked_ = 0;
  const UserMemory& memory_;
  uint64_t asksFrom_;
  uint64_t marksFrom_;  ///< Those of a graph whose receiver's memory is mapped in the background.
  const std::unique_ptr<DirectCall<kMostPieces>> direct_;
};

}  // namespace rondo

#pragma once
// Sends and receives between pairs of ranks, any number at once, in any order.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "coll/reduce/reduce.h"
#include "p2p/channels.h"

namespace rondo {

/// One send or receive of host memory.
struct Transfer {
  int peer;
  bool sends;
  char* data;
  uint64_t bytes;
};

/// What an exchange needs to know of its communicator.
struct ExchangeContext {
  CopyFn copy;
  uint32_t* stamp;       ///< Channels::stamp.
  uint64_t streamBytes;  ///< Receives of at least this many bytes are written past the caches.
};

/// Runs transfers of one rank. Those with the same peer and direction run in their order, all
/// others at once; a transfer to this rank itself meets the receive of the same place in order.
class Exchange {
 public:
  /// Every transfer between two ranks has a partner on the other side, of the same length. Self
  /// transfers must be matched (checkSelf() says so).
  void begin(const Channels& channels, int rank, const std::vector<Transfer>& transfers,
             const ExchangeContext& context);
  /// Does what can be done at once; true at the end.
  bool poll(bool* moved);
  /// Whether a message came that is not of the expected transfer.
  bool mismatch() const { return !mismatch_.empty(); }
  /// "rank 3 sends 8 bytes or is in another call where 16 bytes are expected".
  const std::string& mismatchText() const { return mismatch_; }

  /// What keeps the self transfers from meeting; empty: nothing.
  static std::string selfFault(int rank, const std::vector<Transfer>& transfers);

 private:
  /// Transfers with one peer in one direction.
  struct Queue {
    int peer;
    bool sends;
    SendPort* send;
    RecvPort* recv;
    std::deque<Transfer> transfers;
    uint64_t done;  ///< Bytes of the first one.
  };
  bool advance(Queue& queue);
  bool sendSome(Queue& queue);
  bool receiveSome(Queue& queue);
  void copySelf(const std::vector<Transfer>& transfers);

  ExchangeContext context_{};
  uint64_t chunk_ = 0;
  int rank_ = 0;
  std::vector<Queue> queues_;
  std::string mismatch_;
};

}  // namespace rondo

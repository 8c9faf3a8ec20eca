#pragma once
// Sends and receives between pairs of ranks, any number at once, in any order.

#include <cstdint>
#include <functional>
#include <span>
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
  bool scattered = false;  ///< Of a scatter, whose transfers are all told so.
};

/// Adds one for each of `size` ranks, which has its slot of `bytes` in `all`.
inline void addSlots(std::vector<Transfer>* transfers, const void* all, uint64_t bytes, int size,
                     bool sends) {
  char* const begin = static_cast<char*>(const_cast<void*>(all));
  for (int r = 0; r < size; ++r) {
    transfers->push_back({r, sends, begin + static_cast<uint64_t>(r) * bytes, bytes});
  }
}

/// What an exchange needs to know of its communicator.
struct ExchangeContext {
  CopyFn copy;
  uint32_t* stamp;       ///< Channels::stamp.
  uint64_t streamBytes;  ///< Receives of at least this many bytes are written past the caches.
  uint64_t tag = 0;      ///< Not 0: instead of a transfer's length, what both sides know of it.
};

/// Runs transfers of one rank. Those with the same peer and direction run in their order, all
/// others at once; a transfer to this rank itself meets the receive of the same place in order.
/// Reused from call to call by one communicator: its vectors keep their memory.
class Exchange {
 public:
  /// Every transfer between two ranks has a partner on the other side, of the same length. Self
  /// transfers must be matched (selfFault() says so). `transfers` stay where they are until the
  /// end.
  void begin(const Channels& channels, int rank, std::span<const Transfer> transfers,
             const ExchangeContext& context);
  /// Does what can be done at once; true at the end.
  bool poll(bool* moved);
  /// Whether a message came that is not of the expected transfer.
  bool mismatch() const { return !mismatch_.empty(); }
  /// "rank 3 sends 8 bytes or is in another call where 16 bytes are expected".
  const std::string& mismatchText() const { return mismatch_; }

  /// A queue that has not ended, and its first transfer; `bytes` 0 and done 0: only the peer's
  /// reading is left. Only by the thread that polls.
  struct Pending {
    int peer;
    bool sends;
    uint64_t done, bytes;
  };
  /// The first ones; returns how many there are.
  size_t pending(std::span<Pending> out) const;

  /// The first peer of a queue that has not ended for which which(peer) is true; -1: none. Only by
  /// the thread that polls.
  int waitsFor(const std::function<bool(int)>& which) const;

  /// What keeps the self transfers from meeting; empty: nothing.
  static std::string selfFault(int rank, std::span<const Transfer> transfers);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Transfers with one peer in one direction, chained by next_.
  struct Queue {
    int peer;
    bool sends;
    SendPort* send;
    RecvPort* recv;
    uint32_t first, last;  ///< kNone: no (more) transfers.
    uint32_t stamp;        ///< Of the first one.
    uint64_t done;         ///< Bytes of the first one.
    uint64_t mostInPlace;  ///< Longest message from the caller's memory.
  };
  uint32_t stampOf(const Transfer& t) const;
  Queue& queueOf(const Channels& channels, const Transfer& t);
  bool advance(Queue& queue);
  bool sendSome(Queue& queue, const Transfer& t);
  bool receiveSome(Queue& queue, const Transfer& t);
  void copySelf();

  ExchangeContext context_{};
  uint64_t chunk_ = 0;
  int rank_ = 0;
  std::span<const Transfer> transfers_;
  std::vector<uint32_t> next_;     ///< [transfer]: the next one of its queue.
  std::vector<uint32_t> queueAt_;  ///< [2 * peer + sends]: its queue, or kNone.
  std::vector<Queue> queues_;
  std::string mismatch_;
};

}  // namespace rondo

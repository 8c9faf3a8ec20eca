#pragma once
// Channels to ranks of other hosts. Credits bound what is under way: a reader's memory holds what
// was sent, and nothing has to be refused.

#include <chrono>
#include <memory>
#include <vector>

#include "p2p/transport.h"
#include "ucx/ucx_transport.h"

namespace rondo {

/// To one peer, or to several that all get the same messages.
class UcxSendPort final : public SendPort {
 public:
  UcxSendPort(UcxTransport& transport, int channel, std::vector<UcxPeer*> peers,
              const uint32_t* stamp);
  ~UcxSendPort() override;

  void* tryAcquire(size_t bytes) override;
  void post(size_t bytes, void* landing) override;
  bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) override;
  /// Nothing far can be written where it is; but what is long can be sent from where it is.
  bool reaches(const void* data, size_t bytes) const override;
  /// Also of messages that were copied: they may need this rank to move on.
  bool drained() override;

 private:
  struct Slot {
    UcxPending pending{0};
    uint64_t end = 0;          ///< Of its space in the ring, and of all before.
    uint64_t bytesBefore = 0;  ///< Of all messages before it.
  };
  /// What UCX reads and writes; the transport has it while a message has not left.
  struct State {
    Slot slots[kUcxWindow];
    std::unique_ptr<char[]> ring;
  };
  bool full();
  bool fullNow();
  bool isFull(uint32_t underWay) const;
  uint32_t untakenBy(const UcxPeer& peer) const;
  bool room(uint64_t need, uint64_t* start);
  State& state();
  void advance();
  void publish(const void* data, size_t bytes, uint64_t end);

  UcxTransport& transport_;
  uint8_t channel_;
  std::vector<UcxPeer*> peers_;
  const uint32_t* stamp_;
  std::unique_ptr<State> state_;  // once something is sent
  uint64_t ringBytes_;
  uint32_t posted_;     // messages
  uint32_t completed_;  // messages that have left
  uint64_t bytes_ = 0;  // of all messages
  // Positions in the ring count bytes for ever, waste at its end included.
  uint64_t head_ = 0, tail_ = 0;
  uint64_t start_ = 0;  // of the acquired space
  uint64_t acquired_ = 0;
};

class UcxRecvPort final : public RecvPort {
 public:
  UcxRecvPort(UcxTransport& transport, UcxPeer& peer, int channel)
      : transport_(transport),
        peer_(peer),
        channel_(static_cast<uint8_t>(channel)),
        next_(transport.firstMessage()) {}

  bool tryPeek(Message* message) override;
  void release() override;

 private:
  /// The next message, if it is there.
  UcxArrival* arrival() const {
    UcxArrival* const next = peer_.channels[channel_].arrival(next_);
    const bool there = next != nullptr && next->ready.load(std::memory_order_acquire) == next_ + 1;
    return there ? next : nullptr;
  }

  void noteWait();

  UcxTransport& transport_;
  UcxPeer& peer_;
  uint8_t channel_;
  uint32_t next_;
  bool awaits_ = false;                          // for so long that the peer was told
  std::chrono::steady_clock::time_point since_;  // of the wait for the next; none: not known
};

}  // namespace rondo

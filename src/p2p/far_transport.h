#pragma once
// What moves messages to ranks on other hosts, whatever network there is.

#include <cstdint>
#include <memory>
#include <string>

#include "p2p/call_record.h"
#include "p2p/transport.h"

namespace rondo {

/// What a network hands up. Called by whichever thread moves its bytes; must return at once and
/// call nothing of the network.
class FarEvents {
 public:
  virtual ~FarEvents() = default;
  /// `word` is what a far rank passed to FarTransport::abort().
  virtual void farAborted(uint32_t word) = 0;
  /// The way to `rank` is gone, and so is most likely the rank. Returns the word that the other far
  /// ranks shall get.
  virtual uint32_t farLost(int rank, const std::string& why) = 0;
  /// What `rank` called, and what it means to move between itself and this rank.
  virtual void farCalled(int rank, const Call& call, PairCounts counts) = 0;
};

/// One communicator's ways to the ranks of other hosts. Ranks are the communicator's.
class FarTransport {
 public:
  virtual ~FarTransport() = default;

  /// Ports like those of Channels. `stamp` goes with every message, read when it is posted.
  virtual std::unique_ptr<SendPort> sendTo(int lane, int rank, const uint32_t* stamp) = 0;
  /// To all far ranks.
  virtual std::unique_ptr<SendPort> sendToAll(int lane, const uint32_t* stamp) = 0;
  /// The reading end of sendTo(), or of sendToAll().
  virtual std::unique_ptr<RecvPort> recvFrom(int lane, int rank, bool everyone) = 0;

  /// Moves what can be moved at once; any thread. Ports do the same while they have to wait.
  virtual void progress() = 0;
  /// Ends calls on all far ranks, whose FarEvents::farAborted() gets `word`. Any thread.
  virtual void abort(uint32_t word) = 0;
  /// Lets `rank` know what this rank called.
  virtual void tell(int rank, const Call& call, PairCounts counts) = 0;
};

}  // namespace rondo

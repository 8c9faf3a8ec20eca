#pragma once
// Ports that write down every message and change nothing. For tests.

#include <memory>
#include <mutex>
#include <vector>

#include "p2p/decorate.h"

namespace rondo {

struct TracedMessage {
  PortId port;
  uint64_t bytes;
  bool inPlace;  ///< Posted where it was; a reader cannot tell: always false there.
  bool landing;  ///< Says where its answer may be written.
};

/// The messages of any number of ranks. A posting stands before its readings, which are entered
/// when the message is released; those of one rank are in that rank's order.
class MessageLog {
 public:
  /// Enters the message, or a run of them, if act() says that it went, with no other entry between
  /// the two.
  template <class Act>
  bool enter(const TracedMessage& message, const Act& act, uint32_t messages = 1) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!act()) return false;
    messages_.insert(messages_.end(), messages, message);
    return true;
  }
  /// What was entered since the last time. While no rank is inside a call.
  std::vector<TracedMessage> take();

 private:
  std::mutex mutex_;
  std::vector<TracedMessage> messages_;
};

/// Decorates all ports of `rank`.
void tracePorts(Channels& channels, int rank, const std::shared_ptr<MessageLog>& log);

}  // namespace rondo

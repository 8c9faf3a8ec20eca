#pragma once
// Ports that misbehave: late, full, lossy, out of order, corrupting, dead. For tests.

#include <functional>
#include <memory>

#include "p2p/decorate.h"

namespace rondo {

/// What is left of a rank that dies: shared by its ports, which one thread uses.
class Life {
 public:
  /// Dies once it has sent and read so many messages.
  explicit Life(uint64_t messages) : left_(messages) {}
  bool over() const { return left_ == 0; }
  void spend() { left_ -= left_ == 0 ? 0 : 1; }

 private:
  uint64_t left_;
};

/// What is wrong with one port. Its messages count from 0.
struct Faults {
  static constexpr uint64_t kNever = ~uint64_t{0};

  /// Each message is late by a number of polls drawn from [least, most]: a reading end does not
  /// show it yet, a sending end says that the channel is full.
  uint32_t leastDelay = 0;
  uint32_t mostDelay = 0;
  uint64_t seed = 0;  ///< Of the draws; every port draws differently.

  uint64_t drop = kNever;  ///< Lost: sent to nobody, or not shown to this reader.
  /// Reading ends only. Changes places with the message after it, for which it waits.
  uint64_t swap = kNever;
  /// Reading ends only. One byte differs in this message or, if it is empty, in the next that is
  /// not. The sender's memory is left alone.
  uint64_t corrupt = kNever;

  /// Once it is over nothing is posted and nothing can be read. nullptr: for ever.
  std::shared_ptr<Life> life;
};

/// Decorates all ports of `rank`, each with faults(id). Throws std::invalid_argument if a sending
/// end is to swap or corrupt.
void injectFaults(Channels& channels, int rank, const std::function<Faults(const PortId&)>& faults);

}  // namespace rondo

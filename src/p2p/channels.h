#pragma once
// The ports of one communicator, whatever they are made of.

#include <memory>
#include <vector>

#include "p2p/transport.h"

namespace rondo {

/// Looked up when a plan is bound, never on the hot path. Decorators (trace, faults) replace
/// entries.
struct Channels {
  int ranks = 1;
  int lanes = 1;
  uint64_t chunkBytes = 0;                       ///< Longest message.
  std::vector<std::unique_ptr<SendPort>> sends;  ///< [lane][to], and [lane][own rank]: to everyone.
  std::vector<std::unique_ptr<RecvPort>> pairRecvs;  ///< [lane][from]; null at the own rank.
  std::vector<std::unique_ptr<RecvPort>> allRecvs;   ///< [lane][from]; null at the own rank.

  std::vector<bool> far;  ///< By rank: it cannot address this rank's memory; empty: all can.
  bool isFar(int rank) const { return !far.empty() && far[static_cast<size_t>(rank)]; }

  /// Goes with every message that is posted: equal on both sides of what belongs together, so that
  /// a reader notices another call's message.
  std::unique_ptr<uint32_t> stamp = std::make_unique<uint32_t>(0);

  size_t index(int lane, int rank) const { return static_cast<size_t>(lane) * ranks + rank; }
};

}  // namespace rondo

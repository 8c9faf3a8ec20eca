#pragma once
// What the decorators of ports share: which port is which, and how all of a rank's are replaced.
// For tests; the library does not contain the decorators.

#include <cstdint>
#include <memory>
#include <utility>

#include "p2p/channels.h"

namespace rondo {

/// The peer of a port that sends to everyone.
constexpr int kAllPeers = -1;

/// One port of one rank.
struct PortId {
  int rank;  ///< Whose port it is.
  int lane;
  int peer;       ///< The rank at the other end, or kAllPeers.
  bool sends;     ///< A SendPort.
  bool everyone;  ///< An end of a channel that all ranks read.

  bool operator==(const PortId&) const = default;
};

/// Replaces every port of `rank` by wrap(id, port), which returns a port of the same kind. Before
/// the first plan is bound.
template <class Wrap>
void decoratePorts(Channels& channels, int rank, const Wrap& wrap) {
  const auto replace = [&wrap](auto& port, const PortId& id) {
    if (port != nullptr) port = wrap(id, std::move(port));
  };
  for (int lane = 0; lane < channels.lanes; ++lane) {
    for (int peer = 0; peer < channels.ranks; ++peer) {
      const size_t at = channels.index(lane, peer);
      const bool own = peer == rank;
      replace(channels.sends[at], {rank, lane, own ? kAllPeers : peer, true, own});
      replace(channels.pairRecvs[at], {rank, lane, peer, false, false});
      replace(channels.allRecvs[at], {rank, lane, peer, false, true});
    }
  }
}

}  // namespace rondo

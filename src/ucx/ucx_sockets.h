#pragma once
// UCX's TCP connections, which it does not hand out: found among this process's descriptors.

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace rondo {

/// Ports at which a process's UCX listens, one a network device; 0: no more of them.
using UcxPorts = std::array<uint16_t, 8>;

/// Descriptors of this process that listen for TCP connections.
std::vector<int> listeningSockets();

/// The ports of those that are not in `before`.
UcxPorts portsSince(const std::vector<int>& before);

/// Of connections that were accepted at one of `own`, or lead to one of `theirs`: what is not
/// acknowledged is sent again at least once a second. TCP waits twice as long each time by itself,
/// up to two minutes, and does not notice that a cable has been mended. Needs Linux 6.15; returns
/// the connections for which that holds now.
int boundRetransmission(const UcxPorts& own, const std::unordered_set<uint16_t>& theirs);

/// Whether the kernels of the other ends have all that was sent over these connections.
bool allHasArrived(const UcxPorts& own, const std::unordered_set<uint16_t>& theirs);

}  // namespace rondo

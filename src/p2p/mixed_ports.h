#pragma once
// Ports of a communicator that spans hosts: near ranks read shared memory, far ones get messages.

#include <memory>

#include "p2p/far_transport.h"
#include "p2p/transport.h"

namespace rondo {

/// How often a port that polls shared memory in vain lets the network move: a look at memory costs
/// nanoseconds, a look at sockets most of a microsecond.
constexpr uint32_t kLooksBeforeProgress = 16;

/// One channel to ranks of this host and of others.
std::unique_ptr<SendPort> mixedSendPort(std::unique_ptr<SendPort> near,
                                        std::unique_ptr<SendPort> far);

/// The same ports; while they have to wait, the network goes on. Whoever waits for a near rank may
/// be what a far one waits for.
std::unique_ptr<SendPort> helpingSendPort(std::unique_ptr<SendPort> near, FarTransport& far);
std::unique_ptr<RecvPort> helpingRecvPort(std::unique_ptr<RecvPort> near, FarTransport& far);

}  // namespace rondo

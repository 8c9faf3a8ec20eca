#pragma once
// The GPU side of a communicator that is being made.

#include <functional>
#include <memory>
#include <vector>

#include "api/comm_create.h"
#include "api/consensus.h"
#include "coll/communicator.h"
#include "p2p/fd_exchange.h"

namespace rondo {

/// What it is made of.
struct DeviceWishes {
  Bootstrap& boot;
  FdExchange* exchange;           ///< Among the ranks of this host, where they are all; or nullptr.
  const std::vector<int>& peers;  ///< The other ranks of this host.
  const HostGrouping& hosts;
  const Config& config;
  const DeviceCosts& costs;
  StageTimes* times;  ///< Of the communicator's making.
  /// Makes a communicator as buildComm() does, collectively over `ranks`, on a lane of the network.
  std::function<std::unique_ptr<Communicator>(Bootstrap& ranks, const Config& config, int lane)>
      makeInner;
};

/// Collective. Sets parts->device, if every rank can have one, else parts->whyNoDevice. A rank that
/// asked for a device by number gets it or an error, the same on all ranks.
void addDevice(const DeviceWishes& wishes, Communicator::Parts* parts);

}  // namespace rondo

#pragma once
// The device side of a communicator that spans hosts.

#include <functional>
#include <memory>
#include <string>

#include "coll/far_device.h"
#include "p2p/bootstrap.h"

namespace rondo {

class Communicator;

/// Collective over `boot`. `open` gives this rank's device (openFarDevice). `makeCarrier` makes,
/// collectively, a host communicator of the same ranks, for nobody else's use; it is called only if
/// every rank has a device, then twice. Returns nullptr on all ranks, and says in `why` (a
/// sentence), if a rank has none: the communicator then has host memory only. Throws the same Error
/// on all ranks for a device ordinal that does not exist, and where memory is lacking.
std::unique_ptr<DeviceRunner> createFarRunner(
    Bootstrap& boot, const DeviceConfig& config,
    const std::function<std::unique_ptr<FarDevice>()>& open,
    const std::function<std::unique_ptr<Communicator>()>& makeCarrier, std::string* why);

}  // namespace rondo

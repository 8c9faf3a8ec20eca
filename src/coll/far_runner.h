#pragma once
// The device side of a communicator that spans hosts.

#include <functional>
#include <memory>
#include <string>

#include "coll/far_device.h"
#include "p2p/bootstrap.h"

namespace rondo {

class Communicator;

/// Chunks that a rank's threads move at once, for so many processors a rank on the host that has
/// the fewest: a thread beside the caller's for each. 1, 2 or 4.
int farLanes(int processorsPerRank);

/// Collective over `boot`. `open` gives this rank's device (openFarDevice). `makeCarrier` makes,
/// collectively, a host communicator of the same ranks, for nobody else's use, of which those with
/// another lane share no lock; it is called only if every rank has a device, once for each of the
/// `lanes` and once more. Returns nullptr on all ranks, and says in `why` (a
/// sentence), if a rank has none: the communicator then has host memory only. Throws the same Error
/// on all ranks for a device ordinal that does not exist, and where memory is lacking.
std::unique_ptr<DeviceRunner> createFarRunner(
    Bootstrap& boot, const DeviceConfig& config,
    const std::function<std::unique_ptr<FarDevice>()>& open,
    const std::function<std::unique_ptr<Communicator>(int lane)>& makeCarrier, int lanes,
    std::string* why);

}  // namespace rondo

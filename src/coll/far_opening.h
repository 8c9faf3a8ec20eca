#pragma once
// What the ranks of a communicator between hosts make of their devices before they use them.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/options.h"
#include "coll/far_device.h"
#include "p2p/bootstrap.h"

namespace rondo {

class Communicator;

struct OpenedFar {
  std::unique_ptr<FarDevice> device;
  DeviceSharers sharers;  ///< Of it, whatever hosts they name.
  uint64_t serial;        ///< What agreedOrder() says.
};

/// Collective. `open` makes this rank's device; each has claimed its share of it then. Nothing on
/// all ranks, and why in a sentence, if one has none; throws the same Error on all ranks for a
/// device ordinal that does not exist.
std::optional<OpenedFar> openFarTogether(Bootstrap& boot,
                                         const std::function<std::unique_ptr<FarDevice>()>& open,
                                         std::string* why);

/// Collective: what each rank does alone with its device. False on all ranks, and why, if CUDA
/// failed on one; throws the same Error on all ranks if anything else did.
bool agreedForFar(Bootstrap& boot, std::string* why, const std::function<void()>& step);

/// Collective: whether the network of every rank moves its device's memory by itself, and kernels
/// can see what it has written. Rank 0 says which has what lacking.
bool allZeroCopy(Bootstrap& boot, const Communicator& carrier, const FarDevice& device,
                 ZeroCopyUse use);

}  // namespace rondo

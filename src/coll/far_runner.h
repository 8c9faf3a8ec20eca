#pragma once
// The device side of a communicator that spans hosts.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coll/facts.h"
#include "coll/far_device.h"
#include "coll/far_opening.h"
#include "p2p/bootstrap.h"

namespace rondo {

class Communicator;

/// Chunks that a rank's threads move at once, for so many processors a rank on the host that has
/// the fewest: a thread beside the caller's for each. 1, 2 or 4.
int farLanes(int processorsPerRank);

/// Everything by page-locked memory and calls on host memory.
class FarRunner : public DeviceRunner {
 public:
  /// As run(), but among the ranks of this rank's rail alone, whose numbers there are what root and
  /// slots mean; slots of the caller's buffers lie `stride` elements apart. rondoAvg divides by the
  /// ranks of the communicator. Only where there are rails; no premultiplied sums.
  virtual void runOnRail(const DeviceCall& call, uint64_t stride) = 0;
  /// Called before each chunk that goes on a rail, on any thread: throws Error where the kernels
  /// that made it have given up. Before the first call.
  virtual void checkRailsBy(const std::function<void()>& check) = 0;
  /// Memory between two points of the call's stream.
  virtual void* allocate(const DeviceCall& call, uint64_t bytes) = 0;
  virtual void release(const DeviceCall& call, void* memory) = 0;
  /// As FarDevice::beside().
  virtual void beside(const char* name, rondoStream_t stream,
                      const std::function<void(rondoStream_t)>& branch,
                      const std::function<void()>& main) = 0;
  /// Of the host communicators of all ranks.
  virtual const CommFacts& facts() const = 0;
  /// Chunks that move at once.
  virtual int lanes() const = 0;
};

/// What a far runner is made of; all of it is called on all ranks, or on none.
struct FarMakers {
  /// This rank's device (openFarDevice).
  std::function<std::unique_ptr<FarDevice>()> open;
  /// Makes, collectively, a host communicator of the same ranks, for nobody else's use, of which
  /// those with another lane share no lock. Twice for each lane.
  std::function<std::unique_ptr<Communicator>(int lane)> makeCarrier;
  /// Makes those of this rank's rail, one for each lane, or none, on all ranks alike. `carrier` may
  /// be used meanwhile; `opened` is what this rank has of its device. May be empty.
  std::function<std::vector<std::unique_ptr<Communicator>>(Communicator& carrier, int lanes,
                                                           const OpenedFar& opened)>
      makeRails;
};

/// Collective over `boot`. Returns nullptr on all ranks, and says in `why` (a
/// sentence), if a rank has no device: the communicator then has host memory only. Throws the same
/// Error on all ranks for a device ordinal that does not exist, and where memory is lacking.
std::unique_ptr<FarRunner> createFarRunner(Bootstrap& boot, const DeviceConfig& config,
                                           const FarMakers& makers, int lanes, std::string* why);

}  // namespace rondo

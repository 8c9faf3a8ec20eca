#pragma once
// How a communicator's kernels are launched: by the driver's handles, and some close behind the one
// before them in their stream (programmatic dependent launch): their blocks are placed while that
// one ends, which saves a microsecond of a launch, a third of one in a graph (4 x H200,
// 2026-11-27).

#include <atomic>

#include "base/options.h"
#include "kernels/launch.h"
#include "p2p/cuda_device.h"

namespace rondo {

/// Which kernels of a communicator do, and which let the one behind them do so.
///
/// Two of a stream are on the device for a moment then: those do that have half of the
/// communicator's blocks at most, so that two never have more than it was promised. And who lets
/// another come before its peers have come, lets a kernel of the program's own do so as well, which
/// may take all that is left of the device and wait: no other communicator's kernels could be
/// placed then, for which the peers may be waiting. So they do only where the communicator is the
/// only one on its device. When a second one is made that ends for what is launched from then on.
/// What graphs have captured before still does: if a kernel of the program's own comes close behind
/// it in such a graph, and ranks order it and the second one's kernels differently, they may stand
/// still. So graphs have it only where the program says that it may (DependentLaunch::On).
///
/// In graphs only kernels follow whose sole predecessor is the runner's own last one: edges to
/// other kernels stay as they always were, whosever these are and whatever their device.
class CloseLaunch {
 public:
  /// `possible`: launchesClose(). `promised`: the communicator's blocks. `users` of its device, as
  /// DeviceBudget::users() has them; nullptr: as if it were alone (tests).
  CloseLaunch(DependentLaunch use, bool possible, int promised, const std::atomic<int>* users)
      : blocks_(use == DependentLaunch::Off || !possible ? 0 : promised / 2),
        inGraphs_(use == DependentLaunch::On),
        users_(users) {}

  struct Manner {
    bool lets = false;     ///< The kernel's call says so (CallArgs::close).
    bool follows = false;  ///< It is launched so.
    bool captured = false;
  };
  Manner next(int blocks, CUstream_st* stream) const {
    Manner manner;
    if (blocks > blocks_ || (users_ != nullptr && users_->load(std::memory_order_relaxed) != 1)) {
      return manner;
    }
    manner.captured = streamCaptures(stream);
    manner.lets = !manner.captured || inGraphs_;
    manner.follows = manner.lets && (!manner.captured || isLast(captureTip(stream)));
    return manner;
  }
  /// What the launch is told.
  Launching launching(const Manner& manner) { return {manner.follows, &handles_}; }
  /// After it.
  void launched(const Manner& manner, CUstream_st* stream) {
    if (manner.captured) last_ = captureTip(stream);
  }

 private:
  bool isLast(const CaptureTip& tip) const {
    return tip.node != nullptr && tip.node == last_.node && tip.capture == last_.capture;
  }

  const int blocks_;
  const bool inGraphs_;
  const std::atomic<int>* const users_;
  CaptureTip last_;
  KernelHandles handles_;
};

}  // namespace rondo

#pragma once
// Kernels that come close behind the one before them in their stream (programmatic dependent
// launch): their blocks are placed while that one ends, which saves a microsecond of a launch, a
// quarter of one in a graph (4 x H200, 2026-11-27).

#include "base/options.h"
#include "p2p/cuda_device.h"

namespace rondo {

/// Which kernels of a communicator do. Two of a stream are on the device for a moment then: those
/// do that have half of its blocks at most, so that two never have more than it was promised.
struct CloseLaunch {
  int blocks = 0;        ///< That such a kernel has at most; 0: none does.
  bool inGraphs = true;  ///< Also where the stream is being captured.

  /// `possible`: launchesClose(). `promised`: the communicator's blocks.
  static CloseLaunch of(DependentLaunch use, bool possible, int promised) {
    const bool none = use == DependentLaunch::Off || !possible;
    return {none ? 0 : promised / 2, use == DependentLaunch::On};
  }
  bool allows(int wanted, CUstream_st* stream) const {
    return wanted <= blocks && (inGraphs || !streamCaptures(stream));
  }
};

}  // namespace rondo

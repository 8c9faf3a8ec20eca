#pragma once
// How a communicator's kernels are launched: by the driver's handles, and close behind the one
// before them in their stream (programmatic dependent launch): their blocks are placed while that
// one ends, which saves a microsecond of a launch, a third of one in a graph (4 x H200,
// 2026-11-27).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/options.h"
#include "kernels/launch.h"
#include "p2p/cuda_device.h"

namespace rondo {

/// Which kernels of a communicator do, and which let the one behind them do so.
///
/// Who lets another come before its peers have come lets a kernel of the program's own do so as
/// well, which may take all that is left of the device and wait: no other communicator's kernels
/// could be placed then, for which the peers may be waiting; and one that does not wait may read
/// what is not there yet. So a call's kernel lets nobody come before it ends, unless that is known
/// to be the runner's own next one: in a graph, when that is captured with the last one as its sole
/// predecessor, the last one's call is changed to say so. Edges to other kernels stay as they
/// always were.
///
/// Where one lets the next come two of a stream are on the device for a moment: those do that have
/// half of the communicator's blocks at most, so that two never have more than it was promised.
/// Whoever follows one that lets nobody come is under way when that one's last block ends, and no
/// two are there. What graphs have captured goes on as long as they live, and what a program
/// captures may fork; so they let somebody come only if they were captured while the communicator
/// was the only one on its device.
class CloseLaunch {
 public:
  /// `possible`: launchesClose(). `promised`: the communicator's blocks. `users` of its device, as
  /// DeviceBudget::users() has them; nullptr: as if it were alone (tests).
  CloseLaunch(DependentLaunch use, bool possible, int promised, const std::atomic<int>* users)
      : possible_(possible && use != DependentLaunch::Off),
        blocks_(promised / 2),
        inGraphs_(use == DependentLaunch::On),
        users_(users) {}

  struct Manner {
    bool follows = false;
    bool captured = false;
    bool small = false;  ///< Half of the blocks at most.
    /// CallArgs::close
    int32_t ofCall() const { return follows ? kFollows : 0; }
  };
  Manner next(int blocks, CUstream_st* stream) {
    Manner manner;
    if (!possible_) return manner;
    manner.small = blocks <= blocks_;
    manner.captured = streamCaptures(stream);
    if (!manner.captured) {
      manner.follows = true;
    } else if (inGraphs_ && isLast(captureTip(stream))) {
      if (manner.small && !lastCall_.empty() && !lastLets_ && alone()) letNext();
      manner.follows = manner.small || !lastLets_;
    }
    return manner;
  }
  /// What the launch is told.
  Launching launching(const Manner& manner) { return {manner.follows, &handles_}; }
  /// After one that went well: of a call whose word for these things is `close`.
  template <class Call>
  void launched(const Manner& manner, CUstream_st* stream, const Call& call, const int32_t& close) {
    if (!manner.captured || !inGraphs_) return;
    lastLets_ = false;
    lastCall_.clear();
    if (manner.small) {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(&call);
      lastCall_.assign(bytes, bytes + sizeof call);
      closeAt_ = static_cast<size_t>(reinterpret_cast<const unsigned char*>(&close) - bytes);
    }
    last_ = captureTip(stream);
  }
  /// Two streams may have something behind the last one: what either has might come close.
  void forget() { last_ = {}; }

 private:
  bool alone() const { return users_ == nullptr || users_->load(std::memory_order_relaxed) == 1; }
  bool isLast(const CaptureTip& tip) const {
    return tip.node != nullptr && tip.node == last_.node && tip.capture == last_.capture;
  }

  /// Of the last one, which its stream still captures. It does from then on, also if nothing
  /// comes. If the driver refuses that, the next one follows all the same.
  void letNext() {
    int32_t close = 0;
    std::memcpy(&close, lastCall_.data() + closeAt_, sizeof close);
    close |= kLets;
    std::memcpy(lastCall_.data() + closeAt_, &close, sizeof close);
    lastLets_ = recall(last_, lastCall_.data()) == 0;
  }

  const bool possible_;
  const int blocks_;
  const bool inGraphs_;
  const std::atomic<int>* const users_;
  CaptureTip last_;                      // of the kernels that may be followed
  std::vector<unsigned char> lastCall_;  // empty: it is none that may let the next one come
  bool lastLets_ = false;
  size_t closeAt_ = 0;
  KernelHandles handles_;
};

}  // namespace rondo

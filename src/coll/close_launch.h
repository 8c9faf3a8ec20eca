#pragma once
// How a communicator's kernels are launched: by the driver's handles, and some close behind the one
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
/// Two of a stream are on the device for a moment where one lets the next come: those do that have
/// half of the communicator's blocks at most, so that two never have more than it was promised.
/// Larger ones let nobody come before they end, and follow one that did not: the next one's launch
/// is under way when the last block ends, and no two are there. And who lets another come before
/// its peers have come, lets a kernel of the program's own do so as well, which may take all that
/// is left of the device and wait: no other communicator's kernels could be placed then, for which
/// the peers may be waiting. So they do only where the communicator is the only one on its device.
/// When a second one is made that ends for what is launched from then on.
///
/// What graphs have captured goes on as long as they live. So there kernels let nobody come but the
/// runner's own next one: only when that is captured, with the last one as its sole predecessor, is
/// the last one's call changed to say so. Edges to other kernels stay as they always were.
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
    bool lets = false;
    bool follows = false;
    bool captured = false;
    bool small = false;    ///< Half of the blocks at most.
    bool counted = false;  ///< What comes next may follow it.
    /// CallArgs::close
    int32_t ofCall() const { return (follows ? kFollows : 0) | (lets ? kLets : 0); }
  };
  Manner next(int blocks, CUstream_st* stream) {
    Manner manner;
    if (!possible_ || (users_ != nullptr && users_->load(std::memory_order_relaxed) != 1)) {
      return manner;
    }
    manner.counted = true;
    manner.small = blocks <= blocks_;
    manner.captured = streamCaptures(stream);
    if (!manner.captured) {
      manner.lets = manner.small;
      manner.follows = manner.small || (stream == stream_ && !letsNext_);
    } else if (inGraphs_ && isLast(captureTip(stream))) {
      manner.follows = lastLets_ ? manner.small : !manner.small || lastCall_.empty() || letNext();
    }
    return manner;
  }
  /// What the launch is told.
  Launching launching(const Manner& manner) { return {manner.follows, &handles_}; }
  /// After one that went well: of a call whose word for these things is `close`.
  template <class Call>
  void launched(const Manner& manner, CUstream_st* stream, const Call& call, const int32_t& close) {
    if (!manner.counted) return;
    if (!manner.captured) {
      stream_ = stream;
      letsNext_ = manner.lets;
      return;
    }
    if (!inGraphs_) return;
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
  bool isLast(const CaptureTip& tip) const {
    return tip.node != nullptr && tip.node == last_.node && tip.capture == last_.capture;
  }

  /// Of the last one, which its stream still captures. It does from then on, also if nothing
  /// comes.
  bool letNext() {
    int32_t close = 0;
    std::memcpy(&close, lastCall_.data() + closeAt_, sizeof close);
    close |= kLets;
    std::memcpy(lastCall_.data() + closeAt_, &close, sizeof close);
    lastLets_ = recall(last_, lastCall_.data()) == 0;
    return lastLets_;
  }

  const bool possible_;
  const int blocks_;
  const bool inGraphs_;
  const std::atomic<int>* const users_;
  CaptureTip last_;                      // of the kernels that may be followed
  std::vector<unsigned char> lastCall_;  // empty: it is none that may let the next one come
  bool lastLets_ = false;
  size_t closeAt_ = 0;
  CUstream_st* stream_ = nullptr;  // of the last one that was not captured
  bool letsNext_ = true;           // what that one does
  KernelHandles handles_;
};

}  // namespace rondo

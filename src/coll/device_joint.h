#pragma once
// Short collectives of a group that are neighbours become one launch, each a few lanes of it.

#include <functional>
#include <span>
#include <string>

#include "coll/device_planner.h"
#include "coll/device_runner.h"
#include "kernels/joint_call.h"

namespace rondo {

/// Whether a call can be one of those that `first` begins.
bool joinable(const DeviceRequest& first, const DeviceRequest& call);

/// What the first of several calls become together.
struct JointChoice {
  int calls = 0;  ///< As many of them; 0: they are better off alone.
  const char* algorithm = nullptr;
  Protocol protocol{};
  int lanes = 1;  ///< Of each call.
  int threads = 0;
  const Kernel* kernel = nullptr;  ///< nullptr in a build without CUDA.
  uint32_t chunkBytes = 0;         ///< What one exchange of a lane carries; a multiple of 16.
  uint64_t picoseconds = 0;        ///< Predicted, of all of them.
  /// As each of the calls sees it.
  DeviceChoice asAlone() const {
    DeviceChoice choice{};
    choice.algorithm = algorithm;
    choice.protocol = protocol;
    choice.geometry.lanes = lanes;
    return choice;
  }
};

/// A pure function of agreed facts, as chooseDevice() is: at most kMostJoined neighbours of one
/// collective and one kind of kernel, short enough that a few lanes each take less time than
/// all of them one after the other. `alone`: the time of one by itself, as chooseDevice() predicts
/// it. Not where a rule is about the collective.
JointChoice chooseJoint(std::span<const DeviceRequest> calls, const DeviceFacts& facts,
                        const std::vector<TuneRule>& rules,
                        const std::function<uint64_t(const DeviceRequest&)>& alone);

/// A line for RONDO_EXPLAIN.
std::string explainJoint(const JointChoice& choice);

/// Whether a call reads or writes what another one writes, by this rank's buffers.
bool touchEachOther(std::span<const DeviceCall> calls, int ranks);

/// The kernel's argument for calls that became `choice`, all in one launch.
JointWindowCall jointCall(const JointChoice& choice, std::span<const DeviceCall> calls,
                          const WindowView& window, const FaultView& fault, int rank, int size);

}  // namespace rondo

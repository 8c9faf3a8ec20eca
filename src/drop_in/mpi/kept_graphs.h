#pragma once
// Calls on devices that come again and again, kept as CUDA graphs: a short one takes three quarters
// of the time of its kernel's launch then (2 x H200, 2026-11-22: 7.6 instead of 10.1 us).

#include <array>
#include <cstddef>
#include <utility>

#include "drop_in/mpi/device_memory.h"

namespace rondo::drop_in {

/// What tells a call on devices from every other on its communicator.
struct CallKey {
  const void* send = nullptr;
  const void* recv = nullptr;
  size_t count = 0;
  int type = 0, op = 0;
  size_t bytes = 0;  ///< Of the vector; 0: the call is never kept.
  bool operator==(const CallKey&) const = default;
};

/// A communicator's. A kernel in a graph is that of the call: some ranks may launch it so, and
/// others not.
class KeptGraphs {
 public:
  KeptGraphs() = default;
  KeptGraphs(const KeptGraphs&) = delete;
  KeptGraphs& operator=(const KeptGraphs&) = delete;

  /// A longer call gains nothing that could be seen.
  static constexpr size_t kMostBytes = size_t{1} << 20;
  /// Making a graph takes some ten times what a launch by it gains.
  static constexpr int kSeenBefore = 16;
  /// A call that came so often and no more is forgotten after as many others in its place.
  static constexpr int kMostSeen = 64;
  /// So many a process; each has memory of the driver's.
  static constexpr int kMostOfProcess = 256;

  /// The call's graph; nullptr: it is to be launched as ever. `launch`, which enqueues it on the
  /// stream and says whether it could, may run: into a graph, with nothing done. The stream's
  /// context is current.
  template <class Launch>
  const DeviceGraph* of(const CallKey& key, DeviceStream& stream, const Launch& launch) {
    if (key.bytes == 0 || key.bytes > kMostBytes) return nullptr;
    Kept* const kept = seen(key);
    if (kept == nullptr) return nullptr;
    if (kept->times >= kSeenBefore && !kept->tried && mayMake()) {
      kept->tried = true;  // what could not be made is not tried again and again
      if (stream.beginCapture()) {
        const bool good = launch();
        DeviceGraph made = stream.endCapture();
        if (good && made) keep(*kept, std::move(made));
      }
    }
    return kept->graph ? &kept->graph : nullptr;
  }

  /// Frees all. Their context is current, or `lost`: it is gone, and they with it.
  void clear(bool lost = false);

 private:
  struct Kept {
    CallKey key;
    int times = 0;  ///< It came, less the others that came in its place.
    bool tried = false;
    bool counted = false;  ///< Among those of the process.
    DeviceGraph graph;
  };
  /// The call, seen once more; nullptr: both its places are those of calls that come more often.
  Kept* seen(const CallKey& key);
  static bool mayMake();
  static void keep(Kept& kept, DeviceGraph made);
  static void drop(Kept& kept);

  std::array<Kept, 16> kept_{};  // by a hash of the key, two places each
};

}  // namespace rondo::drop_in

#pragma once
// Collectives whose buffers lie on a device on every rank run between the devices, on a second
// Rondo communicator. A rank knows of its own memory only, so all ranks have to tell each other:
// by 4 bytes on the first communicator, in calls at which MPI lets them wait for each other.

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "api/rondo.h"
#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

struct KnownComm;

/// Whether all ranks of the job look for device memory, so that it may be everywhere. The same on
/// all ranks; written in MPI_Init.
inline bool devicesEverywhere = false;
/// RONDO_MPI=device: calls without any device memory are MPI's. The same on all ranks.
inline bool devicesOnly = false;

/// What a rank brings to a call: of buffers that are significant and not empty.
class OwnMemory {
 public:
  /// `alignment`: what kernels ask of the address.
  void add(const Elements& elements, size_t alignment = 1);
  /// What kernels cannot do here, wherever the memory is.
  void refuse() { fits_ = false; }
  bool any() const { return any_; }
  bool fits() const { return any_ && fits_; }
  /// Nothing at all, which goes any way.
  bool none() const { return !any_ && fits_; }
  const DeviceSpot& spot() const { return spot_; }

 private:
  bool any_ = false;   ///< Some memory is a device's.
  bool fits_ = true;   ///< All of it is, of one device, and as kernels take it.
  DeviceSpot spot_{};  ///< Of that.
};

/// What tells a call on devices from every other on its communicator.
struct CallKey {
  const void* send = nullptr;
  const void* recv = nullptr;  ///< nullptr: it is not told.
  size_t count = 0;
  int type = 0, op = 0;
  bool operator==(const CallKey&) const = default;
};

/// Graphs of calls that come again and again: launched so, a short one takes three quarters of the
/// time of its kernel's launch (H200).
class KeptGraphs {
 public:
  struct Kept {
    CallKey key;
    int times = 0;
    void* graph = nullptr;
  };
  /// The call, seen once more. The one that was there in its place is forgotten.
  Kept& seen(const CallKey& key);
  void clear();

 private:
  std::array<Kept, 16> kept_{};
};

/// Which way all ranks take.
enum class Way : uint8_t { Host, Device, Mpi };

/// A communicator's. MPI orders the collectives on it, those of threads too.
class DevicePath {
 public:
  DevicePath() = default;
  DevicePath(const DevicePath&) = delete;
  DevicePath& operator=(const DevicePath&) = delete;

  /// Whether agree() has something to decide: the same on all ranks.
  bool asks() const { return devicesEverywhere && (state_ != State::Refused || devicesOnly); }

  /// By all ranks, in the same blocking collective on `comm`, which is `known`. The first time that
  /// all have device memory the second communicator is made. Not successful: the first one has
  /// failed. Throws nothing.
  rondoResult_t agree(const KnownComm& known, MPI_Comm comm, const OwnMemory& mine, Way* way);

  /// Way::Device: runs call(comm, stream) and waits until its work is done, while MPI progresses.
  /// rondoUnsupported, on all ranks and with nothing done: there is no kernel. Throws Error.
  template <class Run>
  rondoResult_t run(const Run& call, const CallKey& key) {
    const ContextScope scope(context_);
    rondoResult_t result = rondoSuccess;
    if (void* const graph = key.recv == nullptr ? nullptr : graphOf(key, call)) {
      stream_->launch(graph);
    } else {
      result = call(comm_, stream_->get());
    }
    if (result == rondoSuccess) wait();
    return result;
  }

  /// Of a communicator that ends, or that has failed.
  void destroy();
  void abort();

 private:
  enum class State : uint8_t { Untried, Ready, Refused };

  void make(const KnownComm& known, MPI_Comm comm, const DeviceSpot& spot);
  void wait();

  /// nullptr: the call is to be made as ever. It is captured once, on the rank that sees it again:
  /// others may not, as a graph's kernel is the one of the call.
  template <class Run>
  void* graphOf(const CallKey& key, const Run& call) {
    constexpr int kTimes = 8;
    KeptGraphs::Kept& kept = graphs_.seen(key);
    if (kept.graph != nullptr || kept.times != kTimes || !stream_->beginCapture())
      return kept.graph;
    const rondoResult_t result = call(comm_, stream_->get());
    void* const graph = stream_->endCapture();
    if (result == rondoSuccess) {
      kept.graph = graph;
    } else if (graph != nullptr) {
      DeviceStream::destroy(graph);
    }
    return kept.graph;
  }

  State state_ = State::Untried;
  bool seen_ = false;  ///< This rank had device memory in a call since the last agreement.
  int quiet_ = 0;      ///< Agreements in a row that found none on any rank.
  int unasked_ = 0;    ///< Calls since the last agreement.
  rondoComm_t comm_ = nullptr;
  DeviceSpot at_{};  ///< Of the communicator, once Ready.
  void* context_ = nullptr;
  std::unique_ptr<DeviceStream> stream_;
  KeptGraphs graphs_;
};

}  // namespace rondo::drop_in

#pragma once
// Collectives whose buffers lie on a device on every rank run between the devices, on a second
// Rondo communicator. A rank knows of its own memory only, so all ranks have to tell each other:
// by 4 bytes on the first communicator, in calls at which MPI lets them wait for each other.

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/rondo.h"
#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/kept_graphs.h"
#include "drop_in/mpi/later_queue.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

struct KnownComm;

/// Whether all ranks of the job look for device memory, so that it may be everywhere. The same on
/// all ranks; written in MPI_Init.
inline bool devicesEverywhere = false;
/// RONDO_MPI=device: calls without any device memory are MPI's. The same on all ranks.
inline bool devicesOnly = false;

/// For how long a kernel stays for the next call, in microseconds (RONDO_MPI_LINGER); 0: it does
/// not. Written in MPI_Init.
inline int lingerMicroseconds = 0;

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
  /// all have device memory the second communicator is made. `call`: a number that differs with
  /// what MPI makes equal on all ranks; if they are not the same, calls go by way of the host,
  /// where that is an error: kernels in graphs are not compared. Not successful: the first one has
  /// failed. Throws nothing.
  rondoResult_t agree(const KnownComm& known, MPI_Comm comm, const OwnMemory& mine, uint64_t call,
                      Way* way);

  /// Way::Device: runs call(comm, stream) and waits until its work is done, while MPI progresses.
  /// rondoUnsupported, on all ranks and with nothing done: there is no kernel. Throws Error.
  template <class Run>
  rondoResult_t run(const Run& call, const CallKey& key) {
    const TurnEnds over(turn_);
    const ContextScope scope(context_);
    rondoResult_t result = rondoSuccess;
    const auto launch = [&] {
      result = call(comm_, stream_->get());
      return result == rondoSuccess;
    };
    if (near_ && mayLinger(key)) {
      launch();
      waitForKernel(result == rondoSuccess);
      return result;
    }
    if (const DeviceGraph* graph = near_ ? graphs_->of(key, *stream_, launch) : nullptr) {
      stream_->launch(*graph);
    } else {
      launch();
    }
    if (result == rondoSuccess) wait();
    return result;
  }

  /// The most that one call may have.
  static constexpr size_t kMostScratch = size_t{32} << 20;
  /// A longer one gains little by a kernel that stays, and takes more of the device.
  static constexpr size_t kMostLingering = size_t{64} << 10;
  /// Memory of `bytes` on the device on which `beside` lies, for one call of the caller's, blocking
  /// or not: what is enqueued for the next one comes later on the stream. nullptr: there is none.
  char* scratch(const void* beside, size_t bytes);

  /// Non-blocking calls.
  LaterQueue& later() { return later_; }
  /// All ranks are in one that may be for devices, of this memory here.
  void noteLater(const OwnMemory& mine);
  /// All ranks are in a blocking call: what non-blocking ones since need is made.
  void meet(const KnownComm& known, MPI_Comm comm);
  bool fits(const OwnMemory& mine) const;
  /// What this rank tells of a call; see agree().
  uint32_t wordOf(const OwnMemory& mine, uint64_t call) const;
  /// The same, so that the call goes by way of the host on all ranks.
  static uint32_t byHost(uint32_t word);
  /// Launches a call that all ranks have made, of which they say `answer`; false, on all ranks: it
  /// goes by way of the host. context() is current. Throws Error.
  bool beginLater(uint32_t answer, const Asked& asked, DeviceEvent* end);
  /// Where its work is enqueued, and memory copied that may be anybody's on the device.
  void* context() const { return context_; }
  /// Whether it is done. Throws Error.
  bool ended(const DeviceEvent& end);

  /// Of a communicator that ends, or that has failed.
  void destroy();
  void abort();

 private:
  enum class State : uint8_t { Untried, Ready, Refused };

  /// `all`: what they tell each other.
  Way wayOf(const KnownComm& known, MPI_Comm comm, const OwnMemory& mine, uint32_t all);
  void make(const KnownComm& known, MPI_Comm comm, const DeviceSpot& spot);
  /// Whether the call's kernel may stay for the next one, and that one's wait.
  bool mayLinger(const CallKey& key);
  void waitForKernel(bool launched);
  void wait();
  template <class Ended>
  static void waitUntil(const Ended& ended);
  void check();
  void letGo();

  State state_ = State::Untried;
  bool seen_ = false;  ///< This rank had device memory in a call since the last agreement.
  int quiet_ = 0;      ///< Agreements in a row that found none on any rank, as far as it matters.
  int unasked_ = 0;    ///< Calls since the last agreement.
  std::atomic<rondoComm_t> comm_ = nullptr;  ///< nullptr: none, or an error has ended it.
  DeviceSpot at_{};                          ///< Of the communicator, once Ready.
  void* context_ = nullptr;
  std::unique_ptr<DeviceStream> stream_;
  bool near_ = false;  ///< All ranks are on this host: a kernel's launch is what takes the time.
  std::unique_ptr<KeptGraphs> graphs_;
  /// The longest is the last. The others wait for the end, as calls under way may have them.
  std::vector<DeviceMemory> scratch_;
  size_t scratchBytes_ = 0;  ///< Of the last.
  int scratchDevice_ = -1;   ///< Of them all.
  DeviceTurn turn_;          ///< Of the blocking call, if threadsBeside.
  LaterQueue later_;
  bool wantsLater_ = false;  ///< There were non-blocking calls that may be for devices.
  bool laterTried_ = false;  ///< What they need was made, or could not be.
  bool laterFits_ = false;   ///< The last of them did, and
  DeviceSpot laterSpot_{};   ///< was there.
};

}  // namespace rondo::drop_in

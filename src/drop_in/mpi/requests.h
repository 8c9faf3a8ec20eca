#pragma once
// Non-blocking collectives that Rondo answers. To the program they are MPI's generalized requests,
// so that they stand in arrays beside MPI's own; this layer learns that Rondo is done with one, and
// completes it, whenever the program waits for any request or tests one.

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>

#include "api/rondo.h"
#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/later_queue.h"

namespace rondo::drop_in {

/// A collective under way: what it needs while it runs, and what follows.
class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;
  virtual void load() = 0;  ///< What it sends, before run(). May throw.
  virtual rondoResult_t run(rondoComm_t comm) noexcept = 0;  ///< Inside a group of Rondo's.
  virtual void store() = 0;                                  ///< After it succeeded. May throw.

  /// Most need little memory, which is used again.
  static void* operator new(size_t bytes);
  static void operator delete(void* block, size_t bytes) noexcept;
};

/// One non-blocking collective, and then the next one that gets its request. Alive until MPI has
/// freed that and nobody looks at it. Who still polls it for the one before polls the next one.
class Pending : public std::enable_shared_from_this<Pending> {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// It is done, or new: what it is of next. It stays done() until it runs. `asked`: it may run
  /// between devices, if all ranks say so. nullptr: it does not.
  void renew(const KnownComm& known, MPI_Comm comm, Call call, std::unique_ptr<Job> job,
             std::unique_ptr<Asked> asked);

  bool done() const { return done_.load(std::memory_order_acquire); }
  bool failed() const { return result_ != rondoSuccess; }  ///< Once done().
  /// Completes the request if Rondo is done, unless another thread is at it.
  void poll();
  void wait() { wait(false); }
  /// Waits, and leaves its request active if nothing failed, for the next call: true. False: it is
  /// completed.
  bool waitAlone();

  // For the queue of a communicator that has devices, by one thread at a time.
  bool asks() const { return asked_ != nullptr; }
  bool begun() const { return phase_.load(std::memory_order_acquire) != Phase::Asking; }
  /// Asks the other ranks, if it asks. Not successful: nothing has happened.
  rondoResult_t ask(rondoComm_t asking);
  /// Begins it if all ranks have answered; false: they have not. Throws nothing.
  bool beginAsked(const KnownComm& known);

  /// Errors that are still to come are raised on `comm`.
  void raiseOn(MPI_Comm comm) { comm_.store(comm, std::memory_order_relaxed); }
  MPI_Comm comm() const { return comm_.load(std::memory_order_relaxed); }
  Call call() const { return call_; }
  rondoResult_t result() const { return result_; }
  std::string sentence() const;

 private:
  friend class Requests;
  void wait(bool keeps);
  void waitForEnd(bool keeps);
  void settle(rondoResult_t result, bool keeps = false);
  void step();
  void beginOnHost(const KnownComm& known);
  void fail(rondoResult_t result, const std::string& sentence);
  void waitForBegin();

  /// Asking: it has not begun. Failed: it could not.
  enum class Phase : uint8_t { Asking, OnHost, OnDevice, Failed };

  MPI_Request request_ = MPI_REQUEST_NULL;
  rondoRequest_t rondo_ = nullptr;
  const KnownComm* known_ = nullptr;  ///< While it is not done.
  std::atomic<MPI_Comm> comm_{MPI_COMM_NULL};
  Call call_{};
  std::unique_ptr<Job> job_;
  std::unique_ptr<Asked> asked_;
  DeviceTurn turn_;      ///< While it may be between devices.
  uint32_t answer_ = 0;  ///< What all ranks say.
  std::atomic<Phase> phase_{Phase::OnHost};
  DeviceEvent event_;
  rondoResult_t result_ = rondoSuccess;
  std::string sentence_;
  std::atomic<bool> busy_{false};  ///< A thread is at it.
  std::atomic<bool> done_{true};
  std::atomic<bool> begins_{false};  ///< It is done, but the next call begins.
  bool kept_ = false;                ///< It is done, and its request active still.
  // Under the lock of all:
  bool idle_ = true;     ///< Its request is nobody's.
  bool listed_ = false;  ///< It is among those that are polled.
};
using Held = std::shared_ptr<Pending>;

/// How many there are that MPI has not freed, and messages of device buffers (staged.h).
inline std::atomic<size_t> pendingCount{0};
/// False: no request of the program's is the layer's business. A thread sees its own requests.
inline bool anyPending() { return pendingCount.load(std::memory_order_relaxed) != 0; }

/// Non-blocking calls of smaller blocks are MPI's: a request of Rondo's, which a second thread may
/// move on, takes 0.4 to 0.8 us longer than a small one of Open MPI's, and a quarter of its time
/// from 4 KiB (two ranks of an EPYC of family 26, 2026-11-22). 0: all are Rondo's. The same on all
/// ranks; written in MPI_Init.
inline size_t leastLater = 0;
constexpr size_t kLeastLater = 4096;
/// The same of v-collectives, whose device memory is copied to the host for MPI. Blocking ones:
/// MPI's gathering and scattering of 8 bytes takes 0.1 us, and Rondo's 0.25; from 1 KiB Rondo's is
/// the faster one (there and then). 0: all are Rondo's.
inline size_t leastUneven = 0, leastUnevenLater = 0;
constexpr size_t kLeastUneven = 512;
/// Movements that come often are tried with MPI too. Written once, in MPI_Init.
inline bool measuring = false;

/// Begins `job` and makes its request; not successful: there is none, and
/// rondoGetLastError(nullptr) says why. Throws Error or std::bad_alloc, with nothing begun.
/// `asked`: see Pending.
rondoResult_t beginPending(const KnownComm& known, MPI_Comm comm, Call call,
                           std::unique_ptr<Job> job, MPI_Request* request,
                           std::unique_ptr<Asked> asked = nullptr);

/// nullptr: the request is not Rondo's.
Held findPending(MPI_Request request);

/// MPI_Wait of one request, without MPI: waits for what it is of and sets *request to
/// MPI_REQUEST_NULL, while MPI's own stays for the next call. False: it is not Rondo's, or it has
/// failed, or ended elsewhere, and MPI is to end it.
bool endAlone(MPI_Request* request);

/// Completes what Rondo is done with, oldest first.
void pollPending();

/// `comm` is being freed: errors that are still to come are raised elsewhere.
void forgetComm(MPI_Comm comm);

/// In MPI_Finalize: lets what is under way end; what does not within a second or two is aborted.
/// Collective over MPI_COMM_WORLD.
void drainPending();

}  // namespace rondo::drop_in

#pragma once
// The handle behind rondoComm_t, and the rules of its use.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "api/comm_create.h"
#include "api/rondo.h"
#include "coll/communicator.h"

namespace rondo {
struct Forming;  // api/forming.cc
class VirtualComm;
}  // namespace rondo

/// Handles are recycled, never freed, so that a call on a destroyed one can say so instead of
/// reading freed memory.
struct rondoComm {
  enum State : uint32_t {
    kDead = 0x64656164,
    kAlive = 0x6c697665,
    kFinalized = 0x66696e69,
    kForming =
        0x666f726d,        ///< Being made in the background: `impl` and what follows are not there.
    kUnmade = 0x756e6d61,  ///< That has failed; `broken` says why.
    kParents = 0x70617265,  ///< This process was forked from the one that made it.
  };
  enum Use : uint32_t {
    kFree = 0,
    kBusy = 1,
    kAsked = 2,  ///< A question is being answered: calls wait, for much less than a microsecond.
  };

  std::atomic<uint32_t> state{kDead};
  std::atomic<uint32_t> use{kFree};
  /// Who has `impl` and what lies beside it: the handle while it is not destroyed, and each Keep.
  std::atomic<uint32_t> keepers{0};
  std::atomic<bool> unwanted{false};  ///< Whoever next finds `use` free takes it and destroys.
  std::atomic<rondo::Forming*> forming{nullptr};  ///< Of a handle that is or was being made.
  std::unique_ptr<rondo::Communicator> impl;
  /// Virtual: what answers its calls. Here, because every call looks.
  std::shared_ptr<rondo::VirtualComm> rehearsal;
  bool ownedByMpi = false;                  ///< Lives and dies with an MPI_Comm (rondoCommFromMPI).
  std::function<void()> onFree;             ///< Runs first when the handle is freed.
  std::function<void(rondoComm&)> onChild;  ///< Runs on what is made of this communicator.
  std::shared_ptr<const rondo::Config> config;  ///< What it was made with.
  uint32_t shrinks = 0;                         ///< Calls of rondoCommShrink so far.
  rondoComm* before = nullptr;                  ///< The handle that was made before this one.
  std::string broken;  ///< Why no collective may run any more; empty: it may.
  rondoResult_t brokenCode = rondoRemoteError;

  /// The sentence of the last failed call. Any thread: a watchdog may ask while a call fails.
  void noteError(const std::string& sentence);
  std::string notedError();

 private:
  std::mutex errorMutex_;
  std::string lastError_;
};

namespace rondo {

/// A handle without anything, dead.
rondoComm* newHandle();

/// A handle with `impl`, alive.
rondoComm* makeHandle(std::unique_ptr<Communicator> impl);

/// Ends the handle, for who has its `use` alone. What it holds is freed at once, or by the last
/// Keep of it; the handle itself is reused much later. Local.
void destroyHandle(rondoComm* comm);

/// Notes that `impl` was aborted, and why: a peer's doing, or calls that differ.
void breakComm(rondoComm* comm, Communicator& impl);
/// The same, for a caller that may know better: Communicator::noteBroken() is left to it.
void findBreak(rondoComm* comm, Communicator& impl);

/// "comm is NULL" and the like; rondoSuccess if the handle may be asked questions.
rondoResult_t checkHandle(rondoComm* comm, const char* call);

/// While it lives, what a handle holds stays, though another thread may end the handle meanwhile
/// (rondoCommAbort). For who has not its `use`.
class Keep {
 public:
  /// Of a communicator that is alive or finalized; else it keeps nothing.
  explicit Keep(rondoComm* comm) { take(comm); }
  /// The same; and then result() is the failure of `call`, as checkHandle() says.
  Keep(rondoComm* comm, const char* call);
  ~Keep();
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;
  explicit operator bool() const { return comm_ != nullptr; }
  rondoResult_t result() const { return result_; }

 private:
  void take(rondoComm* comm);

  rondoComm* comm_ = nullptr;
  rondoResult_t result_ = rondoSuccess;
};

/// Takes the word that keeps other threads from `comm`: `as` kBusy or kAsked. False while another
/// thread is in a call on it.
bool claimComm(rondoComm* comm, rondoComm::Use as);

/// Takes it for a call on `comm`, which is alive; rondoInvalidUsage while another thread has it.
rondoResult_t holdComm(rondoComm* comm, const char* call);
/// Gives it back, and frees the handle if rondoCommAbort came meanwhile.
void releaseComm(rondoComm* comm);

/// How a communicator of which nothing is pending, or will be once it is aborted, refuses to be
/// taken for another purpose: "has a group under way".
rondoResult_t refuseOutstanding(rondoComm* comm, const char* call);

/// One thread's use of a communicator: refuses destroyed, finalised, broken and busy ones.
class Use {
 public:
  Use(rondoComm* comm, const char* call);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  rondoResult_t result() const { return result_; }

 private:
  rondoComm* comm_;
  rondoResult_t result_ = rondoSuccess;
};

}  // namespace rondo

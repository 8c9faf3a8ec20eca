#pragma once
// Persistent collectives that Rondo does. MPI lets ranks start them in any order, and not in the
// same one (MPI-4.0, 6.13), while Rondo matches calls by their order: so each has a Rondo
// communicator to itself, on which its starts are the only calls. To the program its request is one
// of MPI's that MPI never sees started; while it is active, another one stands for it in the calls
// that end requests.

#include <mpi.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace rondo::drop_in {

/// A communicator of MPI's and of Rondo's for the starts of one persistent request at a time.
class OwnOrder {
 public:
  explicit OwnOrder(MPI_Comm comm) : comm_(comm) {}
  OwnOrder(const OwnOrder&) = delete;
  OwnOrder& operator=(const OwnOrder&) = delete;
  ~OwnOrder();
  MPI_Comm comm() const { return comm_; }
  bool busy() const { return busy_.load(std::memory_order_relaxed); }
  void setBusy(bool busy) { busy_.store(busy, std::memory_order_relaxed); }

 private:
  /// Freed with the communicator it was made of, if no request has it then: MPI_Comm_free is
  /// collective, MPI_Request_free is not. Else never.
  const MPI_Comm comm_;
  std::atomic<bool> busy_{false};
};

/// Those of one communicator. The same on all its ranks, but which are busy.
struct OwnOrders {
  /// Each takes memory of the pool, and milliseconds to make.
  static constexpr size_t kMost = 8;
  std::array<std::shared_ptr<OwnOrder>, kMost> all{};
  bool closed = false;  ///< Rondo makes no more.
};

/// Begins a persistent collective as the non-blocking one on the given communicator.
using Start = std::function<int(MPI_Comm, MPI_Request*)>;

/// How many persistent requests are Rondo's.
inline std::atomic<size_t> persistentCount{0};
inline bool anyPersistent() { return persistentCount.load(std::memory_order_relaxed) != 0; }

/// MPI has made `*request` of a collective on `comm`, or failed with `code`. Makes it Rondo's,
/// which is then true, if on all ranks it is `worth` that, in a call of all of them: `start` gives
/// what then begins it, which keeps all that it needs.
bool keepPersistent(int code, MPI_Comm comm, const MPI_Request* request,
                    const std::function<bool()>& worth, const std::function<Start()>& start);

/// In a rehearsal every persistent request is one of MPI's that MPI never sees started, and what
/// `start` gives begins what it is of, on `comm` itself: one process starts them in one order.
int rehearsePersistent(MPI_Comm comm, const std::function<Start()>& start, MPI_Request* request);

/// False: the request is none of Rondo's persistent ones. Else *code is what MPI_Start is to
/// return.
bool startPersistent(MPI_Request request, int* code);

/// The same for MPI_Request_free, which sets *request, and MPI_Cancel.
bool freePersistent(MPI_Request* request, int* code);
bool cancelPersistent(MPI_Request request, int* code);

/// `comm` is being freed, by all its ranks: errors of persistent collectives on it are raised
/// elsewhere, and orders that no request has on any rank go with it.
void forgetPersistents(MPI_Comm comm);

/// While it lives, the array has what stands for those of its requests that are active and Rondo's.
class StartedOnes {
 public:
  StartedOnes(int count, MPI_Request* requests) {
    if (anyPersistent()) [[unlikely]]
      replace(count, requests);
  }
  StartedOnes(const StartedOnes&) = delete;
  StartedOnes& operator=(const StartedOnes&) = delete;
  ~StartedOnes() {
    if (!replaced_.empty()) [[unlikely]]
      putBack();
  }

 private:
  struct Replaced {
    MPI_Request* at;
    MPI_Request programs;
  };
  void replace(int count, MPI_Request* requests);
  void putBack();
  std::vector<Replaced> replaced_;
};

}  // namespace rondo::drop_in

#pragma once
// What a virtual communicator's calls go to instead of a transport (rondo_virtual.h).

#include <span>
#include <vector>

#include "api/rondo.h"
#include "coll/exchange.h"
#include "coll/host_request.h"

namespace rondo {

class GroupTime;

/// What this rank contributes to a call and finds in its own output. No bytes: nothing.
struct OwnBlock {
  const char* from = nullptr;
  char* to = nullptr;
  size_t bytes = 0;
};

class VirtualComm {
 public:
  virtual ~VirtualComm() = default;
  /// Checked calls. Throw Error. Of slots of different lengths, key.count is the mean length, and
  /// `uneven` is nullptr.
  virtual void run(const char* call, const HostRequest& request) = 0;
  virtual void run(const char* call, std::span<const Transfer> transfers) = 0;
  /// What they would take, in picoseconds: nothing is noted. Throw Error.
  virtual uint64_t foretell(const HostRequest& request) = 0;
  virtual uint64_t foretell(std::span<const Transfer> transfers) = 0;
  /// The same for all communicators whose calls follow each other.
  virtual const void* clock() const = 0;
  /// Puts this rank's own data where they belong, if that was asked for.
  virtual void keepOwn(const OwnBlock& block) = 0;
  /// Before the handle ends; the last one of a rehearsal writes what was asked for.
  virtual void close() = 0;
};

/// Runs a checked call on a virtual communicator, or puts it into the open group.
rondoResult_t runVirtual(rondoComm* comm, const char* call, const HostRequest& request);
rondoResult_t runVirtual(rondoComm* comm, const char* call, std::span<const Transfer> transfers);

/// What the calling thread's open group holds for virtual communicators.
class VirtualGroup {
 public:
  void add(rondoComm* comm, const char* call, const HostRequest& request);
  void add(rondoComm* comm, const char* call, std::span<const Transfer> transfers);
  void clear() { calls_.clear(); }
  /// For each communicator its sends and receives at once, and then its collectives in their order,
  /// neighbours joined as a group joins them. Empties the group.
  rondoResult_t run(const char* call);
  /// What run() would take, added to *sum. Leaves the group as it is.
  rondoResult_t foretell(const char* call, GroupTime* sum) const;

 private:
  struct Call {
    rondoComm* comm;
    const char* name;
    HostRequest request;
    OwnBlock own;
    std::vector<Transfer> transfers;  ///< Not empty: it is no collective.
  };
  /// What becomes of the calls on one communicator.
  struct Work {
    std::vector<Transfer> transfers;
    std::vector<HostRequest> requests;
    std::vector<OwnBlock> owns;      ///< Of requests.
    std::vector<const char*> names;  ///< Likewise.
    /// By rank's place: each(first, end, joint), where requests[first, end) are the one call
    /// `joint`.
    template <class Each>
    void eachPass(const RankPlace& place, const Each& each) const;
  };
  /// Throws Error.
  static Work workOf(rondoComm* comm, const std::vector<Call>& calls);
  static std::vector<rondoComm*> commsOf(const std::vector<Call>& calls);
  static void runFor(rondoComm* comm, const std::vector<Call>& calls);

  std::vector<Call> calls_;
};

/// Whether it is alive and virtual. NULL and destroyed handles are not.
bool isVirtual(rondoComm* comm);
/// Throws Error if it is not virtual.
void requireVirtual(const rondoComm& comm);
/// rondoCommSplit and rondoCommDup of virtual communicators.
rondoResult_t splitVirtual(rondoComm* comm, int color, int key, rondoComm_t* newcomm,
                           const rondoConfig_t* config);
rondoResult_t dupVirtual(rondoComm* comm, rondoComm_t* newcomm, const rondoConfig_t* config);
/// Without the ranks that are excluded, which the caller is not of. Throws Error.
rondoComm_t shrinkVirtual(rondoComm* comm, const std::vector<int>& excluded,
                          const rondoConfig_t* config);
/// With new ranks behind its own, `nranks` in all, on places of the machine that are free. Throws
/// Error.
rondoComm_t growVirtual(rondoComm* comm, int nranks, const rondoConfig_t* config);
/// Before a virtual communicator's handle is destroyed.
rondoResult_t finishVirtual(rondoComm* comm, const char* call);

}  // namespace rondo

#include "api/drain.h"

#include <atomic>
#include <optional>
#include <string>

#include "api/comm_create.h"
#include "api/group.h"
#include "base/error.h"
#include "coll/progress.h"
#include "coll/waiter.h"

namespace rondo {
namespace {

/// Reading the words of all ranks costs more than a poll.
constexpr int kPollsBetweenLooks = 64;

/// False if the bound of tests has passed.
bool awaitGroups(Communicator& impl) {
  Waiter waiter(impl.pollersWait());
  for (uint64_t polls = 1; !impl.idle(); ++polls) {
    const bool moved = ProgressThread::pollAll();
    if (polls % kPollsBetweenLooks == 0) impl.closing().look();
    // Aborts are seen by the polls, which end the operations.
    if (moved) {
      waiter.reset();
    } else if (waiter.wait() == RunResult::SpinBound) {
      return false;
    }
  }
  return true;
}

std::string untakenText(const Communicator& impl, int from, int to, uint64_t bytes) {
  Fabric& fabric = *impl.fabric();
  return format(
      "%s of communicator \"%s\" sent %llu bytes that %s ended without taking: a send without a "
      "receive, or a collective that rank %d did not make; allowed: calls that have their partners "
      "on all ranks",
      fabric.rankText(from).c_str(), impl.name().c_str(), static_cast<unsigned long long>(bytes),
      fabric.rankText(to).c_str(), to);
}

/// A message between this rank, which issues nothing any more, and another that nobody will take;
/// empty: none that can be seen. What a peer of this host sends after this look that peer's own
/// look finds, since it comes after this rank's word that it has finalized. Of other hosts only
/// what has come here is seen.
std::string strayMessage(const Communicator& impl) {
  Fabric* const fabric = impl.fabric();
  if (fabric == nullptr || impl.aborted()) return "";
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const int own = impl.place().rank;
  for (int peer = 0; peer < impl.place().size; ++peer) {
    if (peer == own) continue;
    const auto here = fabric->untaken(peer, own);
    if (here) return untakenText(impl, peer, own, *here);
    if (!fabric->near(peer)) continue;
    // What the peer takes as it leaves it has taken before it says so.
    const auto there = fabric->finished(peer) ? fabric->untaken(own, peer) : std::nullopt;
    if (there) return untakenText(impl, own, peer, *there);
  }
  return "";
}

rondoResult_t breakOff(rondoComm* comm, const char* call, rondoResult_t code,
                       const std::string& what, const std::string& sentence) {
  comm->broken = what;
  comm->brokenCode = code;
  comm->impl->noteBroken(what);
  return fail(comm, code, format("%s: %s", call, sentence.c_str()));
}

/// Nothing is under way here any more.
rondoResult_t finish(rondoComm* comm, const char* call) {
  comm->impl->closing().end();
  if (!comm->broken.empty()) return rondoSuccess;
  const std::string stray = strayMessage(*comm->impl);
  return stray.empty() ? rondoSuccess : breakOff(comm, call, rondoMismatch, stray, stray);
}

}  // namespace

rondoResult_t drain(rondoComm* comm, const char* call) {
  Communicator& impl = *comm->impl;
  const bool collected = groupHolds(comm);
  if (impl.idle() && !collected) return finish(comm, call);  // what failed, its request tells
  if (const rondoResult_t bad = refuseInGroup(call)) return bad;
  impl.closing().begin();
  if (!awaitGroups(impl)) {
    return fail(comm, rondoRemoteError,
                format("%s: waited longer than RONDO_SPIN_BOUND_MS for a peer", call));
  }
  const Communicator::GroupFault& fault = impl.groupFault();
  if (fault.call == nullptr) return finish(comm, call);
  return breakOff(comm, call, fault.code, fault.what,
                  format("%s: %s", fault.call, fault.what.c_str()));
}

}  // namespace rondo

#include "coll/pair_counts.h"

#include "base/error.h"

namespace rondo {
namespace {

/// The argument of rank `rank` that says how much it sends to `peer`.
std::string sentName(Collective collective, int rank, int peer) {
  switch (collective) {
    case Collective::AllGather:
      return format("recvcounts[%d]", rank);
    case Collective::ReduceScatter:
      return format("recvcounts[%d]", peer);
    case Collective::Gather:
      return "sendcount";
    default:
      return format("sendcounts[%d]", peer);
  }
}

std::string takenName(Collective collective, int rank, int peer) {
  switch (collective) {
    case Collective::ReduceScatter:
      return format("recvcounts[%d]", rank);
    case Collective::Scatter:
      return "recvcount";
    default:
      return format("recvcounts[%d]", peer);
  }
}

}  // namespace

PairCounts pairCountsOf(Collective collective, const UnevenSlots& slots, int root, int me,
                        int peer) {
  const auto own = static_cast<size_t>(me), other = static_cast<size_t>(peer);
  switch (collective) {
    case Collective::AllGather:
      return {slots.srcCounts[own], slots.dstCounts[other]};
    case Collective::ReduceScatter:
      return {slots.srcCounts[other], slots.dstCounts[own]};
    case Collective::Gather:
      return {peer == root ? slots.srcCounts[own] : 0, me == root ? slots.dstCounts[other] : 0};
    case Collective::Scatter:
      return {me == root ? slots.srcCounts[other] : 0, peer == root ? slots.dstCounts[own] : 0};
    default:
      return {slots.srcCounts[other], slots.dstCounts[other]};
  }
}

bool canTake(Collective collective, int root, int me, int peer) {
  if (me == peer) return false;
  if (collective == Collective::Gather) return me == root;
  return collective != Collective::Scatter || peer == root;
}

std::string pairText(Collective collective, const Pair& pair) {
  const bool forth = pair.ofA.sent != pair.ofB.taken;
  const int from = forth ? pair.a : pair.b, to = forth ? pair.b : pair.a;
  const uint64_t sent = forth ? pair.ofA.sent : pair.ofB.sent;
  const uint64_t taken = forth ? pair.ofB.taken : pair.ofA.taken;
  return format("rank %d's %s is %llu where rank %d's %s is %llu", from,
                sentName(collective, from, to).c_str(), static_cast<unsigned long long>(sent), to,
                takenName(collective, to, from).c_str(), static_cast<unsigned long long>(taken));
}

}  // namespace rondo

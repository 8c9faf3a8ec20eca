#pragma once
// The checks of GatherV and ScatterV at a glance, as quick_checks.h has them for even counts: what
// passes here would pass all of uneven_checks.h and argument_checks.h. What does not pass may be
// right all the same.

#include <algorithm>

#include "api/quick_checks.h"
#include "coll/runner.h"

namespace rondo {

/// What a rooted call is given: counts and displacements, which count at the root, and this rank's
/// own count.
struct RootedBlocks {
  const size_t* counts;
  const size_t* displs;  ///< nullptr: blocks follow each other.
  uint64_t mine;
};

namespace quick_checks {

/// One side of UnevenSlots.
struct Side {
  std::vector<uint64_t>& counts;
  std::vector<uint64_t>& displs;
  void resize(size_t ranks) {
    counts.resize(ranks);
    displs.resize(ranks);
  }
};

/// Writes `given` into `all`, one block behind the other, where this rank is the root, and zeros
/// elsewhere and into `own`. Says where the last block ends; UINT64_MAX: perhaps something is
/// wrong.
inline uint64_t fillRooted(const RootedBlocks& given, bool atRoot, size_t ranks, Side all, Side own,
                           uint64_t* most) {
  uint64_t end = 0;
  for (size_t r = 0; r < ranks; ++r) {
    own.counts[r] = own.displs[r] = all.counts[r] = all.displs[r] = 0;
    if (!atRoot || given.counts[r] == 0) continue;
    const uint64_t count = given.counts[r];
    const uint64_t displ = given.displs == nullptr ? end : given.displs[r];
    if ((count | displ) >= kMostCount || displ < end) return UINT64_MAX;
    all.counts[r] = count;
    all.displs[r] = displ;
    end = displ + count;
    *most = std::max(*most, count);
  }
  return end;
}

/// What both have in common; *extent: where the root's last block ends.
inline bool plainlyRooted(const CollectiveArgs& args, int root, const RootedBlocks& given, Side all,
                          Side own, uint64_t* most, uint64_t* extent) {
  const auto type = static_cast<uint32_t>(args.type);
  if (type >= kTypeFacts.size() || kTypeFacts[type].bytes == 0) return false;
  const RankPlace& place = args.comm->impl->place();
  const auto ranks = static_cast<size_t>(place.size), me = static_cast<size_t>(place.rank);
  if (static_cast<uint32_t>(root) >= ranks || given.mine >= kMostCount) return false;
  const bool atRoot = root == place.rank;
  if (atRoot && given.counts == nullptr) return false;
  all.resize(ranks);
  own.resize(ranks);
  *most = given.mine;
  *extent = fillRooted(given, atRoot, ranks, all, own, most);
  if (*extent == UINT64_MAX || (atRoot && all.counts[me] != given.mine)) return false;
  own.counts[me] = given.mine;
  return true;
}

}  // namespace quick_checks

/// Whether nothing is wrong with a GatherV's arguments, `given` its recvcounts, displs and
/// sendcount. True: `slots` is complete. False: perhaps something is.
inline bool plainlyGathers(CollectiveArgs args, int root, const RootedBlocks& given,
                           UnevenSlots* slots) {
  uint64_t extent = 0;
  const quick_checks::Side all{slots->dstCounts, slots->dstDispls};
  const quick_checks::Side own{slots->srcCounts, slots->srcDispls};
  if (!quick_checks::plainlyRooted(args, root, given, all, own, &slots->most, &extent)) {
    return false;
  }
  const int me = args.comm->impl->place().rank;
  const uint64_t element = quick_checks::kTypeFacts[static_cast<size_t>(args.type)].bytes;
  args.usesRecv = root == me;
  args.alias = static_cast<ptrdiff_t>(all.displs[static_cast<size_t>(me)]);
  return plainlyPlaced(args, given.mine * element, extent * element);
}

/// The same of a ScatterV's sendcounts, displs and recvcount.
inline bool plainlyScatters(CollectiveArgs args, int root, const RootedBlocks& given,
                            UnevenSlots* slots) {
  uint64_t extent = 0;
  const quick_checks::Side all{slots->srcCounts, slots->srcDispls};
  const quick_checks::Side own{slots->dstCounts, slots->dstDispls};
  if (!quick_checks::plainlyRooted(args, root, given, all, own, &slots->most, &extent)) {
    return false;
  }
  const int me = args.comm->impl->place().rank;
  const uint64_t element = quick_checks::kTypeFacts[static_cast<size_t>(args.type)].bytes;
  args.usesSend = root == me;
  args.alias = -static_cast<ptrdiff_t>(all.displs[static_cast<size_t>(me)]);
  return plainlyPlaced(args, extent * element, given.mine * element);
}

}  // namespace rondo

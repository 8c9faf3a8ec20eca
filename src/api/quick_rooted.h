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

/// The slots of a thread's GatherV or ScatterV calls, kept from call to call: what such a call does
/// not use stays 0 while calls come from a communicator and a root alike.
struct RootedSlots {
  UnevenSlots slots;
  size_t ranks = 0, me = 0;
  bool atRoot = false;
};

namespace quick_checks {

/// One side of UnevenSlots.
struct Side {
  std::vector<uint64_t>& counts;
  std::vector<uint64_t>& displs;
};

inline void clear(size_t ranks, size_t me, bool atRoot, RootedSlots* kept) {
  UnevenSlots& slots = kept->slots;
  for (auto* side : {&slots.srcCounts, &slots.srcDispls, &slots.dstCounts, &slots.dstDispls}) {
    side->assign(ranks, 0);
  }
  kept->ranks = ranks;
  kept->me = me;
  kept->atRoot = atRoot;
}

/// Writes the root's blocks, one behind the other, into `all`, and their greatest length into
/// *most. Says where the last one ends; UINT64_MAX: perhaps something is wrong.
inline uint64_t fillAll(const RootedBlocks& given, size_t ranks, Side all, uint64_t* most) {
  uint64_t* const counts = all.counts.data();
  uint64_t* const displs = all.displs.data();
  uint64_t end = 0, longest = 0;
  for (size_t r = 0; r < ranks; ++r) {
    const uint64_t count = given.counts[r];
    const uint64_t displ = given.displs == nullptr ? end : count != 0 ? given.displs[r] : 0;
    if ((count | displ) >= kMostCount || (count != 0 && displ < end)) return UINT64_MAX;
    counts[r] = count;
    displs[r] = displ;
    if (count != 0) end = displ + count;
    longest = std::max(longest, count);
  }
  *most = longest;
  return end;
}

/// What both have in common; *extent: where the root's last block ends.
inline bool plainlyRooted(const CollectiveArgs& args, int root, const RootedBlocks& given,
                          RootedSlots* kept, Side all, Side own, uint64_t* extent) {
  const auto type = static_cast<uint32_t>(args.type);
  if (type >= kTypeFacts.size() || kTypeFacts[type].bytes == 0) return false;
  const RankPlace& place = args.comm->impl->place();
  const auto ranks = static_cast<size_t>(place.size), me = static_cast<size_t>(place.rank);
  if (static_cast<uint32_t>(root) >= ranks || given.mine >= kMostCount) return false;
  const bool atRoot = root == place.rank;
  if (kept->ranks != ranks || kept->me != me || kept->atRoot != atRoot) [[unlikely]]
    clear(ranks, me, atRoot, kept);
  uint64_t most = given.mine;
  *extent = 0;
  if (atRoot) {
    if (given.counts == nullptr || given.counts[me] != given.mine) return false;
    *extent = fillAll(given, ranks, all, &most);
    if (*extent == UINT64_MAX) return false;
  }
  own.counts[me] = given.mine;
  kept->slots.most = most;
  return true;
}

}  // namespace quick_checks

/// Whether nothing is wrong with a GatherV's arguments, `given` its recvcounts, displs and
/// sendcount. True: `kept` holds its slots, and `args` says what it uses. False: perhaps something
/// is.
inline bool plainlyGathers(CollectiveArgs& args, int root, const RootedBlocks& given,
                           RootedSlots* kept) {
  uint64_t extent = 0;
  const quick_checks::Side all{kept->slots.dstCounts, kept->slots.dstDispls};
  const quick_checks::Side own{kept->slots.srcCounts, kept->slots.srcDispls};
  if (!quick_checks::plainlyRooted(args, root, given, kept, all, own, &extent)) return false;
  const int me = args.comm->impl->place().rank;
  const uint64_t element = quick_checks::kTypeFacts[static_cast<size_t>(args.type)].bytes;
  args.usesRecv = root == me;
  args.alias = static_cast<ptrdiff_t>(all.displs[static_cast<size_t>(me)]);
  return plainlyPlaced(args, given.mine * element, extent * element);
}

/// The same of a ScatterV's sendcounts, displs and recvcount.
inline bool plainlyScatters(CollectiveArgs& args, int root, const RootedBlocks& given,
                            RootedSlots* kept) {
  uint64_t extent = 0;
  const quick_checks::Side all{kept->slots.srcCounts, kept->slots.srcDispls};
  const quick_checks::Side own{kept->slots.dstCounts, kept->slots.dstDispls};
  if (!quick_checks::plainlyRooted(args, root, given, kept, all, own, &extent)) return false;
  const int me = args.comm->impl->place().rank;
  const uint64_t element = quick_checks::kTypeFacts[static_cast<size_t>(args.type)].bytes;
  args.usesSend = root == me;
  args.alias = -static_cast<ptrdiff_t>(all.displs[static_cast<size_t>(me)]);
  return plainlyPlaced(args, extent * element, given.mine * element);
}

}  // namespace rondo

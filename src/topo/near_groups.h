#pragma once
// Which ranks of a host lie close together.

#include <sched.h>

#include <string>
#include <vector>

#include "topo/node_facts.h"

namespace rondo {

/// RONDO_GROUPS.
struct GroupWish {
  enum Kind { Nearest, Off, Level, Listed } kind = Nearest;
  Near level = Near::L3;  ///< With Level.
  std::vector<int> list;  ///< With Listed: a group for every rank.
};

/// "", "off", "l3", "numa", "package" or "0,0,1,1". Throws Error(rondoInvalidArgument) that says
/// what is allowed, also where a list has not `ranks` numbers; 0: nobody knows how many ranks.
GroupWish parseGroups(const std::string& text, int ranks);

/// The wish of `members`, ranks of a communicator whose wish is `text`, in their new order: a
/// list's numbers of theirs, and anything else as it is. Without members, of which nothing is known
/// yet: as it is, and a list is none.
std::string groupsOfMembers(const std::string& text, const std::vector<int>& members);

/// A group for every rank, by its binding: ranks whose CPUs lie in one L3 (NUMA node, package) are
/// a group; those whose CPUs lie in several, or nobody knows where, are one more. Without a wish,
/// the nearest level at which there are several groups and one of them has several ranks. Off, and
/// where there is no such level: all ranks are one group.
std::vector<int> nearGroups(const GroupWish& wish, const std::vector<cpu_set_t>& bindings,
                            const CpuPlaces& places);

}  // namespace rondo

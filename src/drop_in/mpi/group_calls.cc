// MPI's groups: MPI's own, but in a rehearsal, where a group of a virtual communicator is a list of
// ranks that the layer keeps behind a handle of MPI's.

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_groups.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// Never destroyed, as the layer's other state.
struct State {
  std::mutex mutex;
  std::unordered_map<MPI_Group, Members> groups;
};
State& state() {
  static State* const one = new State;
  return *one;
}

int refuse(const char* call, int errorClass, const std::string& what) {
  return raiseMistake(MPI_COMM_WORLD, errorClass, std::string(call) + ": " + what);
}
int refuseUnknown(const char* call) {
  return refuse(call, MPI_ERR_GROUP,
                "in a rehearsal (RONDO_VIRTUAL) it is not known which ranks of both groups are "
                "the same; allowed: groups of communicators made by MPI_Comm_create, "
                "MPI_Cart_create and the like of one communicator");
}

/// The handle is of a group of one process that nobody else has.
int keepGroup(Members members, MPI_Group* made) {
  if (members.ranks.empty()) {
    *made = MPI_GROUP_EMPTY;
    return MPI_SUCCESS;
  }
  MPI_Group own = MPI_GROUP_NULL;
  const int first = 0;
  int code = PMPI_Comm_group(MPI_COMM_SELF, &own);
  if (code != MPI_SUCCESS) return code;
  code = PMPI_Group_incl(own, 1, &first, made);
  PMPI_Group_free(&own);
  if (code != MPI_SUCCESS) return code;
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().groups[*made] = std::move(members);
  return MPI_SUCCESS;
}

/// The ranks that remain of `members` after `chosen` (in its order) or without it.
int choose(const char* call, const Members& members, const std::vector<int>& chosen, bool without,
           MPI_Group* made) {
  const int size = static_cast<int>(members.ranks.size());
  std::vector<bool> named(members.ranks.size());
  for (const int position : chosen) {
    if (position < 0 || position >= size || named[static_cast<size_t>(position)]) {
      return refuse(call, MPI_ERR_RANK,
                    format("rank %d; allowed: 0 to %d, each once", position, size - 1));
    }
    named[static_cast<size_t>(position)] = true;
  }
  if (!without) return keepGroup(members.at(chosen), made);
  std::vector<int> rest;
  for (int i = 0; i < size; ++i) {
    if (!named[static_cast<size_t>(i)]) rest.push_back(i);
  }
  return keepGroup(members.at(rest), made);
}

/// MPI's triples: first, last, stride.
bool expand(int number, int ranges[][3], std::vector<int>* out) {
  for (int i = 0; i < number; ++i) {
    const int last = ranges[i][1], stride = ranges[i][2];
    if (stride == 0) return false;
    for (int at = ranges[i][0]; stride > 0 ? at <= last : at >= last; at += stride)
      out->push_back(at);
  }
  return true;
}

/// This rank, in MPI_COMM_WORLD's numbers.
Members ownMember() {
  Members self;
  if (const KnownComm* world = rehearsed(MPI_COMM_WORLD)) self = *world->rehearsed.members;
  self.ranks = {self.own};
  return self;
}

/// A group of MPI's own has this rank alone, as that of a copy of MPI_COMM_SELF, or nobody.
bool isOwnMember(MPI_Group group) {
  int size = 0, place = MPI_UNDEFINED;
  PMPI_Group_size(group, &size);
  PMPI_Group_rank(group, &place);
  return size == 1 && place == 0;
}

/// Both sides of an operation on two groups; false: they are MPI's.
struct Both {
  Members one, other;
  bool virtually = false;
  bool comparable = true;
  Both(MPI_Group first, MPI_Group second) {
    if (!rehearsing) return;
    const bool kept = findGroup(first, &one), otherKept = findGroup(second, &other);
    virtually = kept || otherKept;
    if (!virtually) return;
    if (!kept && isOwnMember(first)) one = ownMember();
    if (!otherKept && isOwnMember(second)) other = ownMember();
    if (one.ranks.empty()) one.universe = other.universe, one.own = other.own;
    if (other.ranks.empty()) other.universe = one.universe;
    comparable = one.universe == other.universe;
  }
};

/// `combine` gives the ranks of the third group.
template <class Mpis, class Combine>
int operate(const char* call, MPI_Group first, MPI_Group second, const Mpis& mpis,
            const Combine& combine, MPI_Group* made) {
  const Both both(first, second);
  if (!both.virtually) [[likely]]
    return mpis();
  if (!both.comparable) return refuseUnknown(call);
  Members out = both.one;
  combine(both.one, both.other, &out.ranks);
  return keepGroup(std::move(out), made);
}

/// Whether two lists have the same ranks, and in the same order.
int compare(const char* call, const Members& first, const Members& second, int* result) {
  std::vector<int> one = first.ranks, other = second.ranks;
  *result = MPI_UNEQUAL;
  if (one.size() != other.size()) return MPI_SUCCESS;
  if (first.universe != second.universe) return refuseUnknown(call);
  if (one == other) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  if (one == other) *result = MPI_SIMILAR;
  return MPI_SUCCESS;
}

/// Of a communicator that is not virtual: this rank, which is alone in it.
Members membersOf(MPI_Comm comm) {
  if (const KnownComm* known = rehearsed(comm)) return *known->rehearsed.members;
  return ownMember();
}

}  // namespace

namespace rondo::drop_in {

int makeGroup(Members members, MPI_Group* made) { return keepGroup(std::move(members), made); }

int compareComms(MPI_Comm first, MPI_Comm second, int* result) {
  int inter = 0;
  for (const MPI_Comm comm : {first, second}) {
    int one = 0;
    if (const int code = PMPI_Comm_test_inter(comm, &one)) return code;
    inter |= one;
  }
  *result = MPI_UNEQUAL;
  if (inter != 0) return MPI_SUCCESS;
  const int code = compare("MPI_Comm_compare", membersOf(first), membersOf(second), result);
  if (code == MPI_SUCCESS && *result == MPI_IDENT) *result = MPI_CONGRUENT;
  return code;
}

bool findGroup(MPI_Group group, Members* members) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  const auto found = state().groups.find(group);
  if (found == state().groups.end()) return false;
  *members = found->second;
  return true;
}

int rehearseCreate(const KnownComm& known, MPI_Comm comm, const char* call, MPI_Group group,
                   MPI_Comm* made) {
  Members members;
  *made = MPI_COMM_NULL;
  if (!findGroup(group, &members) && group != MPI_GROUP_EMPTY) {
    return raiseMistake(comm, MPI_ERR_GROUP, std::string(call) + ": no group of the communicator");
  }
  const Members& all = *known.rehearsed.members;
  std::vector<int> positions;
  for (const int number : members.ranks) {
    const int position = members.universe == all.universe ? all.find(number) : -1;
    if (position < 0) {
      return raiseMistake(comm, MPI_ERR_GROUP,
                          std::string(call) + ": a rank of the group is none of the communicator");
    }
    positions.push_back(position);
  }
  if (members.find(all.own) < 0) return MPI_SUCCESS;
  return rehearsePart(known, comm,
                      {ruleOf(positions), {std::make_shared<const Members>(all.at(positions)), {}}},
                      made);
}

}  // namespace rondo::drop_in

int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  if (!rehearsing) [[likely]]
    return PMPI_Comm_group(comm, group);
  if (rehearsed(comm) == nullptr && comm != MPI_COMM_SELF) return PMPI_Comm_group(comm, group);
  return keepGroup(membersOf(comm), group);
}

int MPI_Group_free(MPI_Group* group) {
  if (rehearsing && group != nullptr) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().groups.erase(*group);
  }
  return PMPI_Group_free(group);
}

int MPI_Group_size(MPI_Group group, int* size) {
  Members members;
  if (!rehearsing || !findGroup(group, &members)) return PMPI_Group_size(group, size);
  *size = static_cast<int>(members.ranks.size());
  return MPI_SUCCESS;
}

int MPI_Group_rank(MPI_Group group, int* rank) {
  Members members;
  if (!rehearsing || !findGroup(group, &members)) return PMPI_Group_rank(group, rank);
  const int position = members.find(members.own);
  *rank = position < 0 ? MPI_UNDEFINED : position;
  return MPI_SUCCESS;
}

int MPI_Group_incl(MPI_Group group, int number, const int ranks[], MPI_Group* made) {
  Members members;
  if (!rehearsing || !findGroup(group, &members)) {
    return PMPI_Group_incl(group, number, ranks, made);
  }
  return choose("MPI_Group_incl", members, {ranks, ranks + number}, /*without=*/false, made);
}

int MPI_Group_excl(MPI_Group group, int number, const int ranks[], MPI_Group* made) {
  Members members;
  if (!rehearsing || !findGroup(group, &members)) {
    return PMPI_Group_excl(group, number, ranks, made);
  }
  return choose("MPI_Group_excl", members, {ranks, ranks + number}, /*without=*/true, made);
}

int MPI_Group_range_incl(MPI_Group group, int number, int ranges[][3], MPI_Group* made) {
  Members members;
  std::vector<int> ranks;
  if (!rehearsing || !findGroup(group, &members) || !expand(number, ranges, &ranks)) {
    return PMPI_Group_range_incl(group, number, ranges, made);
  }
  return choose("MPI_Group_range_incl", members, ranks, /*without=*/false, made);
}

int MPI_Group_range_excl(MPI_Group group, int number, int ranges[][3], MPI_Group* made) {
  Members members;
  std::vector<int> ranks;
  if (!rehearsing || !findGroup(group, &members) || !expand(number, ranges, &ranks)) {
    return PMPI_Group_range_excl(group, number, ranges, made);
  }
  return choose("MPI_Group_range_excl", members, ranks, /*without=*/true, made);
}

int MPI_Group_union(MPI_Group first, MPI_Group second, MPI_Group* made) {
  return operate(
      "MPI_Group_union", first, second, [&] { return PMPI_Group_union(first, second, made); },
      [](const Members& one, const Members& other, std::vector<int>* out) {
        for (const int rank : other.ranks) {
          if (one.find(rank) < 0) out->push_back(rank);
        }
      },
      made);
}

int MPI_Group_intersection(MPI_Group first, MPI_Group second, MPI_Group* made) {
  return operate(
      "MPI_Group_intersection", first, second,
      [&] { return PMPI_Group_intersection(first, second, made); },
      [](const Members&, const Members& other, std::vector<int>* out) {
        std::erase_if(*out, [&](int rank) { return other.find(rank) < 0; });
      },
      made);
}

int MPI_Group_difference(MPI_Group first, MPI_Group second, MPI_Group* made) {
  return operate(
      "MPI_Group_difference", first, second,
      [&] { return PMPI_Group_difference(first, second, made); },
      [](const Members&, const Members& other, std::vector<int>* out) {
        std::erase_if(*out, [&](int rank) { return other.find(rank) >= 0; });
      },
      made);
}

int MPI_Group_compare(MPI_Group first, MPI_Group second, int* result) {
  const Both both(first, second);
  if (!both.virtually) return PMPI_Group_compare(first, second, result);
  return compare("MPI_Group_compare", both.one, both.other, result);
}

int MPI_Group_translate_ranks(MPI_Group first, int number, const int ranks[], MPI_Group second,
                              int translated[]) {
  const char* const call = "MPI_Group_translate_ranks";
  const Both both(first, second);
  if (!both.virtually) return PMPI_Group_translate_ranks(first, number, ranks, second, translated);
  if (!both.comparable) return refuseUnknown(call);
  const int size = static_cast<int>(both.one.ranks.size());
  for (int i = 0; i < number; ++i) {
    translated[i] = MPI_PROC_NULL;
    if (ranks[i] == MPI_PROC_NULL) continue;
    if (ranks[i] < 0 || ranks[i] >= size) {
      return refuse(call, MPI_ERR_RANK, format("rank %d; allowed: 0 to %d", ranks[i], size - 1));
    }
    const int position = both.other.find(both.one.ranks[static_cast<size_t>(ranks[i])]);
    translated[i] = position < 0 ? MPI_UNDEFINED : position;
  }
  return MPI_SUCCESS;
}

// Communicators that grow: new ranks join those of a running one.

#include <cstring>
#include <numeric>

#include "api/children.h"
#include "api/comm_bootstrap.h"
#include "api/forming.h"
#include "api/handle.h"
#include "api/join.h"
#include "api/profile_range.h"
#include "api/virtual_comm.h"
#include "base/error.h"
#include "p2p/boot_id.h"
#include "topo/near_groups.h"

namespace rondo {
namespace {

constexpr const char* kCall = "rondoCommGrow";

/// What the ranks of the old communicator tell each other before anybody joins anything.
struct Wish {
  int32_t nranks;
  int32_t hasId;
  rondoUniqueId id;
};

std::vector<int> everyoneOf(const Communicator& comm) {
  std::vector<int> all(static_cast<size_t>(comm.place().size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void requireOldArguments(const rondoComm& comm, int nranks, int rank, const rondoUniqueId* id,
                         rondoComm_t* newcomm) {
  requireOutput(newcomm);
  const int size = comm.impl->place().size;
  if (rank != -1) {
    throw Error(
        rondoInvalidArgument,
        format("argument rank is %d; allowed: -1 for a rank of comm, which keeps its number",
               rank));
  }
  if (nranks <= size) {
    throw Error(rondoInvalidArgument,
                format("argument nranks is %d; allowed: from %d, for communicator \"%s\" has %d "
                       "ranks already",
                       nranks, size + 1, comm.impl->name().c_str(), size));
  }
  if (id == nullptr) return;
  const auto members = readId(*id).members;
  if (members != static_cast<uint32_t>(size)) {
    throw Error(rondoInvalidUsage,
                members == 0 ? std::string("id is one of rondoGetUniqueId; allowed: one of "
                                           "rondoCommGetUniqueId on this communicator")
                             : format("id is for a communicator of %u ranks, this one has %d",
                                      members, size));
  }
}

/// The id that one of the ranks gave. Depends on `all` alone, so that all throw the same.
rondoUniqueId agreedId(const std::vector<Wish>& all) {
  const Wish* giver = nullptr;
  for (const Wish& wish : all) {
    const auto rank = static_cast<int>(&wish - all.data());
    if (wish.nranks != all[0].nranks) {
      throw Error(rondoInvalidUsage, format("rank %d says nranks is %d, rank 0 says %d", rank,
                                            wish.nranks, all[0].nranks));
    }
    if (wish.hasId == 0) continue;
    if (giver != nullptr && std::memcmp(&giver->id, &wish.id, sizeof wish.id) != 0) {
      throw Error(rondoInvalidUsage,
                  format("ranks %d and %d give different ids; allowed: one id, on the rank that "
                         "made it",
                         static_cast<int>(giver - all.data()), rank));
    }
    giver = &wish;
  }
  if (giver == nullptr) {
    throw Error(rondoInvalidUsage,
                "no rank gives an id; allowed: the id of rondoCommGetUniqueId on one rank of comm");
  }
  return giver->id;
}

/// A rehearsal waits for nobody: new ranks are there when they are asked for.
rondoResult_t growRehearsed(rondoComm_t comm, int nranks, const rondoUniqueId* id, int rank,
                            rondoComm_t* newcomm, const rondoConfig_t* given) {
  return guarded(comm, kCall, [&] {
    requireIdle(*comm);
    requireOldArguments(*comm, nranks, rank, id, newcomm);
    *newcomm = growVirtual(comm, nranks, given);
  });
}

rondoResult_t growOld(rondoComm_t comm, int nranks, const rondoUniqueId* id, int rank,
                      rondoComm_t* newcomm, const rondoConfig_t* given) {
  const Use use(comm, kCall);
  if (use.result() != rondoSuccess) return use.result();
  if (comm->rehearsal != nullptr) return growRehearsed(comm, nranks, id, rank, newcomm, given);
  Communicator& parent = *comm->impl;
  Joining joining;
  const rondoResult_t bad = guarded(comm, kCall, [&] {
    requireIdle(*comm);
    CommBootstrap old(parent, everyoneOf(parent));
    Wish mine{};
    together(old, [&] {
      requireOldArguments(*comm, nranks, rank, id, newcomm);
      joining = prepareJoining(kCall, id != nullptr ? *id : rondoUniqueId{}, nranks,
                               parent.place().rank, given);
      if (joining.wrong) throw *joining.wrong;
      joining.config = childConfig(kCall, *comm, given, Child::MayNotWait);
      joining.config.options.groups = groupsOfMembers(joining.config.options.groups, {});
      joining.hook = parent.wait().hook;
      mine = {nranks, id != nullptr ? 1 : 0, joining.id};
    });
    std::vector<Wish> all(static_cast<size_t>(old.size()));
    old.allGather(&mine, sizeof mine, all.data());
    joining.id = agreedId(all);
  });
  if (parent.aborted() && comm->broken.empty()) breakComm(comm, parent);
  if (bad != rondoSuccess) return bad;
  return join(kCall, newcomm, joining, [onChild = comm->onChild](rondoComm& child) {
    if (onChild) onChild(child);
  });
}

/// A process answers for it; nobody does for a virtual communicator's.
bool answered(const IdBytes& id) { return id.endpoints[0].port != 0; }

rondoResult_t growNew(int nranks, const rondoUniqueId* id, int rank, rondoComm_t* newcomm,
                      const rondoConfig_t* given) {
  Joining joining;
  const rondoResult_t bad = guarded(nullptr, kCall, [&] {
    requireOutput(newcomm);
    if (id == nullptr) {
      throw Error(rondoInvalidArgument,
                  "argument id is NULL, and so is comm; allowed: a communicator, or the id of "
                  "rondoCommGetUniqueId");
    }
    const auto members = static_cast<int>(readId(*id).members);
    if (members == 0) {
      throw Error(rondoInvalidUsage,
                  "id is one of rondoGetUniqueId; allowed: one of rondoCommGetUniqueId");
    }
    if (!answered(readId(*id))) {
      throw Error(rondoInvalidUsage,
                  "id is of a virtual communicator, which no other process joins; allowed: "
                  "rondoCommInitVirtual with all ranks, as one of the new ones");
    }
    if (nranks <= members) {
      throw Error(rondoInvalidArgument,
                  format("argument nranks is %d; allowed: from %d, for the communicator has %d "
                         "ranks already",
                         nranks, members + 1, members));
    }
    if (rank < members || rank >= nranks) {
      throw Error(rondoInvalidArgument,
                  format("argument rank is %d; allowed: %d to %d (0 to %d are in the communicator)",
                         rank, members, nranks - 1, members - 1));
    }
    joining = prepareJoining(kCall, *id, nranks, rank, given);
  });
  return bad != rondoSuccess ? bad : join(kCall, newcomm, joining, {});
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoCommGetUniqueId(rondoComm_t comm, rondoUniqueId* id) {
  const char* const call = "rondoCommGetUniqueId";
  const rondo::Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  return rondo::guarded(comm, call, [&] {
    if (id == nullptr) {
      throw rondo::Error(rondoInvalidArgument,
                         "argument id is NULL; allowed: where to write the id");
    }
    if (comm->rehearsal != nullptr) {
      *id = rondo::packId({}, {}, "", comm->impl->place().size);
      return;
    }
    rondo::makeUniqueId(rondo::thisHost(), id, rondo::readBootOptions().netInterfaces,
                        comm->impl->place().size);
  });
}

rondoResult_t rondoCommGrow(rondoComm_t comm, int nranks, const rondoUniqueId* id, int rank,
                            rondoComm_t* newcomm, const rondoConfig_t* config) {
  const rondo::LifeRange range("rondoCommGrow");
  return comm == nullptr ? rondo::growNew(nranks, id, rank, newcomm, config)
                         : rondo::growOld(comm, nranks, id, rank, newcomm, config);
}

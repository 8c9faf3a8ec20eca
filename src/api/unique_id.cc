// The door for launchers other than MPI.

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>

#include "api/forming.h"
#include "api/join.h"
#include "api/profile_range.h"
#include "base/options.h"
#include "p2p/boot_id.h"
#include "p2p/net_interfaces.h"
#include "topo/node_facts.h"

namespace rondo {
namespace {

std::unique_ptr<Communicator> joinAndBuild(const Joining& joining) {
  const BootWait wait(nullptr, joining.hook);
  std::vector<rondoUniqueId> ids = joining.moreIds;
  ids.insert(ids.begin(), joining.id);
  IdBootstrap boot(ids, joining.nranks, joining.rank, joining.host,
                   static_cast<int>(joining.boot.bootTimeoutMs), joining.boot.netInterfaces);
  together(boot, [&] {
    if (joining.wrong) throw *joining.wrong;
  });
  return buildComm(boot, joining.config, joining.hook);
}

void requireIdOfNewGroup(const rondoUniqueId& id) {
  if (readId(id).members == 0) return;
  throw Error(rondoInvalidUsage,
              "id is one of rondoCommGetUniqueId, for a communicator that grows; allowed: one of "
              "rondoGetUniqueId, or rondoCommGrow");
}

/// An id serves one part of the ranks.
void requireDifferentIds(std::span<const rondoUniqueId> ids) {
  std::map<Secret, size_t> known;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto [at, isNew] = known.emplace(readId(ids[i]).secret, i);
    if (!isNew) {
      throw Error(
          rondoInvalidArgument,
          format("argument ids has the same id at %zu and %zu; allowed: different ones, each "
                 "of a rondoGetUniqueId of its own",
                 at->second, i));
    }
  }
}

rondoResult_t initRank(const char* call, rondoComm_t* comm, int nranks,
                       std::span<const rondoUniqueId> ids, int rank, const rondoConfig_t* config) {
  Joining joining;
  const rondoResult_t bad = guarded(nullptr, call, [&] {
    if (nranks < 1) {
      throw Error(rondoInvalidArgument, format("argument nranks is %d; allowed: from 1", nranks));
    }
    if (rank < 0 || rank >= nranks) {
      throw Error(rondoInvalidArgument,
                  format("argument rank is %d; allowed: 0 to %d", rank, nranks - 1));
    }
    for (const rondoUniqueId& id : ids) requireIdOfNewGroup(id);
    requireDifferentIds(ids);
    joining = prepareJoining(call, ids[0], nranks, rank, config);
    joining.moreIds.assign(ids.begin() + 1, ids.end());
  });
  if (bad != rondoSuccess) return bad;
  rondoComm_t nowhere = nullptr;
  if (comm == nullptr) {
    joining.wrong = Error(rondoInvalidArgument,
                          "argument comm is NULL; allowed: where to write the communicator");
    joining.config.blocking = true;
  }
  return join(call, comm == nullptr ? &nowhere : comm, joining, {});
}

}  // namespace

IdHost thisHost() {
  const HostId host = readHostId("");
  return {host.hash, host.name};
}

Joining prepareJoining(const char* call, const rondoUniqueId& id, int nranks, int rank,
                       const rondoConfig_t* config) {
  Joining out;
  out.id = id;
  out.nranks = nranks;
  out.rank = rank;
  out.host = thisHost();
  try {
    const Options boot = readBootOptions();
    chooseInterface(listInterfaces(), boot.netInterfaces);
    out.boot = boot;
    out.config = checkConfig(call, config);
  } catch (const Error& error) {
    out.wrong = error;
    out.config.blocking = !asksNotToWait(config);
  }
  return out;
}

rondoResult_t join(const char* call, rondoComm_t* comm, const Joining& joining,
                   const std::function<void(rondoComm&)>& adopt) {
  return makeNowOrInBackground(
      call, comm, joining.config, [joining] { return joinAndBuild(joining); }, adopt);
}

}  // namespace rondo

rondoResult_t rondoGetUniqueId(rondoUniqueId* id) {
  return rondo::guarded(nullptr, "rondoGetUniqueId", [&] {
    if (id == nullptr) {
      throw rondo::Error(rondoInvalidArgument,
                         "argument id is NULL; allowed: where to write the id");
    }
    rondo::makeUniqueId(rondo::thisHost(), id, rondo::readBootOptions().netInterfaces);
  });
}

rondoResult_t rondoCommInitRank(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank) {
  const rondo::LifeRange range("rondoCommInitRank");
  return rondo::initRank("rondoCommInitRank", comm, nranks, {&id, 1}, rank, nullptr);
}

rondoResult_t rondoCommInitRankConfig(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank,
                                      const rondoConfig_t* config) {
  const rondo::LifeRange range("rondoCommInitRankConfig");
  return rondo::initRank("rondoCommInitRankConfig", comm, nranks, {&id, 1}, rank, config);
}

rondoResult_t rondoCommInitRankScalable(rondoComm_t* comm, int nranks, const rondoUniqueId* ids,
                                        int idCount, int rank, const rondoConfig_t* config) {
  const rondo::LifeRange range("rondoCommInitRankScalable");
  const char* const call = "rondoCommInitRankScalable";
  const rondoResult_t bad = rondo::guarded(nullptr, call, [&] {
    const int most = std::min(std::max(nranks, 1), rondo::wire::kMostIds);
    if (idCount < 1 || idCount > most) {
      throw rondo::Error(rondoInvalidArgument,
                         rondo::format("argument idCount is %d; allowed: 1 to %d (nranks, at most "
                                       "%d)",
                                       idCount, most, rondo::wire::kMostIds));
    }
    if (ids == nullptr) {
      throw rondo::Error(rondoInvalidArgument,
                         rondo::format("argument ids is NULL; allowed: idCount (%d) ids", idCount));
    }
  });
  if (bad != rondoSuccess) return bad;
  return rondo::initRank(call, comm, nranks, {ids, static_cast<size_t>(idCount)}, rank, config);
}

// The door for launchers other than MPI.

#include <cstddef>

#include "api/forming.h"
#include "api/join.h"
#include "base/options.h"
#include "p2p/boot_id.h"
#include "p2p/net_interfaces.h"
#include "topo/node_facts.h"

namespace rondo {
namespace {

std::unique_ptr<Communicator> joinAndBuild(const Joining& joining) {
  const BootWait wait(nullptr, joining.hook);
  IdBootstrap boot(joining.id, joining.nranks, joining.rank, joining.host,
                   static_cast<int>(joining.boot.bootTimeoutMs), joining.boot.netInterfaces);
  together(boot, [&] {
    if (joining.wrong) throw *joining.wrong;
  });
  return buildComm(boot, joining.config, joining.hook);
}

rondoResult_t initRank(const char* call, rondoComm_t* comm, int nranks, const rondoUniqueId& id,
                       int rank, const rondoConfig_t* config) {
  Joining joining;
  const rondoResult_t bad = guarded(nullptr, call, [&] {
    if (nranks < 1) {
      throw Error(rondoInvalidArgument, format("argument nranks is %d; allowed: from 1", nranks));
    }
    if (rank < 0 || rank >= nranks) {
      throw Error(rondoInvalidArgument,
                  format("argument rank is %d; allowed: 0 to %d", rank, nranks - 1));
    }
    if (readId(id).members != 0) {
      throw Error(rondoInvalidUsage,
                  "id is one of rondoCommGetUniqueId, for a communicator that grows; allowed: one "
                  "of rondoGetUniqueId, or rondoCommGrow");
    }
    joining = prepareJoining(call, id, nranks, rank, config);
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
  return rondo::initRank("rondoCommInitRank", comm, nranks, id, rank, nullptr);
}

rondoResult_t rondoCommInitRankConfig(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank,
                                      const rondoConfig_t* config) {
  return rondo::initRank("rondoCommInitRankConfig", comm, nranks, id, rank, config);
}

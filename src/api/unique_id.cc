// The door for launchers other than MPI.

#include <optional>

#include "api/comm_create.h"
#include "api/handle.h"
#include "base/error.h"
#include "base/options.h"
#include "p2p/local_bootstrap.h"
#include "p2p/net_interfaces.h"
#include "topo/node_facts.h"

namespace {

rondo::IdHost thisHost() {
  const rondo::HostId host = rondo::readHostId("");
  return {host.hash, host.name};
}

/// The settings for joining. What is wrong with them goes to `wrong`, and the defaults are used: a
/// rank that stayed away would keep the others waiting instead of telling them.
rondo::Options bootOptions(std::optional<rondo::Error>* wrong) {
  try {
    rondo::Options options = rondo::readBootOptions();
    rondo::chooseInterface(rondo::listInterfaces(), options.netInterfaces);
    return options;
  } catch (const rondo::Error& error) {
    *wrong = error;
    return {};
  }
}

rondoResult_t initRank(const char* call, rondoComm_t* comm, int nranks, const rondoUniqueId& id,
                       int rank, const rondoConfig_t* config) {
  return rondo::guarded(nullptr, call, [&] {
    if (nranks < 1) {
      throw rondo::Error(rondoInvalidArgument,
                         rondo::format("argument nranks is %d; allowed: from 1", nranks));
    }
    if (rank < 0 || rank >= nranks) {
      throw rondo::Error(rondoInvalidArgument,
                         rondo::format("argument rank is %d; allowed: 0 to %d", rank, nranks - 1));
    }
    std::optional<rondo::Error> wrong;
    const rondo::Options options = bootOptions(&wrong);
    rondo::LocalBootstrap boot(id, nranks, rank, thisHost(),
                               static_cast<int>(options.bootTimeoutMs), options.netInterfaces);
    // Joined first: what is wrong on this rank only becomes everybody's error instead of their
    // wait.
    rondo::Config checked;
    rondo::together(boot, [&] {
      if (wrong) throw *wrong;
      if (comm == nullptr) {
        throw rondo::Error(rondoInvalidArgument,
                           "argument comm is NULL; allowed: where to write the communicator");
      }
      checked = rondo::checkConfig(call, config);
    });
    *comm = rondo::createComm(boot, checked, {}).release();
  });
}

}  // namespace

rondoResult_t rondoGetUniqueId(rondoUniqueId* id) {
  return rondo::guarded(nullptr, "rondoGetUniqueId", [&] {
    if (id == nullptr) {
      throw rondo::Error(rondoInvalidArgument,
                         "argument id is NULL; allowed: where to write the id");
    }
    rondo::makeUniqueId(thisHost(), id, rondo::readBootOptions().netInterfaces);
  });
}

rondoResult_t rondoCommInitRank(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank) {
  return initRank("rondoCommInitRank", comm, nranks, id, rank, nullptr);
}

rondoResult_t rondoCommInitRankConfig(rondoComm_t* comm, int nranks, rondoUniqueId id, int rank,
                                      const rondoConfig_t* config) {
  return initRank("rondoCommInitRankConfig", comm, nranks, id, rank, config);
}

#pragma once
// Joining a group by its unique id, for a new communicator or one that grows.

#include <optional>
#include <string>
#include <vector>

#include "api/comm_create.h"
#include "base/error.h"
#include "p2p/id_bootstrap.h"

namespace rondo {

/// This host, as ids name it.
IdHost thisHost();

/// What a rank needs to join. An error of this rank alone waits in `wrong` until it has joined, and
/// then is everybody's: if it stayed away, the others would wait for it.
struct Joining {
  rondoUniqueId id{};
  std::vector<rondoUniqueId> moreIds{};  ///< Behind `id`, if there are several.
  int nranks = 0;
  int rank = 0;
  Config config;
  IdHost host;
  Options boot;
  std::optional<Error> wrong;
  WaitHook hook;  ///< Of the communicator; also called while ranks are waited for. May be empty.
};

/// Reads the settings. `config` (may be nullptr) is checked; `call` names the C function.
Joining prepareJoining(const char* call, const rondoUniqueId& id, int nranks, int rank,
                       const rondoConfig_t* config);

/// Joins and builds the communicator, at once or, if its configuration says so, in the background:
/// see makeNowOrInBackground (api/forming.h).
rondoResult_t join(const char* call, rondoComm_t* comm, const Joining& joining,
                   const std::function<void(rondoComm&)>& adopt);

}  // namespace rondo

#pragma once
// The unique-id door for the processes and threads of one host.

#include <string>

#include "api/rondo.h"
#include "p2p/bootstrap.h"
#include "p2p/fd_exchange.h"
#include "p2p/id_wire.h"

namespace rondo {

/// The host that a unique id is good for (topo's readHostId without override).
struct IdHost {
  uint64_t hash;
  std::string name;
};

/// Makes an id; this process answers for it from now on. Throws Error.
void makeUniqueId(const IdHost& host, rondoUniqueId* id);

/// One rank's connection to the process that made the id. The constructor blocks until all ranks
/// have joined, or throws: rondoInvalidArgument (not an id, rank out of range), rondoInvalidUsage
/// (duplicate rank, ranks disagree on nranks), rondoUnsupported (id of another host),
/// rondoSystemError (nobody answers; ranks that did not come, by number).
class LocalBootstrap : public Bootstrap {
 public:
  LocalBootstrap(const rondoUniqueId& id, int nranks, int rank, const IdHost& host,
                 int limitMs = 30000);

  int rank() const override { return rank_; }
  int size() const override { return nranks_; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override;

 private:
  void connectToMaker();
  void sendAll(const void* bytes, size_t count);
  void receiveAll(void* bytes, size_t count);
  wire::Header receiveHeader();
  void waitFor(short events);

  int nranks_;
  int rank_;
  int limitMs_;
  Secret secret_{};
  UniqueFd fd_;
};

}  // namespace rondo

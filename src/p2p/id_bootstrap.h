#pragma once
// The unique-id door: ranks that find each other by the 128 bytes of an id, on one host or several.

#include <span>
#include <string>

#include "api/rondo_types.h"
#include "p2p/boot_links.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// The host that a rank is on (topo's readHostId without override).
struct IdHost {
  uint64_t hash;
  std::string name;
};

/// Makes an id; this process answers for it from now on. `interfaces` is RONDO_NET_IF. Throws
/// Error.
/// `members`: ranks of the communicator that the id is to grow, 0: none.
void makeUniqueId(const IdHost& host, rondoUniqueId* id, const std::string& interfaces = {},
                  int members = 0);

/// One rank of a group that joined by id. The constructor blocks until all ranks have joined, or
/// throws: rondoInvalidArgument (not an id, wrong secret, rank out of range), rondoInvalidUsage
/// (duplicate rank, ranks disagree on nranks, another version), rondoSystemError (nobody answers;
/// ranks that did not come, by number), rondoRemoteError (a rank, or the id's maker, ended).
/// `limitMs` bounds every single wait for others.
class IdBootstrap : public Bootstrap {
 public:
  IdBootstrap(const rondoUniqueId& id, int nranks, int rank, const IdHost& host,
              int limitMs = 30000, const std::string& interfaces = {})
      : IdBootstrap({&id, 1}, nranks, rank, host, limitMs, interfaces) {}
  /// By several ids, at most `nranks`: each part of the ranks (IdPart) registers with the maker of
  /// its own. All ranks have the same ones in the same order.
  IdBootstrap(std::span<const rondoUniqueId> ids, int nranks, int rank, const IdHost& host,
              int limitMs = 30000, const std::string& interfaces = {});

  int rank() const override { return rank_; }
  int size() const override { return nranks_; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override;
  void idle() override { links_.checkInterrupt(); }

  /// Messages that this rank has sent and received since it began to join.
  uint64_t messages() const { return links_.messages(); }

 private:
  struct Ids;
  void join(const Ids& ids, const IdHost& host, const std::string& interfaces);
  wire::Welcome greetMaker(const Ids& ids, UniqueFd fd, wire::Hello hello,
                           const std::vector<NetAddress>& sources);
  wire::Welcome present(const Ids& ids, UniqueFd own, wire::Hello hello, const IdHost& host,
                        const std::vector<NetAddress>& sources);
  void joinParent(const Endpoints& parent, const wire::Hello& hello, const Secret& secret,
                  const std::vector<NetAddress>& sources);
  void acceptChildren(class Gate& gate, const Secret& secret, int limitMs);

  int nranks_;
  int rank_;
  int limitMs_;
  Secret secret_{};
  TreePlace place_;
  BootLinks links_;
};

}  // namespace rondo

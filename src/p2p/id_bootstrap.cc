#include "p2p/id_bootstrap.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "p2p/boot_gate.h"
#include "p2p/boot_id.h"
#include "p2p/id_service.h"
#include "p2p/net_interfaces.h"

namespace rondo {
namespace {

// Whoever is nearer to a missing rank names it when its own limit passes; the others wait this much
// longer to hear of it.
constexpr int kGraceMs = 2000;
constexpr int kGracePerLevelMs = 500;
constexpr int kTellMs = 100;    // for a message that matters to others only
constexpr int kAgainMs = 1000;  // in which a rank that was sent away reaches the door again
constexpr int kComes = 5;       // at most

constexpr char kMaker[] = "the process that made the id";

int checkedRanks(int nranks, int rank) {
  if (nranks < 1 || nranks > wire::kMostRanks) {
    throw Error(rondoInvalidArgument,
                format("nranks is %d; allowed: 1 to %d", nranks, wire::kMostRanks));
  }
  if (rank < 0 || rank >= nranks) {
    throw Error(rondoInvalidArgument, format("rank is %d; allowed: 0 to %d", rank, nranks - 1));
  }
  return rank;
}

int checkedIds(size_t ids, int nranks) {
  const int most = std::min(nranks, wire::kMostIds);
  if (ids < 1 || ids > static_cast<size_t>(most)) {
    throw Error(rondoInvalidArgument,
                format("there are %zu ids; allowed: 1 to %d for %d ranks", ids, most, nranks));
  }
  return static_cast<int>(ids);
}

UniqueFd connectToMaker(const IdBytes& id, const std::vector<NetAddress>& sources,
                        const IdHost& host, int limitMs) {
  ConnectFailure failure;
  UniqueFd fd = connectAny(id.endpoints, sources, Deadline(limitMs), &failure);
  if (fd.get() >= 0) return fd;
  // The maker listens before it gives the id away, so nobody there means that it is over.
  if (failure.refused) {
    throw Error(rondoSystemError,
                format("nobody answers for the id on host \"%s\" (%s): the process that made it "
                       "has ended, or a group was already made with it (an id serves one group)",
                       id.hostName, endpointText(id.endpoints).c_str()));
  }
  throw Error(rondoSystemError,
              format("the process that made the id, on host \"%s\", cannot be reached from host "
                     "\"%s\" within %d ms (%s); RONDO_NET_IF where the id is made chooses the "
                     "network",
                     id.hostName, host.name.c_str(), limitMs, failure.sentence.c_str()));
}

void tell(BootLink* link, const Error& error) {
  link->send(wire::failureMessage(error.code(), error.sentence()), Deadline(kTellMs));
}

/// All addresses of the interface that `fd` goes through: other ranks are likely to be met there.
std::vector<NetAddress> addressesBeside(int fd) {
  const NetAddress own = endpointOf(fd, false).address;
  for (const NetInterface& each : listInterfaces()) {
    const auto& list = each.addresses;
    if (std::find(list.begin(), list.end(), own) != list.end()) return list;
  }
  return {own};
}

}  // namespace

void makeUniqueId(const IdHost& host, rondoUniqueId* id, const std::string& interfaces,
                  int members) {
  const Secret secret = makeSecret();
  const std::vector<NetInterface> all = listInterfaces();
  const NetInterface& chosen = chooseInterface(all, interfaces);
  logLine(LogPart::Net, LogLevel::Info, -1, [&] {
    return format("ranks that join by unique id meet at interface %s (%s)", chosen.name.c_str(),
                  chosen.addresses.empty() ? "" : addressText(chosen.addresses.front()).c_str());
  });
  Listeners listeners = listenAt(chosen.addresses);
  const Endpoints endpoints = listeners.endpoints;
  IdService::instance().add(std::make_unique<IdGroup>(secret, host.hash, std::move(listeners)));
  *id = packId(secret, endpoints, host.name, members);
}

/// Of those a rank was given the ones that it needs.
struct IdBootstrap::Ids {
  IdBytes first;  ///< Its secret is the tree's.
  IdBytes own;
  IdPart part;
};

IdBootstrap::IdBootstrap(std::span<const rondoUniqueId> ids, int nranks, int rank,
                         const IdHost& host, int limitMs, const std::string& interfaces)
    : nranks_(nranks),
      rank_(checkedRanks(nranks, rank)),
      limitMs_(limitMs),
      place_(treePlace(rank, nranks, checkedIds(ids.size(), nranks))),
      links_(rank, nranks, limitMs, static_cast<int>(ids.size())) {
  const auto count = static_cast<int>(ids.size());
  const IdPart part{nranks, count, IdPart::of(rank, nranks, count)};
  try {
    join({readId(ids[0]), readId(ids[static_cast<size_t>(part.index)]), part}, host, interfaces);
  } catch (const Error&) {
    // The program may end now, and with it the service that tells the others why.
    IdService::instance().settle();
    throw;
  }
}

/// With the maker of this rank's id. Of very many ranks those that are slow to say who they are may
/// be sent away, to make room at its door: they come again.
wire::Welcome IdBootstrap::greetMaker(const Ids& ids, UniqueFd fd, wire::Hello hello,
                                      const std::vector<NetAddress>& sources) {
  const int limit = limitMs_ + kGraceMs;
  const Deadline deadline(limitMs_);
  for (int comes = 1;; ++comes) {
    BootLink link = links_.hail(-1, std::move(fd), hello, ids.own.secret, kMaker, limit);
    try {
      return links_.finishGreeting(std::move(link), hello, ids.own.secret, kMaker, limit);
    } catch (const LinkEnded& ended) {
      if (comes == kComes || deadline.left() == 0) throw;
      ConnectFailure failure;
      const Deadline soon(std::min(deadline.left(), kAgainMs));
      fd = connectAny(ids.own.endpoints, sources, soon, &failure);
      if (fd.get() < 0) throw;  // it has ended indeed
    }
  }
}

/// Registers with the maker of this rank's id; who stands for its part, with that of id 0 too,
/// whose answer says where its parent is.
wire::Welcome IdBootstrap::present(const Ids& ids, UniqueFd own, wire::Hello hello,
                                   const IdHost& host, const std::vector<NetAddress>& sources) {
  const int limit = limitMs_ + kGraceMs;
  hello.part = static_cast<uint16_t>(ids.part.index);
  if (ids.part.index == 0 || rank_ != ids.part.begin()) {
    return greetMaker(ids, std::move(own), hello, sources);
  }
  // At its own maker's door it says who it is at once: nobody waits there for ever, and the other
  // one may be late.
  wire::Hello above = hello;
  BootLink near = links_.hail(-1, std::move(own), hello, ids.own.secret, kMaker, limit);
  std::optional<BootLink> far;
  try {
    UniqueFd fd = connectToMaker(ids.first, sources, host, limitMs_);
    above.part = 0;
    far.emplace(links_.hail(-1, std::move(fd), above, ids.first.secret, kMaker, limit));
  } catch (const Error& error) {
    tell(&near, error);
    throw;
  }
  try {
    links_.finishGreeting(std::move(near), hello, ids.own.secret, kMaker, limit);
  } catch (const Error& error) {
    tell(&*far, error);
    throw;
  }
  return links_.finishGreeting(std::move(*far), above, ids.first.secret, kMaker, limit);
}

void IdBootstrap::join(const Ids& ids, const IdHost& host, const std::string& interfaces) {
  const Secret& secret = ids.first.secret;
  // Names of local sockets can be seen by other users: they must not tell of the id's secret.
  secret_ = derivedSecret(secret, "rondo sockets");
  std::vector<NetAddress> sources;
  if (!interfaces.empty()) sources = chooseInterface(listInterfaces(), interfaces).addresses;
  UniqueFd maker = connectToMaker(ids.own, sources, host, limitMs_);
  std::optional<Gate> gate;
  if (!place_.children.empty()) gate.emplace(secret, listenAt(addressesBeside(maker.get())));
  wire::Hello hello{};
  hello.version = wire::kVersion;
  hello.purpose = wire::Purpose::Register;
  hello.rank = rank_;
  hello.nranks = nranks_;
  hello.moreIds = static_cast<uint16_t>(ids.part.ids - 1);
  hello.limitMs = limitMs_;
  hello.user = geteuid();
  hello.hostHash = host.hash;
  if (gate) hello.endpoints = gate->endpoints();
  const wire::Welcome welcome = present(ids, std::move(maker), hello, host, sources);
  try {
    if (place_.parent >= 0) joinParent(welcome.endpoints, hello, secret, sources);
    // Other parts may be complete one limit later than this one: their makers say what is missing.
    const int64_t both = 2 * int64_t{limitMs_} + kGraceMs;
    const int limit =
        ids.part.ids == 1 ? limitMs_ : static_cast<int>(std::min<int64_t>(both, INT_MAX));
    if (gate) acceptChildren(*gate, secret, limit);
    if (ids.part.ids > 1) links_.meet(limit);
  } catch (const Error& error) {
    links_.failUnlessTold(error.code(), error.sentence());
  }
  links_.setEstablished();
}

void IdBootstrap::joinParent(const Endpoints& parent, const wire::Hello& hello,
                             const Secret& secret, const std::vector<NetAddress>& sources) {
  ConnectFailure failure;
  // Half the limit: this rank's sentence must come before the parent's, which only misses it.
  UniqueFd fd = connectAny(parent, sources, Deadline(limitMs_ / 2), &failure);
  if (fd.get() < 0) {
    throw Error(rondoSystemError,
                format("rank %d cannot reach rank %d of %d (%s); RONDO_NET_IF on each rank chooses "
                       "the network",
                       rank_, place_.parent, nranks_, failure.sentence.c_str()));
  }
  wire::Hello child = hello;
  child.purpose = wire::Purpose::Child;
  child.endpoints = {};
  links_.greet(place_.parent, std::move(fd), child, secret,
               format("rank %d of %d", place_.parent, nranks_),
               limitMs_ + kGracePerLevelMs * place_.depth);
}

void IdBootstrap::acceptChildren(Gate& gate, const Secret& secret, int limitMs) {
  std::vector<int> missing;
  for (const TreeBranch& child : place_.children) missing.push_back(child.first);
  const Deadline deadline(limitMs);
  while (!missing.empty()) {
    if (deadline.left() == 0) {
      if (gate.outOfDescriptors()) {
        links_.fail(rondoSystemError,
                    format("rank %d of %d cannot take in %s: its process has too many open files "
                           "(see RLIMIT_NOFILE)",
                           rank_, nranks_, ranksText(missing).c_str()));
      }
      links_.fail(rondoSystemError,
                  format("%s of %d joined but did not go on within %d ms%s",
                         ranksText(missing).c_str(), nranks_, limitMs, gate.refusals().c_str()));
    }
    std::vector<pollfd> set;
    gate.collect(set);
    int wait = deadline.left();
    if (gate.timeout() >= 0) wait = std::min(wait, gate.timeout());
    if (links_.waitFor(set, wait) < 0) continue;
    for (Gate::Visitor& visitor : gate.handle(set.data())) {
      const wire::Hello& hello = visitor.hello;
      const auto at = std::find(missing.begin(), missing.end(), hello.rank);
      if (at == missing.end() || hello.purpose != wire::Purpose::Child || hello.nranks != nranks_) {
        gate.countRefusal(visitor.from,
                          format("rank %d is no child that is waited for", hello.rank));
        continue;
      }
      missing.erase(at);
      links_.addChild(hello.rank, std::move(visitor.fd), hello, secret);
    }
  }
}

void IdBootstrap::allGather(const void* mine, size_t bytes, void* all) {
  if (bytes > wire::kMostPart) {
    throw Error(rondoInternalError,
                format("allGather of %zu bytes a rank; allowed: %u", bytes, wire::kMostPart));
  }
  try {
    links_.gather(mine, bytes, all);
  } catch (const Error&) {
    IdService::instance().settle();
    throw;
  }
}

}  // namespace rondo

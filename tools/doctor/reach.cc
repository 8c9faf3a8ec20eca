#include "doctor/reach.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "p2p/tcp_socket.h"

namespace rondo::doctor {
namespace {

constexpr int kLimitMs = 5000;  // for one host; a firewall that drops says nothing

std::string bytesOf(const Endpoints& endpoints) {
  return {reinterpret_cast<const char*>(endpoints.data()), sizeof endpoints};
}

}  // namespace

void tryReach(const Job& job, std::vector<Facts>* ranks) {
  const std::vector<HostFacts> hosts = byHost(*ranks);
  if (hosts.size() < 2) return;
  const Facts& mine = (*ranks)[static_cast<size_t>(job.rank())];
  bool leader = false;
  for (const HostFacts& host : hosts) leader |= host.facts == &mine;
  Listeners listeners;
  std::vector<Reach> found;
  if (leader) {
    try {
      const char* const wish = std::getenv("RONDO_NET_IF");
      listeners =
          listenAt(chooseInterface(listInterfaces(), wish != nullptr ? wish : "").addresses);
    } catch (const std::exception& error) {
      found.push_back({mine.host, "any address", false, error.what()});
    }
  }
  const std::vector<std::string> doors = job.gather(bytesOf(listeners.endpoints));
  for (const HostFacts& host : hosts) {
    if (!leader || host.facts == &mine) continue;
    Endpoints to;
    std::memcpy(to.data(), doors[static_cast<size_t>(host.facts->rank)].data(), sizeof to);
    ConnectFailure failure;
    const UniqueFd fd = connectAny(to, {}, Deadline(kLimitMs), &failure);
    found.push_back({host.facts->host, endpointText(to), fd.get() >= 0, failure.sentence});
  }
  // Nobody stops listening before all have tried.
  const std::vector<std::string> all = job.gather(nlohmann::json(found).dump());
  for (size_t r = 0; r < all.size(); ++r) {
    nlohmann::json::parse(all[r]).get_to((*ranks)[r].reach);
  }
}

}  // namespace rondo::doctor

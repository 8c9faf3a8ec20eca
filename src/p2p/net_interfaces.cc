#include "p2p/net_interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "p2p/fd_exchange.h"

namespace rondo {
namespace {

constexpr unsigned char kIpv4Prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/// Empty where the kernel does not say.
std::string driverOf(int socket, const std::string& name) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (ioctl(socket, SIOCETHTOOL, &request) != 0) return "";
  info.driver[sizeof info.driver - 1] = '\0';
  return info.driver;
}

void keepCheapest(std::map<std::string, int64_t>& metrics, const std::string& name, int64_t cost) {
  const auto [at, isNew] = metrics.emplace(name, cost);
  if (!isNew) at->second = std::min(at->second, cost);
}

/// Interface to the metric of its default route.
std::map<std::string, int64_t> defaultRoutes() {
  std::map<std::string, int64_t> metrics;
  std::string line;
  std::ifstream v4("/proc/net/route");
  std::getline(v4, line);  // titles
  while (std::getline(v4, line)) {
    std::istringstream words(line);
    std::string name, destination, gateway, flags, references, use, mask;
    int64_t metric = 0;
    words >> name >> destination >> gateway >> flags >> references >> use >> metric >> mask;
    if (words && destination == "00000000" && mask == "00000000") {
      keepCheapest(metrics, name, metric);
    }
  }
  std::ifstream v6("/proc/net/ipv6_route");
  while (std::getline(v6, line)) {
    std::istringstream words(line);
    std::string destination, length, source, sourceLength, next, metric, references, use, flags,
        name;
    words >> destination >> length >> source >> sourceLength >> next >> metric >> references >>
        use >> flags >> name;
    // Unreachable prefixes are listed as default routes of lo.
    if (words && length == "00" && destination.find_first_not_of('0') == std::string::npos) {
      keepCheapest(metrics, name, static_cast<int64_t>(std::strtoull(metric.c_str(), nullptr, 16)));
    }
  }
  return metrics;
}

/// False: an address that means nothing on another host.
bool readAddress(const sockaddr* from, NetAddress* to) {
  if (from == nullptr) return false;
  if (from->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(from);
    std::memcpy(to->data(), kIpv4Prefix, sizeof kIpv4Prefix);
    std::memcpy(to->data() + sizeof kIpv4Prefix, &v4->sin_addr, 4);
    return true;
  }
  if (from->sa_family != AF_INET6) return false;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(from);
  std::memcpy(to->data(), &v6->sin6_addr, to->size());
  return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

std::string namesOf(const std::vector<NetInterface>& all) {
  std::string text;
  for (const NetInterface& each : all) text += (text.empty() ? "" : ", ") + each.name;
  return text.empty() ? "none" : text;
}

[[noreturn]] void refuseWish(const std::string& wish, const std::string& why,
                             const std::vector<NetInterface>& all) {
  throw Error(rondoInvalidArgument,
              format("environment variable RONDO_NET_IF is \"%s\": %s; allowed: NAME[,NAME...] or "
                     "^NAME[,^NAME...] of interfaces that are up and have an address (%s)",
                     wish.c_str(), why.c_str(), namesOf(all).c_str()));
}

/// What `wish` leaves of `all`.
std::vector<const NetInterface*> allowedBy(const std::string& wish,
                                           const std::vector<NetInterface>& all) {
  std::vector<std::string> wanted, unwanted;
  std::istringstream words(wish);
  for (std::string word; std::getline(words, word, ',');) {
    const bool without = word[0] == '^';
    if (without) word.erase(0, 1);
    if (word.empty()) refuseWish(wish, "a name is empty", all);
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.name == word; });
    // One that is not there need not be left out.
    if (!known && !without) refuseWish(wish, "there is no \"" + word + "\"", all);
    (without ? unwanted : wanted).push_back(word);
  }
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<const NetInterface*> left;
  for (const NetInterface& each : all) {
    if ((wanted.empty() || has(wanted, each.name)) && !has(unwanted, each.name)) {
      left.push_back(&each);
    }
  }
  if (left.empty()) refuseWish(wish, "no interface is left", all);
  return left;
}

}  // namespace

bool isIpv4(const NetAddress& address) {
  return std::memcmp(address.data(), kIpv4Prefix, sizeof kIpv4Prefix) == 0;
}

std::string addressText(const NetAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  const bool v4 = isIpv4(address);
  inet_ntop(v4 ? AF_INET : AF_INET6, address.data() + (v4 ? 12 : 0), text, sizeof text);
  return text;
}

NetInterface::Kind interfaceKind(const InterfaceTraits& traits) {
  if (traits.loopback) return NetInterface::Loopback;
  if (traits.driver == "bridge" && traits.defaultRoute) return NetInterface::Real;
  for (const char* driver : {"veth", "bridge", "tun", "dummy", "wireguard", "vxlan", "geneve",
                             "ipip", "gre", "sit", "ifb"}) {
    if (traits.driver == driver) return NetInterface::Virtual;
  }
  if (!traits.driver.empty()) return NetInterface::Real;
  for (const char* prefix : {"veth", "docker", "virbr", "br-", "cni", "flannel", "cali", "cilium",
                             "lxc", "lxd", "podman", "vnet", "tap", "tun", "wg", "vxlan"}) {
    if (traits.name.rfind(prefix, 0) == 0) return NetInterface::Virtual;
  }
  return NetInterface::Real;
}

std::vector<NetInterface> listInterfaces() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) throw systemError("getifaddrs", errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(raw, freeifaddrs);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto routes = defaultRoutes();
  std::vector<NetInterface> all;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    NetAddress address;
    if ((entry->ifa_flags & IFF_UP) == 0 || !readAddress(entry->ifa_addr, &address)) continue;
    // An alias has its own label ("eth0:1") and is the same interface.
    std::string name = entry->ifa_name;
    name.erase(std::min(name.find(':'), name.size()));
    auto at = std::find_if(all.begin(), all.end(),
                           [&name](const NetInterface& each) { return each.name == name; });
    if (at == all.end()) {
      const auto route = routes.find(name);
      const bool loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
      const bool routed = route != routes.end() && !loopback;
      NetInterface added;
      added.name = name;
      added.kind = interfaceKind({name, driverOf(socket.get(), name), loopback, routed});
      if (routed) added.defaultMetric = route->second;
      at = all.insert(all.end(), added);
    }
    at->addresses.push_back(address);
  }
  for (NetInterface& each : all) {
    std::stable_partition(each.addresses.begin(), each.addresses.end(), isIpv4);
  }
  return all;
}

const NetInterface& chooseInterface(const std::vector<NetInterface>& all, const std::string& wish) {
  if (all.empty()) {
    throw Error(rondoSystemError,
                "no network interface is up and has an address, not even the loopback one");
  }
  const auto left = allowedBy(wish, all);
  const auto better = [](const NetInterface* a, const NetInterface* b) {
    if (a->kind != b->kind) return a->kind < b->kind;
    const auto cost = [](const NetInterface* each) {
      return each->defaultMetric < 0 ? INT64_MAX : each->defaultMetric;
    };
    return cost(a) < cost(b);
  };
  const NetInterface* best = *std::min_element(left.begin(), left.end(), better);
  return *best;
}

}  // namespace rondo

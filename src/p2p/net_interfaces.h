#pragma once
// The host's network interfaces, and the one that other hosts should be met on.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// As IPv6 writes it; an IPv4 address is ::ffff:a.b.c.d.
using NetAddress = std::array<unsigned char, 16>;

bool isIpv4(const NetAddress& address);
std::string addressText(const NetAddress& address);

struct NetInterface {
  enum Kind { Real, Virtual, Loopback };
  std::string name;
  Kind kind = Real;
  int64_t defaultMetric = -1;         ///< Of its default route; -1: has none.
  std::vector<NetAddress> addresses;  ///< IPv4 first; link-local ones are left out.
};

/// What is known of an interface before its kind is decided.
struct InterfaceTraits {
  std::string name;
  std::string driver;  ///< As ethtool names it; empty: unknown.
  bool loopback = false;
  bool defaultRoute = false;
};

/// A veth, a tunnel, a container's bridge and the like are Virtual. A bridge that carries the
/// default route is how this host reaches the world, and Real.
NetInterface::Kind interfaceKind(const InterfaceTraits& traits);

/// Interfaces that are up and have an address, in the kernel's order. Throws Error.
std::vector<NetInterface> listInterfaces();

/// The best of `all`: Real before Virtual before Loopback, in a kind the one with the cheapest
/// default route, then the first. `wish` is RONDO_NET_IF: "name,name" allows only these, "^name"
/// all but this. Throws Error if nothing is left, or a name is unknown.
const NetInterface& chooseInterface(const std::vector<NetInterface>& all, const std::string& wish);

}  // namespace rondo

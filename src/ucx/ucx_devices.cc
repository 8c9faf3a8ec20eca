#include "ucx/ucx_devices.h"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "p2p/net_interfaces.h"

namespace rondo {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Of an RDMA card, the interface behind its first address; empty: none.
std::string interfaceOfCard(const std::string& card, const std::string& port) {
  const std::string base = "/sys/class/infiniband/" + card;
  std::ifstream roce(base + "/ports/" + port + "/gid_attrs/ndevs/0");
  std::string name;
  if (std::getline(roce, name) && !name.empty()) return name;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(base + "/device/net", none)) {
    return entry.path().filename().string();
  }
  return "";
}

}  // namespace

std::string ucxInterfaces() {
  std::vector<NetInterface> all;
  try {
    all = listInterfaces();
  } catch (const Error&) {
    return "";
  }
  std::string wish;
  std::istringstream devices(environment("UCX_NET_DEVICES"));
  for (std::string device; std::getline(devices, device, ',');) {
    const size_t colon = device.find(':');
    const std::string card = device.substr(0, colon);
    const std::string port = colon == std::string::npos ? "1" : device.substr(colon + 1);
    const std::string behind = interfaceOfCard(card, port);
    const std::string& name = behind.empty() ? card : behind;
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    if (known) wish += (wish.empty() ? "" : ",") + name;
  }
  return wish.empty() ? environment("RONDO_NET_IF") : wish;
}

std::vector<std::string> ucxCards(size_t most) {
  std::vector<NetInterface> all;
  try {
    all = listInterfaces();
  } catch (const Error&) {
    return {};
  }
  std::vector<std::string> cards;
  std::istringstream devices(environment("UCX_NET_DEVICES"));
  for (std::string device; std::getline(devices, device, ',');) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const auto& each) {
      return each.name == device && each.kind != NetInterface::Loopback;
    });
    if (!known || std::find(cards.begin(), cards.end(), device) != cards.end()) return {};
    if (cards.size() < most) cards.push_back(device);
  }
  return cards;
}

cpu_set_t processorsOf(const std::string& list, const cpu_set_t& allowed) {
  cpu_set_t near;
  CPU_ZERO(&near);
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0, last = 0;
    const int found = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (found < 1 || first < 0) return allowed;
    if (found == 1) last = first;
    for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &near);
    }
  }
  return CPU_COUNT(&near) == 0 ? allowed : near;
}

void runNearNetwork() {
  const std::string interfaces = ucxInterfaces();
  if (interfaces.empty() || interfaces.find_first_of(",^") != std::string::npos) return;
  std::ifstream known("/sys/class/net/" + interfaces + "/device/local_cpulist");
  std::string list;
  cpu_set_t allowed;
  if (!std::getline(known, list)) return;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const cpu_set_t near = processorsOf(list, allowed);
  sched_setaffinity(0, sizeof near, &near);
}

std::string ucxVersionText() { return ucp_get_version_string(); }

std::string ucxSettingsText() {
  const auto shown = [](const char* name) {
    const std::string value = environment(name);
    return value.empty() ? format("%s=all", name) : format("%s=%s", name, value.c_str());
  };
  return format("UCX %s, %s, %s", ucp_get_version_string(), shown("UCX_TLS").c_str(),
                shown("UCX_NET_DEVICES").c_str());
}

}  // namespace rondo

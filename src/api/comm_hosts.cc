#include "api/comm_hosts.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/config_files.h"
#include "base/options.h"
#include "topo/measured_links.h"

namespace rondo {
namespace {

using topo::HostSketch;

/// By kind: the leaders (first ranks) of its hosts, in order.
std::vector<std::vector<int>> kindsOf(const std::vector<uint64_t>& hashes,
                                      const std::vector<int>& hostOf, std::vector<int>* kindOf) {
  std::map<int, int> kindOfHost;
  std::map<uint64_t, int> kindOfHash;
  std::vector<std::vector<int>> leaders;
  for (size_t r = 0; r < hostOf.size(); ++r) {
    const bool leads = !kindOfHost.contains(hostOf[r]);
    if (leads) {
      const int next = static_cast<int>(kindOfHash.size());
      const int kind = kindOfHash.try_emplace(hashes[r], next).first->second;
      if (kind == next) leaders.emplace_back();
      leaders[static_cast<size_t>(kind)].push_back(static_cast<int>(r));
      kindOfHost[hostOf[r]] = kind;
    }
    kindOf->push_back(kindOfHost[hostOf[r]]);
  }
  return leaders;
}

/// Of this rank's sketch the part that it sends: which of how many.
struct Share {
  size_t offset = 0, bytes = 0;
  Share(size_t which, size_t of) {
    const size_t each = (sizeof(HostSketch) + of - 1) / of;
    offset = std::min(which * each, sizeof(HostSketch));
    bytes = std::min(each, sizeof(HostSketch) - offset);
  }
};

/// The package that all of a rank's CPUs lie in; -1: several, or it is not known.
int packageOf(const cpu_set_t& cpus, const CpuPlaces& places) {
  int package = -1;
  for (int cpu = 0; cpu < CpuPlaces::kMostCpus; ++cpu) {
    if (!CPU_ISSET(static_cast<size_t>(cpu), &cpus)) continue;
    const int here = places.at[static_cast<int>(Near::Package)][cpu];
    if (here == CpuPlaces::kNowhere || (package >= 0 && package != here)) return -1;
    package = here;
  }
  return package;
}

}  // namespace

HostSketch sketchThisHost(const Options& options, std::string* links) {
  std::vector<std::string> cards;
  HostSketch sketch = topo::readHostSketch(&cards);
  const topo::LinksFound found =
      topo::sketchMeasured(machineModel(sketch.node), configDirs(options.tuneDir), cards, &sketch);
  static std::atomic_flag warned;  // not once for every communicator
  if (!found.warning.empty() && !warned.test_and_set()) {
    std::fprintf(stderr, "rondo: warning: %s\n", found.warning.c_str());
  }
  *links = found.text;
  return sketch;
}

KnownHosts gatherHosts(Bootstrap& boot, const std::vector<int>& hostOf,
                       const std::vector<uint64_t>& hashes, const HostSketch* own) {
  KnownHosts hosts;
  const std::vector<std::vector<int>> leaders = kindsOf(hashes, hostOf, &hosts.kindOf);

  size_t most = 0;
  std::vector<char> part;
  for (const std::vector<int>& same : leaders) most = std::max(most, Share(0, same.size()).bytes);
  part.resize(most);
  for (const std::vector<int>& same : leaders) {
    const auto at = std::find(same.begin(), same.end(), boot.rank());
    if (own == nullptr || at == same.end()) continue;
    const Share share(static_cast<size_t>(at - same.begin()), same.size());
    std::memcpy(part.data(), reinterpret_cast<const char*>(own) + share.offset, share.bytes);
  }
  std::vector<char> all(most * hostOf.size());
  boot.allGather(part.data(), most, all.data());
  for (const std::vector<int>& same : leaders) {
    HostSketch& sketch = hosts.kinds.emplace_back();
    for (size_t i = 0; i < same.size(); ++i) {
      const Share share(i, same.size());
      std::memcpy(reinterpret_cast<char*>(&sketch) + share.offset,
                  all.data() + most * static_cast<size_t>(same[i]), share.bytes);
    }
  }
  return hosts;
}

bool mayUseRdma(const std::string& transports) {
  if (transports.empty()) return true;
  const bool without = transports.front() == '^';
  for (size_t at = without ? 1 : 0; at <= transports.size();) {
    const size_t comma = std::min(transports.find(',', at), transports.size());
    const std::string name = transports.substr(at, comma - at);
    if (without && name == "ib") return false;
    for (const char* const rdma : {"all", "rc", "ud", "dc", "ib"}) {
      if (!without && name.starts_with(rdma)) return true;
    }
    at = comma + 1;
  }
  return without;
}

LinkFacts linksBetween(const KnownHosts& hosts, const std::vector<int>& hostOf,
                       const std::vector<cpu_set_t>& bindings, bool networkRdma) {
  const bool rdma = networkRdma && std::all_of(hosts.kinds.begin(), hosts.kinds.end(),
                                               [](const HostSketch& s) { return s.hasRdma(); });
  // Hosts of a kind are interchangeable: two of each show all ways that there are.
  std::vector<const HostSketch*> shown;
  std::vector<std::vector<int>> copies(hosts.kinds.size());  // by kind: numbers of graph hosts
  std::map<int, int> numberOf;                               // by host
  for (size_t r = 0; r < hostOf.size(); ++r) {
    if (numberOf.contains(hostOf[r])) continue;
    const auto kind = static_cast<size_t>(hosts.kindOf[r]);
    if (copies[kind].size() < 2) {
      copies[kind].push_back(static_cast<int>(shown.size()));
      shown.push_back(&hosts.kinds[kind]);
    }
    numberOf[hostOf[r]] = copies[kind].back();
  }
  const topo::Graph graph = topo::joinHosts(shown, rdma);
  std::vector<Seat> seats;
  for (size_t r = 0; r < hostOf.size(); ++r) {
    const HostSketch& sketch = hosts.kinds[static_cast<size_t>(hosts.kindOf[r])];
    const std::vector<int> cpus = graph.all(topo::NodeKind::Cpu, numberOf[hostOf[r]]);
    const int package = packageOf(bindings[r], sketch.node.places);
    const bool bound = package >= 0 && static_cast<size_t>(package) < cpus.size();
    seats.push_back({hostOf[r], cpus[bound ? static_cast<size_t>(package) : 0], bound});
  }
  return linkFactsOf(graph, seats);
}

}  // namespace rondo

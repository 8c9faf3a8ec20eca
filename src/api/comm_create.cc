// Building a communicator: every step is taken by all ranks, and fails on all of them or on none.

#include "api/comm_create.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>

#include "api/comm_costs.h"
#include "api/comm_device.h"
#include "api/comm_hosts.h"
#include "api/consensus.h"
#include "api/handle.h"
#include "base/config_files.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/stage_times.h"
#include "coll/costs_file.h"
#include "coll/progress.h"
#include "p2p/agree_on.h"
#include "topo/near_groups.h"
#include "topo/node_facts.h"
#include "ucx/ucx_transport.h"

namespace rondo {
namespace {

/// Data of one channel, where messages cross a network: a transport's costs are more by the
/// message than shared memory's. Two hosts over a veth, one rank each, all-reduce of 16 MiB: see
/// docs/multi-node.md.
constexpr uint64_t kMostAreaAcross = 512u << 10;

/// Looks at a network take some 150 ns each: after so many the core is given away, as after 50 us
/// of looks at memory. All-gather of 4 KiB by two ranks that the kernel had put on one core: 310 us
/// with 2000 (veth, UCX over TCP, 2026-11-21).
constexpr uint32_t kSpinsAcross = 256;

/// Where ranks outnumber cores, at once: who has to run first is a process on the same core, and a
/// look at the sockets costs more than to ask it. Two hosts of two ranks on two cores, 64 bytes,
/// against 8 looks: all-reduce 0.86 to 0.94 of the time, all-gather 0.82 to 0.89 (2026-11-23).
constexpr uint32_t kSpinsAcrossCrowded = 1;

/// For reaching the ranks of other hosts, or as long as the boot may take if that is less.
constexpr uint64_t kMeetMs = 30'000;

/// What the ranks tell each other of where they run, once they know which host they share.
struct LocalInfo {
  uint64_t segmentToken;  ///< One a process.
  uint64_t serial;        ///< Of the process's communicators.
  uint64_t machine;       ///< Whose CPUs they are: hosts may be containers of one.
  cpu_set_t cpus;         ///< Where the rank may run.
  uint64_t sketchHash;    ///< Of local rank 0 only: of what it knows of the host.
  bool rdma;              ///< UCX may use it.
  HostCosts costs;        ///< Of rank 0 only: what all ranks choose by.
  MeasuredCosts measured;
  DeviceCosts device;     ///< The same on device memory.
  char costsSource[512];  ///< Where they come from, for people.
  uint64_t costStates;    ///< How many the file has, if more than one.
};

/// What rondo-tune measured on machines like this one, if it did. A file that is no good is no
/// reason to fail.
std::vector<CostsState> readOwnCosts(const Options& options, const NodeFacts& node,
                                     LocalInfo* mine) {
  FoundCosts found = findCosts(machineModel(node), configDirs(options.tuneDir));
  static std::atomic_flag warned;  // not once for every communicator
  if (!found.warning.empty() && !warned.test_and_set()) {
    std::fprintf(stderr, "rondo: warning: %s; the built-in costs are used\n",
                 found.warning.c_str());
  }
  mine->costs = found.costs;
  mine->measured = found.measured;
  mine->device = found.device;
  mine->costStates = found.states.size();
  found.source.copy(mine->costsSource, sizeof mine->costsSource - 1);
  return std::move(found.states);
}

std::vector<LocalInfo> gatherLocal(Bootstrap& boot, const Options& options, uint64_t machine,
                                   topo::HostSketch* sketch, std::vector<CostsState>* states,
                                   std::string* links) {
  LocalInfo mine{};
  mine.machine = machine;
  static std::atomic<uint64_t> communicators{0};
  mine.serial = ++communicators;
  together(boot, [&] {
    mine.segmentToken = Segment::own().token();
    CPU_ZERO(&mine.cpus);
    // A machine with more CPUs than a cpu_set_t holds: the rank counts as bound nowhere.
    if (sched_getaffinity(0, sizeof mine.cpus, &mine.cpus) != 0) CPU_ZERO(&mine.cpus);
    mine.rdma = mayUseRdma(NetworkChoice::ofEnvironment().transports);
    if (sketch != nullptr) {
      *sketch = sketchThisHost(options, links);
      mine.sketchHash = sketch->hash();
    }
    if (boot.rank() == 0) *states = readOwnCosts(options, sketch->node, &mine);
  });
  std::vector<LocalInfo> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, all.data());
  return all;
}

/// Ranks that share CPUs, and how many CPUs that are.
struct Crowd {
  int ranks = 0;
  uint32_t cpus = 1;
  uint32_t share() const { return (static_cast<uint32_t>(ranks) + cpus - 1) / cpus; }
};

/// The ranks of `machine`, and the CPUs that they have between them; where two ranks are bound to
/// the same single CPU, half of that.
Crowd crowdOf(const std::vector<LocalInfo>& all, uint64_t machine) {
  Crowd crowd;
  cpu_set_t together;
  CPU_ZERO(&together);
  bool crowded = false;
  for (size_t a = 0; a < all.size(); ++a) {
    if (all[a].machine != machine) continue;
    ++crowd.ranks;
    CPU_OR(&together, &together, &all[a].cpus);
    for (size_t b = 0; b < a && CPU_COUNT(&all[a].cpus) == 1; ++b) {
      crowded |= all[b].machine == machine && CPU_EQUAL(&all[a].cpus, &all[b].cpus) != 0;
    }
  }
  const int count = CPU_COUNT(&together);
  if (count == 0) {
    crowd.cpus = allowedCpus();
  } else {
    crowd.cpus = static_cast<uint32_t>(crowded ? std::max(1, count / 2) : count);
  }
  return crowd;
}

/// The machine where the most ranks wait for a CPU: what all of them are as slow as.
Crowd greatestCrowd(const std::vector<LocalInfo>& all) {
  Crowd greatest;
  for (const LocalInfo& info : all) {
    const Crowd crowd = crowdOf(all, info.machine);
    if (greatest.ranks == 0 || crowd.share() > greatest.share()) greatest = crowd;
  }
  return greatest;
}

/// The groups of near ranks: as asked for, the hosts, or on one host from the ranks' bindings and
/// what its first rank knows of its CPUs. Depends on agreed values alone.
RankGroups groupsOf(const GroupWish& wish, const std::vector<cpu_set_t>& bindings,
                    const HostGrouping& hosts, const NodeFacts& node) {
  if (wish.kind == GroupWish::Listed) return RankGroups(wish.list);
  if (hosts.hosts > 1) {
    return wish.kind == GroupWish::Off ? RankGroups() : RankGroups(hosts.hostOf);
  }
  return RankGroups(nearGroups(wish, bindings, node.places));
}

/// What the choices of all ranks rest on: who is near whom, what lies between, and what that costs.
/// `own`: this host's sketch, of its first rank.
void agreeOnPlaces(Bootstrap& boot, const GroupWish& wish, const std::vector<LocalInfo>& all,
                   const HostGrouping& hosts, const topo::HostSketch* own, CommFacts* facts) {
  std::vector<uint64_t> hashes;
  std::vector<cpu_set_t> bindings;
  for (const LocalInfo& info : all) {
    hashes.push_back(info.sketchHash);
    bindings.push_back(info.cpus);
  }
  const KnownHosts known = gatherHosts(boot, hosts.hostOf, hashes, own);
  const NodeFacts& first = known.kinds.front().node;
  facts->groups = groupsOf(wish, bindings, hosts, first);
  facts->l3Bytes = first.l3Bytes;
  // Whoever wants no groups takes all ranks for near.
  if (wish.kind != GroupWish::Off) {
    facts->links = linksBetween(known, hosts.hostOf, bindings, all.front().rdma);
  }
  facts->links.acrossHosts = hosts.hosts > 1;
  setCosts(all.front().costs, all.front().measured, facts);
}

size_t ranksOfThisProcess(const std::vector<LocalInfo>& all) {
  const uint64_t own = Segment::own().token();
  return static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [own](const LocalInfo& info) { return info.segmentToken == own; }));
}

/// Whether ranks outnumber cores. Those of a part of a crowd (a row of a grid) are as crowded as
/// the whole, whose other processes run beside them: a process remembers. This rank's business
/// alone.
bool isCrowded(const Crowd& crowd, size_t ranksOfProcess) {
  static std::atomic<bool> amongProcesses{false};
  const bool here = crowd.share() > 1;
  if (here && ranksOfProcess == 1) amongProcesses.store(true, std::memory_order_relaxed);
  return here || amongProcesses.load(std::memory_order_relaxed);
}

WaitPolicy waitPolicy(const Options& options, bool crowded, WaitHook hook) {
  WaitPolicy policy;
  // Where ranks outnumber cores the peer cannot run until this rank lets go: give the core away
  // almost at once.
  if (crowded) policy.spinsBeforeYield = 8;
  policy.hook = std::move(hook);
  policy.spinBoundMs = options.spinBoundMs;
  return policy;
}

/// Shared memory among the ranks of this host, UCX to the others.
std::unique_ptr<Fabric> makeFabric(Bootstrap& boot, const Config& config, FdExchange* exchange,
                                   const HostGrouping& hosts, const std::vector<RankInfo>& infos,
                                   size_t ranksOfProcess, int lane) {
  const int n = boot.size(), rank = boot.rank();
  std::vector<Fabric::Member> members;
  std::vector<std::string> names;
  std::vector<int> far;
  for (int r = 0; r < n; ++r) {
    const auto at = static_cast<size_t>(r);
    names.emplace_back(infos[at].hostName);
    members.push_back({infos[at].hostName, infos[at].pid, hosts.hostOf[at]});
    if (hosts.hostOf[at] != hosts.hostOf[static_cast<size_t>(rank)]) far.push_back(r);
  }
  const uint64_t pool = config.options.poolBytes;
  ShmTransport::Wish wish{pool, pool * ranksOfProcess};
  if (hosts.hosts > 1) wish.mostArea = kMostAreaAcross;
  auto shm = ShmTransport::create(boot, exchange, hosts.localRanks, wish);
  const ShmLayout layout = shm->layout();
  auto fabric =
      std::make_unique<Fabric>(rank, hosts.localRanks, std::move(shm), std::move(members));
  if (hosts.hosts == 1) return fabric;

  const NetworkChoice mine = NetworkChoice::ofEnvironment();
  std::vector<NetworkChoice> networks(static_cast<size_t>(n));
  boot.allGather(&mine, sizeof mine, networks.data());
  checkNetworks(networks);
  UcxWorker* worker = nullptr;
  together(boot, [&] {
    try {
      worker = &UcxWorker::own(lane);
    } catch (const Error& error) {
      throw Error(error.code(), format("host \"%s\": ", infos[static_cast<size_t>(rank)].hostName) +
                                    error.sentence());
    }
  });
  fabric->join(
      UcxTransport::create(boot, *worker,
                           {far, names, layout.lanes, layout.chunkBytes(), fabric.get(),
                            static_cast<int>(std::min(kMeetMs, config.options.bootTimeoutMs)),
                            hosts.hostOf, static_cast<uint32_t>(config.callsBefore)}));
  return fabric;
}

/// For the log: what the communicator is made of, and why not of more.
void logMade(const Communicator::Parts& parts, const HostGrouping& hosts, const Config& config,
             const StageTimes& times) {
  const int rank = parts.place.rank;
  logLine(LogPart::Boot, LogLevel::Info, rank, [&] {
    return format(
               "communicator \"%s\" (%016llx): %d ranks on %d host%s, this one is %d of %d here; ",
               parts.name.c_str(), static_cast<unsigned long long>(parts.id), parts.place.size,
               hosts.hosts, hosts.hosts == 1 ? "" : "s", parts.place.localRank,
               parts.place.localSize) +
           (parts.place.localSize > 1 ? "shared memory" : "nobody beside it") +
           (hosts.hosts > 1 ? ", UCX between hosts" : "") +
           format(", CPU level %s, groups %s", cpuLevelName(parts.cpu),
                  parts.facts.groups.text().empty() ? "none" : parts.facts.groups.text().c_str()) +
           "; made in " + times.text();
  });
  logLine(LogPart::Plan, LogLevel::Info, rank, [&] {
    return format("communicator \"%s\": costs of host memory: %s%s%s", parts.name.c_str(),
                  parts.costsSource.c_str(), parts.tune.empty() ? "" : ", rules ",
                  config.options.tune.c_str());
  });
  if (hosts.hosts > 1) {
    logLine(LogPart::Net, LogLevel::Info, rank, [&] {
      const NetworkChoice choice = NetworkChoice::ofEnvironment();
      return format("communicator \"%s\": UCX may use %s over %s", parts.name.c_str(),
                    choice.transports[0] != '\0' ? choice.transports : "all transports",
                    choice.devices[0] != '\0' ? choice.devices : "all devices");
    });
  }
  logLine(LogPart::Device, LogLevel::Info, rank, [&] {
    return format("communicator \"%s\": ", parts.name.c_str()) +
           (parts.device ? format("device %d", parts.device->device()) +
                               (parts.device->throughHost() ? ", others through host memory" : "")
                         : "host memory only: " + parts.whyNoDevice);
  });
}

}  // namespace

void together(Bootstrap& boot, const std::function<void()>& step) { agreeOn(boot, step); }

namespace {

/// `lane`: communicators of different lanes share no lock of the network.
std::unique_ptr<Communicator> buildOn(Bootstrap& boot, const Config& config, WaitHook hook,
                                      int lane) {
  const int n = boot.size(), rank = boot.rank();
  const size_t ranks = static_cast<size_t>(n);
  StageTimes times;
  Communicator::Parts parts;
  parts.name = config.name;
  parts.explain = config.options.explain;
  parts.decorate = config.decorate;
  parts.callsBefore = config.callsBefore;
  parts.carries = config.carries;
  parts.averagesOver = config.averagesOver;

  RankInfo mine{};
  GroupWish groups;
  HostId host{};
  together(boot, [&] {
    parts.cpu = chooseCpuLevel(config.options.cpu.c_str());
    const Options::FromConfig& fromConfig = config.options.fromConfig;
    parts.tune = parseTune(config.options.tune, fromConfig.tune ? "config.tune" : "RONDO_TUNE");
    parts.dumpSignal = DumpSignal(config.options.dumpSignal, config.options.record);
    groups = parseGroups(config.options.groups, n);
    host = readHostId(config.options.hostId, fromConfig.hostId ? "config.hostId" : "RONDO_HOSTID");
    mine = describeRank(config.options, host, config.device);
  });
  std::vector<RankInfo> infos(ranks);
  boot.allGather(&mine, sizeof mine, infos.data());
  checkConsensus(infos);
  times.end("ranks");
  const HostGrouping hosts = groupByHost(infos, rank);
  parts.place = {rank, n, hosts.localRank, hosts.localSize()};

  std::vector<CostsState> states;
  topo::HostSketch sketch;
  topo::HostSketch* const own = hosts.localRank == 0 ? &sketch : nullptr;
  std::string links;
  const std::vector<LocalInfo> local =
      gatherLocal(boot, config.options, host.machine, own, &states, &links);
  times.end("host");
  const Crowd crowd = greatestCrowd(local);
  parts.facts.ranks = n;
  parts.facts.cpus = crowd.cpus;
  parts.facts.localRanks = crowd.ranks;
  parts.facts.reproducible = config.options.reproducible;
  parts.costsSource = local.front().costsSource;
  agreeOnPlaces(boot, groups, local, hosts, own, &parts.facts);
  times.end("places");
  parts.stallSeconds = config.options.stallSeconds;
  parts.timeoutMs = config.options.timeoutMs;
  parts.recordFile = config.options.record;
  parts.id = mixBits(local.front().segmentToken + mixBits(local.front().serial));
  for (const RankInfo& info : infos) parts.members.push_back({info.hostName, info.pid});
  const size_t threads = ranksOfThisProcess(local);
  // Those beside a part of a communicator have taken of the process's pool for themselves.
  parts.ranksOfProcess = std::max(threads, config.ranksOfProcess);
  const Crowd here = crowdOf(local, host.machine);
  if (static_cast<uint32_t>(here.ranks) >= here.cpus) ProgressThread::coresAreTaken();
  const bool crowded = isCrowded(here, threads);
  parts.wait = waitPolicy(config.options, crowded, std::move(hook));
  if (hosts.hosts > 1) {
    parts.wait.spinsBeforeYield =
        std::min(parts.wait.spinsBeforeYield, crowded ? kSpinsAcrossCrowded : kSpinsAcross);
  }

  std::vector<int> peers;
  for (const int r : hosts.localRanks) {
    if (r != rank) peers.push_back(r);
  }
  std::optional<FdExchange> exchange;
  if (n > 1) {
    together(boot, [&] {
      if (!peers.empty()) {
        exchange.emplace(boot, peers, static_cast<int>(config.options.bootTimeoutMs));
      }
    });
    parts.fabric = makeFabric(boot, config, exchange ? &*exchange : nullptr, hosts, infos,
                              parts.ranksOfProcess, lane);
  }
  times.end(hosts.hosts > 1 ? "memory and network" : "memory");
  if (hosts.hosts > 1) exchange.reset();  // carriers of device memory have their own, of that name
  addDevice(
      {boot, exchange ? &*exchange : nullptr, peers, hosts, config, local.front().device, &times,
       // ranks that meet on one of these while it is made may need MPI's progress
       [&](Bootstrap& members, Config inner, int which) {
         inner.ranksOfProcess = parts.ranksOfProcess;
         return buildOn(members, inner, parts.wait.hook, which);
       }},
      &parts);
  times.end("device");
  logMade(parts, hosts, config, times);
  if (own != nullptr) {
    logLine(LogPart::Plan, LogLevel::Info, rank, [&] {
      return format("communicator \"%s\": links of this host: %s", parts.name.c_str(),
                    links.c_str());
    });
  }
  auto made = std::make_unique<Communicator>(std::move(parts));
  if (local.front().costStates > 1) settleCosts(boot, *made, states, hosts.hostOf);
  return made;
}

}  // namespace

std::unique_ptr<Communicator> buildComm(Bootstrap& boot, const Config& config, WaitHook hook) {
  return buildOn(boot, config, std::move(hook), 0);
}

CommPtr createComm(Bootstrap& boot, const Config& config, WaitHook hook) {
  CommPtr made(makeHandle(buildComm(boot, config, std::move(hook))));
  made->config = std::make_shared<const Config>(config);
  return made;
}

}  // namespace rondo

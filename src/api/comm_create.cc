// Building a communicator: every step is taken by all ranks, and fails on all of them or on none.

#include "api/comm_create.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "api/consensus.h"
#include "api/handle.h"
#include "base/error.h"
#include "topo/near_groups.h"
#include "topo/node_facts.h"

namespace rondo {
namespace {

/// What the ranks of a host tell each other once they know that they share it.
struct LocalInfo {
  uint64_t segmentToken;  ///< One a process.
  cpu_set_t cpus;         ///< Where the rank may run.
  NodeFacts node;         ///< Of local rank 0 only.
};

std::vector<LocalInfo> gatherLocal(Bootstrap& boot, bool leader) {
  LocalInfo mine{};
  together(boot, [&] {
    mine.segmentToken = Segment::own().token();
    CPU_ZERO(&mine.cpus);
    // A machine with more CPUs than a cpu_set_t holds: the rank counts as bound nowhere.
    if (sched_getaffinity(0, sizeof mine.cpus, &mine.cpus) != 0) CPU_ZERO(&mine.cpus);
    if (leader) mine.node = readNodeFacts();
  });
  std::vector<LocalInfo> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, all.data());
  return all;
}

/// CPUs that the ranks have between them; where two ranks are bound to the same single CPU, half of
/// that.
uint32_t sharedCpus(const std::vector<LocalInfo>& all) {
  cpu_set_t together;
  CPU_ZERO(&together);
  bool crowded = false;
  for (size_t a = 0; a < all.size(); ++a) {
    CPU_OR(&together, &together, &all[a].cpus);
    for (size_t b = 0; b < a && CPU_COUNT(&all[a].cpus) == 1; ++b) {
      crowded |= CPU_EQUAL(&all[a].cpus, &all[b].cpus) != 0;
    }
  }
  const int count = CPU_COUNT(&together);
  if (count == 0) return allowedCpus();
  return static_cast<uint32_t>(crowded ? std::max(1, count / 2) : count);
}

/// The groups of near ranks: as asked for, or from the ranks' bindings and what the host's first
/// rank knows of its CPUs. Depends on agreed values alone.
RankGroups groupsOf(const GroupWish& wish, const std::vector<LocalInfo>& all, int leader) {
  if (wish.kind == GroupWish::Listed) return RankGroups(wish.list);
  std::vector<cpu_set_t> bindings;
  for (const LocalInfo& info : all) bindings.push_back(info.cpus);
  return RankGroups(nearGroups(wish, bindings, all[static_cast<size_t>(leader)].node.places));
}

size_t ranksOfThisProcess(const std::vector<LocalInfo>& all) {
  const uint64_t own = Segment::own().token();
  return static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [own](const LocalInfo& info) { return info.segmentToken == own; }));
}

WaitPolicy waitPolicy(const Options& options, size_t ranks, uint32_t cpus, WaitHook hook) {
  WaitPolicy policy;
  // Where ranks outnumber cores the peer cannot run until this rank lets go: give the core away
  // almost at once.
  if (ranks > cpus) policy.spinsBeforeYield = 8;
  policy.hook = std::move(hook);
  policy.spinBoundMs = options.spinBoundMs;
  return policy;
}

/// The GPU side, if every rank can have one. A rank that asked for a device by number gets it or an
/// error.
void addDevice(Bootstrap& boot, FdExchange* exchange, const std::vector<int>& peers,
               const Config& config, Communicator::Parts* parts) {
  DeviceConfig wanted{config.device, parts->place.localRank, config.options.spinBoundMs,
                      parts->tune, parts->explain};
  wanted.smBudget = static_cast<int>(config.options.smBudget);
  parts->device = createDeviceRunner(boot, exchange, peers, wanted, &parts->whyNoDevice);
  together(boot, [&] {
    if (config.device >= 0 && parts->device == nullptr) {
      throw Error(rondoUnsupported,
                  format("config.device is %d, but the communicator can have no device: %s",
                         config.device, parts->whyNoDevice.c_str()));
    }
  });
}

}  // namespace

void together(Bootstrap& boot, const std::function<void()>& step) {
  int code = rondoSuccess;
  std::string sentence;
  try {
    step();
  } catch (const Error& error) {
    code = error.code();
    sentence = error.sentence();
  } catch (const std::invalid_argument& error) {
    code = rondoInvalidArgument;
    sentence = error.what();
  } catch (const std::exception& error) {
    code = rondoInternalError;
    sentence = error.what();
  }
  boot.agree(code, sentence);
}

CommPtr createComm(Bootstrap& boot, const Config& config, WaitHook hook) {
  const int n = boot.size(), rank = boot.rank();
  const size_t ranks = static_cast<size_t>(n);
  Communicator::Parts parts;
  parts.name = config.name;
  parts.explain = config.options.explain;
  parts.decorate = config.decorate;

  RankInfo mine{};
  GroupWish groups;
  together(boot, [&] {
    parts.cpu = chooseCpuLevel(config.options.cpu.c_str());
    parts.tune = parseTune(config.options.tune);
    groups = parseGroups(config.options.groups, n);
    mine = describeRank(config.options, readHostId(config.options.hostId), config.device);
  });
  std::vector<RankInfo> infos(ranks);
  boot.allGather(&mine, sizeof mine, infos.data());
  checkConsensus(infos);
  requireOneHost(infos);
  const HostGrouping hosts = groupByHost(infos, rank);
  parts.place = {rank, n, hosts.localRank, hosts.localSize()};

  const std::vector<LocalInfo> local = gatherLocal(boot, hosts.localRank == 0);
  const uint32_t cpus = sharedCpus(local);
  parts.facts.ranks = n;
  parts.facts.cpus = cpus;
  parts.facts.reproducible = config.options.reproducible;
  parts.facts.groups = groupsOf(groups, local, hosts.localRanks.front());
  parts.facts.l3Bytes = local[static_cast<size_t>(hosts.localRanks.front())].node.l3Bytes;
  parts.wait = waitPolicy(config.options, ranks, cpus, std::move(hook));

  std::vector<int> peers;
  for (int r = 0; r < n; ++r) {
    if (r != rank) peers.push_back(r);
  }
  std::optional<FdExchange> exchange;
  if (n > 1) {
    together(boot, [&] { exchange.emplace(boot, peers); });
    const uint64_t pool = config.options.poolBytes;
    parts.shm = ShmTransport::create(boot, &*exchange, pool, pool * ranksOfThisProcess(local));
  }
  addDevice(boot, exchange ? &*exchange : nullptr, peers, config, &parts);
  return CommPtr(makeHandle(std::make_unique<Communicator>(std::move(parts))));
}

}  // namespace rondo

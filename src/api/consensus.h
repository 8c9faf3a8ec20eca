#pragma once
// What every rank tells all others first, and what must be the same on all of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"
#include "topo/node_facts.h"

namespace rondo {

/// One rank's record. Its size and the fields up to `buildId` never change, so that different
/// versions of the library can find out that they differ.
struct RankInfo {
  static constexpr size_t kMostOptions = 8;
  struct OptionValue {
    uint64_t hash;  ///< Of the whole text.
    char text[88];  ///< Its beginning, for sentences.
  };

  uint32_t magic;
  int32_t version;   ///< RONDO_VERSION_CODE of the library.
  uint64_t buildId;  ///< Equal for libraries of one build.

  uint64_t hostHash;
  char hostName[96];
  int32_t device;  ///< CUDA device ordinal or RONDO_DEVICE_NONE.
  int32_t pid;
  uint32_t allowedCpus;
  uint32_t optionCount;
  OptionValue options[kMostOptions];  ///< The must-agree rows of the options table, in its order.
  uint32_t fromConfig;                ///< Bit i: options[i] is the program's (rondoConfig_t).
  char later[116];                    ///< Zero.
};
static_assert(sizeof(RankInfo) == 1024);

/// This rank's record; `device` is already chosen (not RONDO_DEVICE_AUTO).
RankInfo describeRank(const Options& options, const HostId& host, int device);

/// Throws Error(rondoInvalidUsage) that names what differs, the values and the ranks that have
/// them: library version, build, then every must-agree option. Depends on `all` alone, so every
/// rank throws the same.
void checkConsensus(const std::vector<RankInfo>& all);

/// Which ranks are on which host.
struct HostGrouping {
  int hosts;                    ///< How many there are; numbered by their first rank.
  std::vector<int> hostOf;      ///< By rank.
  std::vector<int> localRanks;  ///< The ranks of this rank's host, ascending.
  int localRank;                ///< This rank's place among them.
  int localSize() const { return static_cast<int>(localRanks.size()); }
};
HostGrouping groupByHost(const std::vector<RankInfo>& all, int rank);

/// Which networks a rank lets UCX use, from its environment; of a communicator that spans hosts.
struct NetworkChoice {
  char transports[256];  ///< UCX_TLS; empty: all.
  char devices[256];     ///< UCX_NET_DEVICES.
  static NetworkChoice ofEnvironment();
};

/// Throws Error(rondoInvalidUsage) where ranks would use different networks: other transports, or
/// devices of another kind ("eth0" and "ib0", but "mlx5_0:1" and "mlx5_1:1" are of one).
void checkNetworks(const std::vector<NetworkChoice>& all);

/// "rank 3", "ranks 0-2, 5".
std::string rankList(const std::vector<int>& ascending);

}  // namespace rondo

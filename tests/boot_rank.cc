// One rank that joins by unique id and gathers, for scripts that spread ranks over hosts.
//
// boot_rank FILE RANKS RANK [PAUSE]: rank 0 makes the id and writes it to FILE, the others wait for
// FILE. With PAUSE, every rank writes PAUSE.RANK after its first gather and goes on when PAUSE
// exists. Prints what it took; exit status 1 with the sentence if it failed.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/options.h"
#include "p2p/boot_id.h"
#include "p2p/id_bootstrap.h"
#include "topo/node_facts.h"

namespace rondo {
namespace {

void waitForFile(const std::string& name) {
  for (int i = 0; i < 6000 && access(name.c_str(), F_OK) != 0; ++i) usleep(5000);
}

void writeFile(const std::string& name, const void* bytes, size_t count) {
  std::ofstream(name + ".new").write(static_cast<const char*>(bytes), static_cast<long>(count));
  if (std::rename((name + ".new").c_str(), name.c_str()) != 0) throw systemError(name, errno);
}

rondoUniqueId makeOrRead(const std::string& name, const IdHost& host, bool make,
                         const std::string& interfaces) {
  rondoUniqueId id{};
  if (make) {
    makeUniqueId(host, &id, interfaces);
    std::printf("id: %s\n", endpointText(readId(id).endpoints).c_str());
    std::fflush(stdout);
    writeFile(name, &id, sizeof id);
  } else {
    waitForFile(name);
    std::ifstream(name).read(id.internal, sizeof id);
  }
  return id;
}

void gather(IdBootstrap& boot, int round) {
  const int mine = round * boot.size() + boot.rank();
  std::vector<int> all(static_cast<size_t>(boot.size()));
  boot.allGather(&mine, sizeof mine, all.data());
  for (int r = 0; r < boot.size(); ++r) {
    if (all[static_cast<size_t>(r)] != round * boot.size() + r) {
      throw Error(rondoInternalError, format("round %d: rank %d's part is wrong", round, r));
    }
  }
}

void run(const std::string& file, int ranks, int rank, const char* pause) {
  const HostId hostId = readHostId("");
  const IdHost host{hostId.hash, hostId.name};
  const Options options = readBootOptions();
  const rondoUniqueId id = makeOrRead(file, host, rank == 0, options.netInterfaces);
  const auto start = Clock::now();
  IdBootstrap boot(id, ranks, rank, host, static_cast<int>(options.bootTimeoutMs),
                   options.netInterfaces);
  const int64_t joined = millisSince(start);
  const auto toJoin = static_cast<unsigned long long>(boot.messages());
  gather(boot, 0);
  if (pause != nullptr) {
    writeFile(format("%s.%d", pause, rank), "", 0);
    waitForFile(pause);
  }
  for (int round = 1; round < 10; ++round) gather(boot, round);
  std::printf(
      "rank %d on %s: joined in %lld ms with %llu messages, %llu with 10 gathers, %lld ms in all\n",
      rank, host.name.c_str(), static_cast<long long>(joined), toJoin,
      static_cast<unsigned long long>(boot.messages()), static_cast<long long>(millisSince(start)));
}

}  // namespace
}  // namespace rondo

int main(int count, char** words) {
  if (count < 4) return 2;
  const int rank = std::atoi(words[3]);
  try {
    rondo::run(words[1], std::atoi(words[2]), rank, count > 4 ? words[4] : nullptr);
  } catch (const rondo::Error& error) {
    std::printf("rank %d: %s\n", rank, error.sentence().c_str());
    return 1;
  }
  return 0;
}

// Until the real one is there: as much of createComm() as the door's tests need.
#include <atomic>
#include <poll.h>
#include <unistd.h>
#include <cstring>
#include "api/comm_create.h"
#include "api/consensus.h"
#include "base/error.h"
#include "p2p/fd_exchange.h"
#include <sys/mman.h>
struct rondoComm { int rank, size, lrank, lsize; bool owned = false; std::function<void()> free; rondo::WaitHook hook; std::atomic<int>* bar; };
namespace rondo {
thread_local std::string last;
Config checkConfig(const char* call, const rondoConfig_t* c) {
  Config k; k.options = readOptions();
  if (c && c->device < -2) throw Error(rondoInvalidArgument, format("%s: config.device is %d", call, c->device));
  return k;
}
void freeComm(rondoComm* c) noexcept { if (c->free) c->free(); munmap(c->bar, 4096); delete c; }
CommPtr createComm(Bootstrap& boot, const Config& config, WaitHook hook) {
  const RankInfo mine = describeRank(config.options, readHostId(config.options.hostId), RONDO_DEVICE_NONE);
  std::vector<RankInfo> all(boot.size());
  boot.allGather(&mine, sizeof mine, all.data());
  checkConsensus(all); requireOneHost(all);
  HostGrouping g = groupByHost(all, boot.rank());
  NodeFacts f{}; if (g.localRank == 0) f = readNodeFacts();
  std::vector<NodeFacts> fs(boot.size());
  boot.allGather(&f, sizeof f, fs.data());
  std::vector<int> peers; for (int r : g.localRanks) if (r != boot.rank()) peers.push_back(r);
  FdExchange ex(boot, peers);
  boot.agree(0, "");
  UniqueFd m(memfd_create("x", MFD_CLOEXEC)); if (ftruncate(m.get(), 4096)) {}
  auto got = ex.exchange(m.get());
  const int fd0 = boot.rank() == 0 ? m.get() : got[0].get();
  void* p = mmap(nullptr, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, fd0, 0);
  boot.agree(0, "");
  return CommPtr(new rondoComm{boot.rank(), boot.size(), g.localRank, g.localSize(), false, {}, hook, static_cast<std::atomic<int>*>(p)});
}
void setOwnedByMpi(rondoComm& c) { c.owned = true; }
void onFree(rondoComm& c, std::function<void()> h) { c.free = h; }
rondoResult_t fail(rondoComm*, rondoResult_t code, std::string s) { last = s; return code; }
rondoResult_t guarded(rondoComm* c, const char* call, const std::function<void()>& body) {
  try { body(); return rondoSuccess; } catch (const Error& e) { return fail(c, e.code(), std::string(call) + ": " + e.sentence()); }
}
}
using namespace rondo;
const char* rondoGetLastError(rondoComm_t) { return last.c_str(); }
rondoResult_t rondoCommCount(rondoComm_t c, int* o) { *o = c->size; return rondoSuccess; }
rondoResult_t rondoCommUserRank(rondoComm_t c, int* o) { *o = c->rank; return rondoSuccess; }
rondoResult_t rondoCommLocalRank(rondoComm_t c, int* o) { *o = c->lrank; return rondoSuccess; }
rondoResult_t rondoCommLocalSize(rondoComm_t c, int* o) { *o = c->lsize; return rondoSuccess; }
rondoResult_t rondoCommDestroy(rondoComm_t c) { if (c->owned) return fail(c, rondoInvalidUsage, "owned"); freeComm(c); return rondoSuccess; }
rondoResult_t rondoBarrier(rondoComm_t c, rondoStream_t) { int g = c->bar->load() / c->size; c->bar->fetch_add(1); while (c->bar->load() < (g + 1) * c->size) { c->hook(); sched_yield(); } return rondoSuccess; }

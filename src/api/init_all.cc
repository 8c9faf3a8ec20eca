// A communicator whose ranks are all in the calling process.

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "api/comm_create.h"
#include "api/profile_range.h"
#include "base/error.h"

namespace rondo {
namespace {

/// What a rank's thread came to.
struct Joined {
  rondoComm_t comm = nullptr;
  rondoResult_t result = rondoSuccess;
  std::string sentence;
};

void join(const rondoUniqueId& id, int nranks, int rank, const rondoConfig_t& config,
          Joined* joined) {
  joined->result = rondoCommInitRankConfig(&joined->comm, nranks, id, rank, &config);
  if (joined->result != rondoSuccess) joined->sentence = rondoGetLastError(nullptr);
}

void requireArguments(const rondoComm_t* comms, int nranks) {
  if (comms == nullptr) {
    throw Error(rondoInvalidArgument,
                "argument comms is NULL; allowed: where to write the communicators");
  }
  if (nranks < 1) {
    throw Error(rondoInvalidArgument, format("argument nranks is %d; allowed: from 1", nranks));
  }
}

/// The caller's configuration in this library's layout; checked by each rank.
rondoConfig_t configFor(const char* call, const rondoConfig_t* given, const int* devices,
                        int rank) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  if (given != nullptr) config = adoptConfig(call, *given);
  if (devices != nullptr) config.device = devices[rank];
  if (devices == nullptr && config.device != RONDO_DEVICE_NONE) config.device = RONDO_DEVICE_AUTO;
  config.blocking = 1;  // the ranks' threads wait here
  return config;
}

/// Every rank joins on a thread of its own, for each waits for the others. If one cannot be
/// started, none may begin.
void joinAll(const rondoUniqueId& id, const std::vector<rondoConfig_t>& configs,
             std::vector<Joined>* joined) {
  const int nranks = static_cast<int>(configs.size());
  enum Word : int { kWait, kGo, kStop };
  std::atomic<int> word{kWait};
  std::vector<std::thread> threads;
  std::string failure;
  try {
    for (int r = 0; r < nranks; ++r) {
      const auto at = static_cast<size_t>(r);
      threads.emplace_back([&, r, at] {
        word.wait(kWait);
        if (word.load() == kGo) join(id, nranks, r, configs[at], &(*joined)[at]);
      });
    }
  } catch (const std::system_error& error) {
    failure = format("thread %zu of %d could not be started: %s", threads.size() + 1, nranks,
                     error.what());
  }
  word.store(failure.empty() ? kGo : kStop);
  word.notify_all();
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw Error(rondoSystemError, failure);
}

}  // namespace
}  // namespace rondo

rondoResult_t rondoCommInitAll(rondoComm_t* comms, int nranks, const int* devices,
                               const rondoConfig_t* config) {
  const rondo::LifeRange range("rondoCommInitAll");
  const char* call = "rondoCommInitAll";
  return rondo::guarded(nullptr, call, [&] {
    rondo::requireArguments(comms, nranks);
    std::vector<rondoConfig_t> configs;
    for (int r = 0; r < nranks; ++r) {
      configs.push_back(rondo::configFor(call, config, devices, r));
    }
    rondoUniqueId id;
    if (const rondoResult_t bad = rondoGetUniqueId(&id)) {
      throw rondo::Error(bad, rondoGetLastError(nullptr));
    }
    std::vector<rondo::Joined> joined(configs.size());
    rondo::joinAll(id, configs, &joined);
    for (const rondo::Joined& failed : joined) {
      if (failed.result == rondoSuccess) continue;
      for (const rondo::Joined& made : joined) {
        if (made.comm != nullptr) rondo::freeComm(made.comm);
      }
      throw rondo::Error(failed.result, failed.sentence);
    }
    for (size_t r = 0; r < joined.size(); ++r) comms[r] = joined[r].comm;
  });
}

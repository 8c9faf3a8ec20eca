#pragma once
// N ranks as threads of one process, on real communicators.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/comm_create.h"
#include "api/rondo.h"
#include "p2p/id_bootstrap.h"
#include "support/thread_bootstrap.h"
#include "topo/node_facts.h"

namespace rondo::testing {

/// An environment variable for the time of a scope. Set it while no other thread runs.
class Env {
 public:
  Env(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Env() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

/// One rank's end of a World.
struct Rank {
  rondoComm_t comm;
  int rank;
  int size;
};

/// body(rank) on `n` threads at once.
inline void onRanks(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r) threads.emplace_back(body, r);
  for (std::thread& thread : threads) thread.join();
}

/// Makes a communicator of n threads, runs `body` on each rank, destroys it. Failures of creation
/// fail the test.
class World {
 public:
  explicit World(int size) : size_(size), config_(RONDO_CONFIG_INITIALIZER) {}
  World& tune(const char* rules) {
    config_.tune = rules;
    return *this;
  }
  /// Which ranks lie close together, as in RONDO_GROUPS: "0,0,1,1".
  World& groups(std::string text) {
    groups_ = std::move(text);
    return *this;
  }
  /// Makes several hosts of the ranks, between which UCX is: rank r is on host number hostOf[r].
  /// Without, RONDO_TEST_HOSTS=K puts rank r on host r % K, for whole suites.
  World& hosts(std::vector<int> hostOf) {
    hostOf_ = std::move(hostOf);
    return *this;
  }
  /// Replaces ports of each rank's communicator, called on its thread (p2p/trace_ports.h,
  /// p2p/faulty_ports.h).
  World& decorate(std::function<void(Channels&, int rank)> replace) {
    decorate_ = std::move(replace);
    return *this;
  }
  /// Calls are numbered as if so many of each kind, and messages between hosts, had come before.
  /// RONDO_TEST_CALLS has the same for whole suites, most of which then miss their numbers in
  /// texts.
  World& callsBefore(uint64_t count) {
    callsBefore_ = count;
    return *this;
  }
  /// Called on each rank's thread now and then while it waits, as MPI's progress is.
  World& whileWaiting(std::function<void()> hook) {
    hook_ = std::move(hook);
    return *this;
  }
  void run(const std::function<void(const Rank&)>& body) {
    open([&body](const Rank& me) {
      body(me);
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess) << rondoGetLastError(nullptr);
    });
  }
  /// As run, but `body` ends the communicator itself.
  void open(const std::function<void(const Rank&)>& body) {
    rondoUniqueId id;
    const std::vector<int> hosts = hostsOfRanks();
    // The listener of an id that nobody uses would stay.
    if (hosts.empty()) {
      ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess) << rondoGetLastError(nullptr);
    }
    std::optional<Env> env;
    if (!groups_.empty()) env.emplace("RONDO_GROUPS", groups_);
    ThreadGroup group(size_);
    onRanks(size_, [&](int r) {
      rondoComm_t comm = nullptr;
      const rondoResult_t result = !hosts.empty() ? initAcross(&comm, group, hosts, r)
                                   : decorate_ || hook_ || callsBefore_ != 0
                                       ? initDecorated(&comm, id, r)
                                       : rondoCommInitRankConfig(&comm, size_, id, r, &config_);
      ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr);
      body(Rank{comm, r, size_});
    });
  }

 private:
  /// What rondoCommInitRankConfig does, below the C API, which has no words for these.
  rondoResult_t initDecorated(rondoComm_t* comm, const rondoUniqueId& id, int rank) const {
    return guarded(nullptr, "World", [&] {
      const HostId host = readHostId("");
      IdBootstrap boot(id, size_, rank, {host.hash, host.name});
      *comm = createComm(boot, testConfig(), hook_).release();
    });
  }
  Config testConfig() const {
    Config config = checkConfig("World", &config_);
    config.decorate = decorate_;
    config.callsBefore = callsBefore_;
    return config;
  }

  static uint64_t callsOfEnvironment() {
    const char* const text = std::getenv("RONDO_TEST_CALLS");
    return text != nullptr ? std::strtoull(text, nullptr, 0) : 0;
  }
  std::vector<int> hostsOfRanks() const {
    const char* const text = std::getenv("RONDO_TEST_HOSTS");
    const int hosts = text != nullptr ? std::atoi(text) : 0;
    std::vector<int> hostOf = hostOf_;
    for (int r = 0; hosts > 1 && hostOf_.empty() && r < size_; ++r) hostOf.push_back(r % hosts);
    return hostOf;
  }

  rondoResult_t initAcross(rondoComm_t* comm, ThreadGroup& group, const std::vector<int>& hosts,
                           int rank) const {
    return guarded(nullptr, "World", [&] {
      ThreadBootstrap boot(group, rank);
      Config config = testConfig();
      config.options.hostId = "host" + std::to_string(hosts[static_cast<size_t>(rank)]);
      *comm = createComm(boot, config, hook_).release();
    });
  }

  int size_;
  std::vector<int> hostOf_;
  std::string groups_;
  rondoConfig_t config_;
  std::function<void(Channels&, int rank)> decorate_;
  std::function<void()> hook_;
  uint64_t callsBefore_ = callsOfEnvironment();
};

}  // namespace rondo::testing

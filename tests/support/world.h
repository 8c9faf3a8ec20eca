#pragma once
// N ranks as threads of one process, on real communicators.

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/rondo.h"

namespace rondo::testing {

/// One rank's end of a World.
struct Rank {
  rondoComm_t comm;
  int rank;
  int size;
};

/// Makes a communicator of n threads, runs `body` on each rank, destroys it. Failures of creation
/// fail the test.
class World {
 public:
  explicit World(int size) : size_(size), config_(RONDO_CONFIG_INITIALIZER) {}
  World& tune(const char* rules) {
    config_.tune = rules;
    return *this;
  }
  void run(const std::function<void(const Rank&)>& body) {
    rondoUniqueId id;
    ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess) << rondoGetLastError(nullptr);
    std::vector<std::thread> threads;
    for (int r = 0; r < size_; ++r) {
      threads.emplace_back([this, id, r, &body] {
        rondoComm_t comm = nullptr;
        const rondoResult_t result = rondoCommInitRankConfig(&comm, size_, id, r, &config_);
        ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr);
        body(Rank{comm, r, size_});
        EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess) << rondoGetLastError(nullptr);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  int size_;
  rondoConfig_t config_;
};

}  // namespace rondo::testing

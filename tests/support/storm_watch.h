#pragma once
// Makes a failure of what waits for ever: ends the communicators of ranks that have not moved for
// long.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/rondo.h"

namespace rondo::testing {

class StormWatch {
 public:
#ifdef __SANITIZE_THREAD__
  static constexpr std::chrono::seconds kPatience{150};
#else
  static constexpr std::chrono::seconds kPatience{30};
#endif

  StormWatch(int ranks, std::string what)
      : what_(std::move(what)), steps_(static_cast<size_t>(ranks)), thread_([this] { loop(); }) {}
  ~StormWatch() {
    ended_ = true;
    thread_.join();
  }
  StormWatch(const StormWatch&) = delete;
  StormWatch& operator=(const StormWatch&) = delete;

  /// A rank is there.
  void at(int rank, int step) {
    steps_[static_cast<size_t>(rank)] = step;
    ++moves_;
  }
  void add(rondoComm_t comm) {
    const std::lock_guard<std::mutex> lock(mutex_);
    comms_.push_back(comm);
  }
  /// Before it is destroyed.
  void remove(rondoComm_t comm) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(comms_, comm);
  }
  bool gaveUp() const { return gaveUp_; }

 private:
  void loop() {
    using Clock = std::chrono::steady_clock;
    uint64_t seen = 0;
    auto since = Clock::now();
    while (!ended_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (moves_ != seen) {
        seen = moves_;
        since = Clock::now();
      }
      if (Clock::now() - since < kPatience) continue;
      gaveUp_ = true;
      std::string places;
      for (const auto& step : steps_) places += " " + std::to_string(step.load());
      ADD_FAILURE() << "ranks wait for ever in steps" << places << ": " << what_;
      const std::lock_guard<std::mutex> lock(mutex_);
      for (rondoComm_t comm : comms_) EXPECT_EQ(rondoCommRevoke(comm), rondoSuccess);
      since = Clock::now();
    }
  }

  const std::string what_;
  std::deque<std::atomic<int>> steps_;
  std::mutex mutex_;
  std::vector<rondoComm_t> comms_;
  std::atomic<uint64_t> moves_{0};
  std::atomic<bool> ended_{false}, gaveUp_{false};
  std::thread thread_;
};

}  // namespace rondo::testing

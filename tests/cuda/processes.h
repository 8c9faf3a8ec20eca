#pragma once
// Ranks of several processes that map memory for each other, over a driver that is pretended: they
// are objects of one thread, and each has a thread of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "coll/background_memory.h"
#include "cuda/pretended.h"

namespace rondo::testing {

using namespace std::chrono_literals;

/// Of two or more processes, each on the device of its rank.
class Processes : public PretendedCuda {
 protected:
  struct Rank {
    explicit Rank(int ordinal) : device(CudaDevice::open(ordinal, 0)) {}
    const CudaDevice device;
    std::atomic<bool> healthy{true};
    std::unique_ptr<BackgroundMemory> memory;
  };

  /// `absent` takes no part.
  void start(int ranks, uint64_t mostKept = ~uint64_t{0}, int absent = -1) {
    for (int r = 0; r < ranks; ++r) {
      ranks_.push_back(std::make_unique<Rank>(r));
      Rank& rank = *ranks_.back();
      rank.memory =
          std::make_unique<BackgroundMemory>(BackgroundMemory::Place{rank.device, r, ranks},
                                             mostKept, [&rank] { return rank.healthy.load(); });
    }
    for (int r = 0; r < ranks; ++r) {
      std::vector<std::optional<Secret>> peers(static_cast<size_t>(ranks));
      for (int p = 0; p < ranks; ++p) {
        if (p != r && p != absent) peers[static_cast<size_t>(p)] = of(p).address();
      }
      of(r).meet(std::move(peers));
      if (r != absent) of(r).listen();
    }
  }
  void TearDown() override {
    for (const auto& rank : ranks_) rank->memory.reset();
    ranks_.clear();
    EXPECT_EQ(fake.opened, 0);
  }
  BackgroundMemory& of(int rank) { return *ranks_[static_cast<size_t>(rank)]->memory; }

  /// As cudaMalloc of a rank.
  unsigned char* plain(int rank, size_t bytes) {
    const ContextScope scope(ranks_[static_cast<size_t>(rank)]->device.context());
    unsigned long long at = 0;
    EXPECT_EQ(ofDriver<int(unsigned long long*, size_t)>("cuMemAlloc_v2")(&at, bytes), 0);
    return reinterpret_cast<unsigned char*>(at);
  }
  static void drop(const unsigned char* memory) {
    const auto at = reinterpret_cast<unsigned long long>(memory);
    EXPECT_EQ(ofDriver<int(unsigned long long)>("cuMemFree_v2")(at), 0);
  }
  unsigned char* exportable(int rank, size_t bytes) {
    return reinterpret_cast<unsigned char*>(given(bytes, rank));
  }

  static bool within(std::chrono::milliseconds limit, const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }
  static bool soon(const std::function<bool()>& holds) { return within(20s, holds); }

  /// Where `peer` gets to have it.
  unsigned char* placed(int owner, int peer, const unsigned char* data, uint64_t bytes) {
    uint64_t place = 0;
    EXPECT_TRUE(soon([&] { return (place = of(owner).placeFor(peer, data, bytes)) != 0; }));
    return reinterpret_cast<unsigned char*>(place);
  }
  bool never(int owner, int peer, const unsigned char* data, uint64_t bytes) {
    return !within(200ms, [&] { return of(owner).placeFor(peer, data, bytes) != 0; });
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace rondo::testing

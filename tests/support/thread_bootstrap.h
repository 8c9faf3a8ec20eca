#pragma once
// A Bootstrap whose ranks are threads of one process.

#include <barrier>
#include <cstring>
#include <vector>

#include "p2p/bootstrap.h"

namespace rondo {

/// What the ranks of a ThreadBootstrap share; outlives them.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : size_(size), mine_(static_cast<size_t>(size)), barrier_(size) {
    for (size_t i = 0; i < secret_.size(); ++i) {
      secret_[i] = static_cast<unsigned char>(reinterpret_cast<uintptr_t>(this) >> (i % 8) ^ i);
    }
  }

 private:
  friend class ThreadBootstrap;
  int size_;
  std::vector<const void*> mine_;
  std::barrier<> barrier_;
  Secret secret_;
};

class ThreadBootstrap : public Bootstrap {
 public:
  ThreadBootstrap(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_.size_; }
  const Secret& secret() const override { return group_.secret_; }

  void allGather(const void* mine, size_t bytes, void* all) override {
    group_.mine_[static_cast<size_t>(rank_)] = mine;
    group_.barrier_.arrive_and_wait();
    for (size_t r = 0; r < group_.mine_.size(); ++r) {
      std::memcpy(static_cast<char*>(all) + r * bytes, group_.mine_[r], bytes);
    }
    group_.barrier_.arrive_and_wait();
  }

  /// Until all ranks are here.
  void barrier() { group_.barrier_.arrive_and_wait(); }

 private:
  ThreadGroup& group_;
  int rank_;
};

}  // namespace rondo

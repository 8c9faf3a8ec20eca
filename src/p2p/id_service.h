#pragma once
// The thread that answers for this process's unique ids.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "p2p/id_group.h"

namespace rondo {

/// One thread for all ids of the process, there only while a group is forming or an id is unused.
/// It is detached and owns what it touches, so it simply stops with the process.
class IdService {
 public:
  /// The process's own; another one after a fork.
  static IdService& instance();

  /// Answers for `group` from now on. Throws Error.
  void add(std::unique_ptr<IdGroup> group);

  /// Returns when what members have said by now has been heard and passed on, or after a second. A
  /// process that ends earlier takes with it what other ranks were still to be told.
  void settle();

  /// Groups still answered for, and whether the thread runs (tests).
  struct State {
    size_t groups;
    bool running;
  };
  State state();

 private:
  IdService() = default;
  void serve();
  bool takeNew(std::vector<std::unique_ptr<IdGroup>>& groups);

  std::mutex mutex_;
  UniqueFd wake_;
  std::vector<std::unique_ptr<IdGroup>> added_;
  size_t groups_ = 0;
  bool running_ = false;
  uint64_t turn_ = 0;  // of the thread's loop
  std::condition_variable turned_;
};

}  // namespace rondo

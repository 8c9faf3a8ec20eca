#pragma once
// The progress thread: polls groups that run on by themselves, and sleeps when there are none.

#include <memory>

#include "coll/group_run.h"

namespace rondo {

/// Process-wide. Thread safe.
class ProgressThread {
 public:
  /// Made at the first call; its thread lives as long as the process.
  static ProgressThread& one();

  /// Owns a share of `run` until it is done.
  void add(std::shared_ptr<GroupRun> run);
  /// Polls all groups once on the calling thread; says whether anything was done.
  bool pollAll();

 private:
  ProgressThread();
  struct State;
  void loop();
  State* state_;  // never freed: the thread may outlive every static
};

}  // namespace rondo

#pragma once
// The progress thread: polls groups that run on by themselves, learns of the death of peers, and
// sleeps when there is nothing to do.

#include <functional>
#include <memory>

#include "coll/group_run.h"

namespace rondo {

/// Process-wide. Thread safe.
class ProgressThread {
 public:
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  /// Made at the first call; its thread lives as long as the process. Throws Error if the system
  /// has no timer for it.
  static ProgressThread& one();
  /// Makes it if the system lets it, so that the death of a peer is seen while nobody waits.
  static void tryStart() noexcept;

  /// Polls `run` until it is done or removed; at once if it is long and a core is free, else after
  /// a while, in which its caller may have finished it without the cost of a second thread. Without
  /// a free core, only while its caller does not.
  void add(GroupRun& run);
  /// From now on in this process: ranks keep all cores of the host busy.
  static void coresAreTaken();
  /// Before `run` is closed.
  void remove(GroupRun& run);
  /// `look` runs twenty times a second until Patrol::one().remove(owner), if there is a thread.
  static void patrol(const void* owner, std::function<void()> look);
  /// Polls all groups once on the calling thread; says whether anything was done.
  static bool pollAll();

 private:
  ProgressThread();
  struct State;
  void loop();
  void sleepUntilDue();
  void awaitEvent();
  void work();
  bool rest(int idle);
  bool pollDue(bool* moved);
  std::unique_ptr<State> state_;  // never freed, as the object: the thread may outlive every static
};

}  // namespace rondo

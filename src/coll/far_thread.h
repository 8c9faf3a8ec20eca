#pragma once
// The thread of a process that serves the kernels of communicators that span hosts.

#include <memory>

#include "coll/far_desk.h"

namespace rondo {

/// Process-wide. Thread safe. It makes no CUDA call and no MPI call.
class FarThread {
 public:
  FarThread(const FarThread&) = delete;
  FarThread& operator=(const FarThread&) = delete;
  /// Made at the first call, with its thread, which lives as long as the process.
  static FarThread& one();

  /// Serves `desk` until it is removed.
  void add(std::shared_ptr<FarDesk> desk);
  /// When it returns, the thread has let go of it.
  void remove(const FarDesk& desk);
  /// A kernel will ring: the thread looks again, if it sleeps.
  void wake();

 private:
  FarThread();
  struct State;
  void loop();
  bool refresh();
  void rest(bool busy);
  State* state_;  // never freed: the thread may outlive every static
};

}  // namespace rondo

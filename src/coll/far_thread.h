#pragma once
// The threads of a process that serve the kernels of communicators that span hosts: one for each
// lane of their desks.

#include <chrono>
#include <memory>

#include "coll/far_desk.h"

namespace rondo {

/// Process-wide, one of each lane. Thread safe. It makes no MPI call, and no CUDA call that waits.
class FarThread {
 public:
  FarThread(const FarThread&) = delete;
  FarThread& operator=(const FarThread&) = delete;
  /// Made at the first call, with its thread, which lives as long as the process.
  static FarThread& of(int lane);
  /// How long the process's end waits for what kernels gave and did not wait for.
  static constexpr std::chrono::seconds kLastWords{2};

  /// Serves its lane of `desk` until it is removed.
  void add(std::shared_ptr<FarDesk> desk);
  /// When it returns, the thread has let go of it.
  void remove(const FarDesk& desk);
  /// A kernel will ring: the thread looks again, if it sleeps.
  void wake();
  /// Ends all threads, and waits for it. Before the network's library ends with the process, which
  /// this library's end comes before; exit handlers may still call Rondo.
  static void endAll();

 private:
  explicit FarThread(int lane);
  struct State;
  static void settleAtExit();
  bool settled() const;
  void loop();
  bool refresh();
  void rest(bool busy);
  std::unique_ptr<State> state_;  // never freed, as the object: the thread may outlive every static
};

}  // namespace rondo

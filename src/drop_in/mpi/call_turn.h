#pragma once
// Several threads' calls on one communicator. MPI has programs order them; some do not, because
// their calls are alike and whichever comes first is right (OSU's latency of threads meets so).

#include <sched.h>

#include <atomic>
#include <utility>

namespace rondo::drop_in {

/// MPI_THREAD_MULTIPLE: calls of several threads may be under way at once. Written in MPI_Init.
inline bool threadsBeside = false;
/// No second thread is ever in MPI, nor one of the layer's beside it. Then what calls share needs
/// no locked operations of the processor, each of which takes 5 to 8 ns, and waits for all that was
/// written before. Written in MPI_Init.
inline bool oneCaller = false;
/// So it is, and nothing is counted, rehearsed or on a device: see usual.h. Written in MPI_Init.
inline bool usualProgram = false;

template <class Number>
void addTo(std::atomic<Number>& number, Number what) {
  if (oneCaller) [[likely]] {
    number.store(number.load(std::memory_order_relaxed) + what, std::memory_order_relaxed);
  } else {
    number.fetch_add(what);
  }
}

/// A communicator's calls: a thread has them, or none.
class CallTurns {
 public:
  /// Waits for the thread that has them. False: it is the calling one.
  bool take() {
    const void* const self = &thread_;
    if (owner_.load(std::memory_order_relaxed) == self) return false;
    constexpr int kLooksBeforeYield = 64;
    for (int looks = 0;;) {
      const void* nobody = nullptr;
      if (owner_.compare_exchange_weak(nobody, self, std::memory_order_acquire)) return true;
      looks < kLooksBeforeYield ? ++looks : sched_yield();
    }
  }
  void leave() { owner_.store(nullptr, std::memory_order_release); }

 private:
  static inline thread_local char thread_ = 0;  ///< Its address is the thread's name.
  std::atomic<const void*> owner_{nullptr};
};

/// A call of the thread: as long as it lives, those of other threads wait where they begin. With
/// nullptr they need not.
class CallTurn {
 public:
  explicit CallTurn(CallTurns* turns) {
    if (threadsBeside && turns != nullptr && turns->take()) [[unlikely]]
      turns_ = turns;
  }
  CallTurn(const CallTurn&) = delete;
  CallTurn& operator=(const CallTurn&) = delete;
  ~CallTurn() { leave(); }
  /// Before the program's error handler runs, which may do as it likes.
  void leave() {
    if (turns_ != nullptr) [[unlikely]]
      std::exchange(turns_, nullptr)->leave();
  }

 private:
  CallTurns* turns_ = nullptr;
};

}  // namespace rondo::drop_in

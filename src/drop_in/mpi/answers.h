#pragma once
// A blocking call and its non-blocking twin are one piece of work, answered at once or later.
//
// Work is what a call needs while it runs: load() before, run() is Rondo's call, store() after it
// succeeded; outlast() says that MPI's call returns before store().

#include <memory>

#include "drop_in/mpi/attempt.h"

namespace rondo::drop_in {

/// What a call with nothing of its own to do has on a side.
struct Nothing {
  void store() {}
  void outlast() {}
};

/// One that moves bytes.
template <class From, class To, class Load, class Run>
struct Movement {
  From from;
  To to;
  Load load_;
  Run run_;
  bool receives = true;
  void load() { load_(from, to); }
  rondoResult_t run(rondoComm_t comm) { return run_(from, to, comm); }
  void store() {
    if (receives) to.store();
  }
  void outlast() { to.outlast(); }
};
template <class From, class To, class Load, class Run>
Movement(From, To, Load, Run, bool) -> Movement<From, To, Load, Run>;
template <class From, class To, class Load, class Run>
Movement(From, To, Load, Run) -> Movement<From, To, Load, Run>;

/// One that uses the caller's buffers as they are.
template <class Run>
struct Direct {
  Run run_;
  void load() {}
  rondoResult_t run(rondoComm_t comm) { return run_(comm); }
  void store() {}
  void outlast() {}
};
template <class Run>
Direct(Run) -> Direct<Run>;

/// The work that `Build` makes, as a job.
template <class Build>
class JobOf final : public Job {
 public:
  explicit JobOf(const Build& build) : work_(build()) { work_.outlast(); }
  void load() override { work_.load(); }
  rondoResult_t run(rondoComm_t comm) noexcept override { return work_.run(comm); }
  void store() override { work_.store(); }

 private:
  decltype(std::declval<const Build&>()()) work_;
};

/// The call returns when the work is done.
struct AtOnce {
  static constexpr bool kMayAsk = true;  ///< Ranks may wait for each other in it.
  bool good() const { return true; }
  /// Whether a call of blocks of so many bytes is Rondo's: the same number on all ranks.
  bool worth(size_t) const { return true; }
  /// Whether it is, of those that are worth it, though MPI might be quicker.
  bool stays(Attempt& call, size_t bytes) const { return call.staysRondos(bytes); }
  /// The same for a v-collective of blocks as ranks have agreed on.
  bool worthUneven(size_t agreed) const { return agreed >= leastUneven; }
  template <class Build>
  int operator()(Attempt& call, const Build& build) const {
    return call.taken([&] {
      auto work = build();
      work.load();
      const rondoResult_t result = work.run(call.rondo());
      if (result == rondoSuccess) [[likely]]
        work.store();
      return result;
    });
  }
};

/// The call returns a request.
struct Later {
  static constexpr bool kMayAsk = false;
  MPI_Request* request;
  mutable std::unique_ptr<Asked> asked = nullptr;  ///< It may run between devices.
  bool good() const { return request != nullptr; }
  bool worth(size_t bytes) const { return bytes >= leastLater; }
  bool stays(Attempt& call, size_t bytes) const { return call.staysRondosLater(bytes, request); }
  bool worthUneven(size_t agreed) const { return agreed >= leastUnevenLater; }
  template <class Build>
  int operator()(Attempt& call, const Build& build) const {
    const auto make = [&] { return std::make_unique<JobOf<Build>>(build); };
    return call.begun(request, make, std::move(asked));
  }
};

/// Whether a call of `bytes` bytes on each rank, its buffers where `own` says, is over already:
/// see Attempt::over(). `run`: Rondo's call on the caller's buffers as they are; kept if the call
/// does not block.
template <class Answer, class Pass, class Own, class Run>
bool overOnDevices(Attempt& call, const Answer& answer, const Pass& pass, size_t bytes,
                   const Own& own, const Run& run, int* code, const CallKey& key = {}) {
  if constexpr (Answer::kMayAsk) {
    if (bytes == 0 || !call.asksMemory()) [[likely]]
      return false;
    OwnMemory mine;
    own(mine);
    return call.over(mine, pass, run, code, key);
  } else {
    if (bytes != 0 && call.asksMemory()) [[unlikely]] {
      OwnMemory mine;
      own(mine);
      answer.asked = call.askLater(mine, run, key);
    }
    return false;
  }
}

}  // namespace rondo::drop_in

#pragma once
// A blocking call and its non-blocking twin are one piece of work, answered at once or later.
//
// Work is what a call needs while it runs: load() before, run() is Rondo's call, store() after it
// succeeded; outlast() says that MPI's call returns before store().

#include <memory>
#include <type_traits>

#include "drop_in/mpi/attempt.h"

namespace rondo::drop_in {

/// What a call with nothing of its own to do has on a side.
struct Nothing {
  void store() {}
  void outlast() {}
};
/// Makes it.
constexpr auto nothing = [] { return Nothing{}; };

/// One that moves bytes between sides that `makeFrom` and `makeTo` give. They are made by a
/// constructor, as GCC clears an aggregate before it fills it: with counts of 64 ranks on both
/// sides 2 KiB a call.
template <class From, class To, class Load, class Run>
class Movement {
 public:
  template <class MakeFrom, class MakeTo>
  Movement(const MakeFrom& makeFrom, const MakeTo& makeTo, const Load& load, const Run& run,
           bool receives = true)
      : from_(makeFrom()), to_(makeTo()), load_(load), run_(run), receives_(receives) {}
  void load() { load_(from_, to_); }
  rondoResult_t run(rondoComm_t comm) { return run_(from_, to_, comm); }
  void store() {
    if (receives_) to_.store();
  }
  void outlast() { to_.outlast(); }

 private:
  From from_;
  To to_;
  Load load_;
  Run run_;
  bool receives_;
};
template <class MakeFrom, class MakeTo, class Load, class Run>
Movement(const MakeFrom&, const MakeTo&, const Load&, const Run&, bool = true)
    -> Movement<std::invoke_result_t<MakeFrom>, std::invoke_result_t<MakeTo>, Load, Run>;

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

#include "drop_in/mpi/timed_wait.h"

#include <utility>

#include "base/ticks.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

/// The last call of a thread that is to be timed. While there is one it counts as pending, so that
/// waits look here.
struct Begun {
  std::shared_ptr<MeasuredChoice> choice;
  uint32_t run = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  uint64_t began = 0, returned = 0;

  void forget() {
    if (choice == nullptr) return;
    choice.reset();
    pendingCount.fetch_sub(1);
  }
  ~Begun() { forget(); }
};
thread_local Begun begun;

/// A wait comes at once if what lies between is at most this part of the whole.
constexpr uint64_t kPartBetween = 8;

}  // namespace

void timeUntilWait(std::shared_ptr<MeasuredChoice> choice, uint32_t run, MPI_Request request,
                   uint64_t began) {
  begun.forget();
  pendingCount.fetch_add(1);
  begun.choice = std::move(choice);
  begun.run = run;
  begun.request = request;
  begun.began = began;
  begun.returned = ticks();
}

void forgetTimed() { begun.forget(); }

TimedWait::TimedWait(MPI_Request request) {
  if (begun.choice == nullptr || begun.request != request) return;
  gap_ = ticks() - begun.returned;
  began_ = begun.began;
  run_ = begun.run;
  choice_ = begun.choice;
  begun.forget();
  alone_ = !anyPending();
}

TimedWait::~TimedWait() {
  if (choice_ == nullptr) return;
  const uint64_t whole = ticks() - began_;
  if (gap_ * kPartBetween <= whole) choice_->ended(run_, whole);
}

}  // namespace rondo::drop_in

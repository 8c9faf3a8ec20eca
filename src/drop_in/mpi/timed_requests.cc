#include "drop_in/mpi/timed_requests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ticks.h"
#include "drop_in/mpi/near_thread.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

struct Timed {
  std::shared_ptr<MeasuredChoice> choice;
  MeasuredChoice::Turn turn;
  MPI_Request request;
  uint64_t began;
  uint32_t others;  ///< Calls since that ended or tested other requests only.
};
using TimedOnes = std::vector<Timed>;

/// The thread's; each counts as pending, so that waits look here. nullptr: it has had none yet, or
/// it is ending: MPI may be called by what ends after thread-local objects.
RONDO_NEAR_THREAD constinit thread_local TimedOnes* timed = nullptr;
thread_local bool ending = false;

struct EndsWithTheThread {
  ~EndsWithTheThread() {
    ending = true;
    if (timed != nullptr) pendingCount.fetch_sub(timed->size());
    delete std::exchange(timed, nullptr);
  }
};

/// Who has more under way has the oldest forgotten, which makes its trial incomplete.
constexpr size_t kMost = 16;
constexpr uint32_t kMostOthers = 64;

TimedOnes::iterator find(MPI_Request request) {
  return std::find_if(timed->begin(), timed->end(),
                      [request](const Timed& one) { return one.request == request; });
}

/// Gives the next one.
TimedOnes::iterator forget(TimedOnes::iterator one) {
  pendingCount.fetch_sub(1);
  return timed->erase(one);
}

bool makeTimed() {
  if (ending) return false;
  static thread_local EndsWithTheThread end;
  if (timed == nullptr) timed = new TimedOnes;
  return true;
}

}  // namespace

void timeRequest(std::shared_ptr<MeasuredChoice> choice, const MeasuredChoice::Turn& turn,
                 MPI_Request request, uint64_t began) {
  if (request == MPI_REQUEST_NULL || !makeTimed()) return;
  const auto before = find(request);  // it was ended elsewhere
  if (before != timed->end()) forget(before);
  if (timed->size() == kMost) forget(timed->begin());
  timed->push_back({std::move(choice), turn, request, began, 0});
  pendingCount.fetch_add(1);
}

bool anyTimed(int count, const MPI_Request* requests) {
  if (timed == nullptr) return false;
  const MPI_Request* const end = requests + std::max(0, count);
  for (auto one = timed->begin(); one != timed->end();) {
    one->others = std::find(requests, end, one->request) != end ? 0 : one->others + 1;
    one = one->others > kMostOthers ? forget(one) : one + 1;
  }
  return !timed->empty();
}

bool timesAny() { return timed != nullptr && !timed->empty(); }

void endTimed(MPI_Request request) {
  if (timed == nullptr) return;
  const auto one = find(request);
  if (one == timed->end()) return;
  one->choice->ended(one->turn, ticks() - one->began);
  forget(one);
}

bool isTimedAlone(MPI_Request request) {
  return timed != nullptr && timed->size() == 1 && timed->front().request == request &&
         pendingCount.load() == 1;
}

}  // namespace rondo::drop_in

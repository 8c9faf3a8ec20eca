#include "drop_in/mpi/timed_requests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ticks.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

struct Timed {
  std::shared_ptr<MeasuredChoice> choice;
  uint32_t run;
  MPI_Request request;
  uint64_t began;
  uint32_t others;  ///< Calls since that ended or tested other requests only.
};

/// Each counts as pending, so that waits look here.
struct TimedOnes {
  std::vector<Timed> all;
  void forget(std::vector<Timed>::iterator one) {
    all.erase(one);
    pendingCount.fetch_sub(1);
  }
  auto find(MPI_Request request) {
    return std::find_if(all.begin(), all.end(),
                        [request](const Timed& one) { return one.request == request; });
  }
  ~TimedOnes() { pendingCount.fetch_sub(all.size()); }
};
thread_local TimedOnes timed;

/// Who has more under way has the oldest forgotten, which makes its trial incomplete.
constexpr size_t kMost = 16;
constexpr uint32_t kMostOthers = 64;

}  // namespace

void timeRequest(std::shared_ptr<MeasuredChoice> choice, uint32_t run, MPI_Request request,
                 uint64_t began) {
  const auto before = timed.find(request);  // it was ended elsewhere
  if (before != timed.all.end()) timed.forget(before);
  if (timed.all.size() == kMost) timed.forget(timed.all.begin());
  timed.all.push_back({std::move(choice), run, request, began, 0});
  pendingCount.fetch_add(1);
}

bool anyTimed(int count, const MPI_Request* requests) {
  for (auto one = timed.all.begin(); one != timed.all.end();) {
    const MPI_Request* const end = requests + std::max(0, count);
    one->others = std::find(requests, end, one->request) != end ? 0 : one->others + 1;
    if (one->others > kMostOthers) {
      timed.forget(one);  // in a vector the next one comes here
    } else {
      ++one;
    }
  }
  return !timed.all.empty();
}

void endTimed(MPI_Request request) {
  const auto one = timed.find(request);
  if (one == timed.all.end()) return;
  one->choice->ended(one->run, ticks() - one->began);
  timed.forget(one);
}

bool isTimedAlone(MPI_Request request) {
  return timed.all.size() == 1 && timed.all[0].request == request && pendingCount.load() == 1;
}

}  // namespace rondo::drop_in

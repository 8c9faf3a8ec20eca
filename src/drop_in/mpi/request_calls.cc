#include "drop_in/mpi/request_calls.h"

#include <sched.h>

#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/timed_requests.h"

namespace rondo::drop_in {
namespace {

/// Polls before the core is given away between two of them: other ranks may share it.
constexpr int kPollsBeforeYield = 256;

int raiseFailure(const Pending& failed) {
  return raise(failed.comm(), failed.result(), failed.sentence());
}

}  // namespace

RequestArray::RequestArray(Call call, int count, const MPI_Request* requests)
    : call_(call), requests_(requests) {
  if (statsOn) [[unlikely]]
    start_ = statsClock();
  if (count <= 0 || requests == nullptr) return;
  if (anyTimed(count, requests)) [[unlikely]]
    timed_.assign(requests, requests + count);
  for (int i = 0; devicesOn && i < count; ++i) {
    if (HeldMessage staged = findStaged(requests[i])) {
      messages_.push_back({&requests[i], requests[i], std::move(staged)});
    }
  }
  if (count == 1) {
    one_ = findPending(requests[0]);
    ours_ = {&one_, 1};
    any_ = one_ != nullptr;
    return;
  }
  more_.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    more_.push_back(findPending(requests[i]));
    any_ |= more_.back() != nullptr;
  }
  ours_ = more_;
}

RequestArray::~RequestArray() {
  if (statsOn && any_) [[unlikely]]
    count(call_, Why::Taken, statsClock() - start_);
}

void RequestArray::poll() {
  pollPending();
  if (++idle_ > kPollsBeforeYield) sched_yield();
}

void RequestArray::waitForMpis(MPI_Request request) {
  for (int complete = 0; complete == 0;) {
    poll();
    if (PMPI_Request_get_status(request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
  }
}

void RequestArray::waitForAll() {
  // Rondo's first: while it waits it lets MPI progress.
  for (const Held& one : ours_) {
    if (one != nullptr) one->wait();
  }
  for (size_t i = 0; i < ours_.size(); ++i) {
    if (ours_[i] == nullptr && requests_[i] != MPI_REQUEST_NULL) waitForMpis(requests_[i]);
  }
}

bool RequestArray::hasEnded(const Message& message) {
  if (*message.at == MPI_REQUEST_NULL) return true;
  if (!message.staged->isPersistent()) return false;
  // Inactive, or complete at least, and then the buffer is still the layer's to fill.
  int complete = 0;
  PMPI_Request_get_status(*message.at, &complete, MPI_STATUS_IGNORE);
  return complete != 0;
}

int RequestArray::endMessages(int code) {
  endFreed();
  for (const Message& message : messages_) {
    if (!hasEnded(message)) continue;
    removeStaged(message.request, message.staged);
    const int failure = message.staged->end();
    if (code == MPI_SUCCESS) code = failure;
  }
  return code;
}

bool RequestArray::hasEndedSome(int code) {
  if (code == MPI_SUCCESS) return true;
  int what = code;
  PMPI_Error_class(code, &what);
  return what == MPI_ERR_IN_STATUS;
}

/// The one at `index` has; of those that are timed the time is over.
void RequestArray::endTimedAt(int code, int index) {
  if (hasEndedSome(code) && !timed_.empty() && index != MPI_UNDEFINED) {
    endTimed(timed_[static_cast<size_t>(index)]);
  }
}

int RequestArray::ended(int code, int number, const int* which, MPI_Status* statuses) {
  for (int k = 0; k < number; ++k) endTimedAt(code, which == nullptr ? k : which[k]);
  code = endMessages(code);
  const Pending* first = nullptr;
  for (int k = 0; any_ && k < number; ++k) {
    const Pending* one = ours_[static_cast<size_t>(which == nullptr ? k : which[k])].get();
    if (one == nullptr || !one->failed()) continue;
    if (first == nullptr && code == MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE) {
      for (int i = 0; i < number; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    if (first == nullptr) first = one;
    const int failure = codeFor(one->result(), one->sentence());
    if (statuses != MPI_STATUSES_IGNORE) statuses[k].MPI_ERROR = failure;
  }
  if (first == nullptr || code != MPI_SUCCESS) return code;
  PMPI_Comm_call_errhandler(first->comm(), MPI_ERR_IN_STATUS);
  return MPI_ERR_IN_STATUS;
}

int RequestArray::endedOne(int code, bool flag, int index) {
  if (flag) endTimedAt(code, index);
  code = endMessages(code);
  if (code != MPI_SUCCESS || !any_ || !flag || index == MPI_UNDEFINED) return code;
  const Pending* one = ours_[static_cast<size_t>(index)].get();
  return one != nullptr && one->failed() ? raiseFailure(*one) : code;
}

}  // namespace rondo::drop_in

#include "drop_in/mpi/staged.h"

#include <sched.h>

#include <chrono>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

/// Never destroyed, as MPI_Finalize may run in an atexit handler.
struct State {
  std::mutex mutex;
  std::unordered_map<MPI_Request, HeldMessage> messages;
  std::vector<std::pair<MPI_Request, HeldMessage>> freed;
};
State& state() {
  static State* const instance = new State;
  return *instance;
}

}  // namespace

int Staged::end() {
  if (ended_) return MPI_SUCCESS;
  ended_ = true;
  try {
    bringBack();
  } catch (const Error& error) {
    return raise(MPI_COMM_WORLD, error.code(),
                 "the way of what was received to the device: " + error.sentence());
  }
  return MPI_SUCCESS;
}

void addStaged(MPI_Request request, const HeldMessage& message) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.messages.insert_or_assign(request, message).second) pendingCount.fetch_add(1);
}

HeldMessage findStaged(MPI_Request request) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  const auto found = self.messages.find(request);
  return found == self.messages.end() ? nullptr : found->second;
}

void removeStaged(MPI_Request request, const HeldMessage& message) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  const auto found = self.messages.find(request);
  if (found == self.messages.end() || found->second != message) return;
  self.messages.erase(found);
  pendingCount.fetch_sub(1);
}

void freeStaged(MPI_Request* request, const HeldMessage& message) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.messages.erase(*request);  // it goes on counting as pending
  self.freed.emplace_back(*request, message);
  freedCount.fetch_add(1);
  *request = MPI_REQUEST_NULL;
}

void endFreedNow() {
  State& self = state();
  std::vector<std::pair<MPI_Request, HeldMessage>> mine, left;
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    mine.swap(self.freed);
  }
  for (auto& [request, message] : mine) {
    int over = 0;
    PMPI_Test(&request, &over, MPI_STATUS_IGNORE);
    if (over == 0) {
      left.emplace_back(request, std::move(message));
      continue;
    }
    message->end();
    if (request != MPI_REQUEST_NULL) PMPI_Request_free(&request);  // a persistent one
    freedCount.fetch_sub(1);
    pendingCount.fetch_sub(1);
  }
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.freed.insert(self.freed.end(), left.begin(), left.end());
}

void drainFreed() {
  constexpr std::chrono::seconds kPatience{2};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (endFreed(); freedCount.load() != 0 && std::chrono::steady_clock::now() < until; endFreed()) {
    sched_yield();
  }
  State& self = state();
  for (auto& [request, message] : self.freed) {
    PMPI_Cancel(&request);
    PMPI_Request_free(&request);
  }
}

}  // namespace rondo::drop_in

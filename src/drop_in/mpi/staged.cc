#include "drop_in/mpi/staged.h"

#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

/// Never destroyed, as MPI_Finalize may run in an atexit handler.
struct State {
  std::mutex mutex;
  std::unordered_map<MPI_Request, HeldMessage> messages;
};
State& state() {
  static State* const instance = new State;
  return *instance;
}

}  // namespace

int Staged::end() {
  if (!receives_) return MPI_SUCCESS;
  receives_ = false;
  try {
    image_.bringBack();
  } catch (const Error& error) {
    return raise(MPI_COMM_WORLD, error.code(),
                 "a message's way to the device: " + error.sentence());
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

}  // namespace rondo::drop_in

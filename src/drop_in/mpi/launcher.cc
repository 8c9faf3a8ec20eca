#include "drop_in/mpi/launcher.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/own_thread.h"
#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/device_path.h"
#include "drop_in/mpi/mpi_progress.h"

namespace rondo::drop_in {
namespace {

/// The program's own threads look all the time while they are in MPI: this one is for the others,
/// and takes next to nothing from them.
constexpr std::chrono::microseconds kFirstNap{20}, kLongestNap{200};

/// Never destroyed: MPI_Finalize may never run.
struct State {
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<const KnownComm*> queues;
  const KnownComm* at = nullptr;  ///< Of whose queue the thread is.
  bool stop = false;
  bool woken = false;
  std::thread thread;
};

State& state() {
  static State* const instance = new State;
  return *instance;
}

/// Whether calls are left that wait.
bool advanceAll(State& self, std::unique_lock<std::mutex>& lock) {
  bool left = false;
  for (size_t i = 0; i < self.queues.size(); ++i) {
    const KnownComm* const known = self.queues[i];
    if (!known->devices.later().waits()) continue;
    self.at = known;
    lock.unlock();
    known->devices.later().advance(*known, false);
    left |= known->devices.later().waits();
    lock.lock();
    self.at = nullptr;
    self.wake.notify_all();
  }
  return left;
}

void run() {
  State& self = state();
  const NoPollsOfMpi always;
  std::unique_lock<std::mutex> lock(self.mutex);
  while (!self.stop) {
    self.wake.wait(lock, [&] { return self.stop || self.woken; });
    self.woken = false;
    std::chrono::microseconds nap = kFirstNap;
    do {
      lock.unlock();
      std::this_thread::sleep_for(nap);
      nap = std::min(nap * 2, kLongestNap);
      lock.lock();
    } while (!self.stop && advanceAll(self, lock));
  }
}

}  // namespace

std::string startLauncher() {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  if (self.thread.joinable()) return "";
  try {
    self.stop = false;
    self.thread = ownThread("the launcher of non-blocking collectives", run);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

void watchQueue(const KnownComm& known) {
  State& self = state();
  const std::lock_guard<std::mutex> lock(self.mutex);
  self.queues.push_back(&known);
}

void forgetQueue(const KnownComm& known) {
  State& self = state();
  std::unique_lock<std::mutex> lock(self.mutex);
  std::erase(self.queues, &known);
  self.wake.wait(lock, [&] { return self.at != &known; });
}

void wakeLauncher() {
  State& self = state();
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    if (self.woken) return;
    self.woken = true;
  }
  self.wake.notify_all();
}

void stopLauncher() {
  State& self = state();
  {
    const std::lock_guard<std::mutex> lock(self.mutex);
    if (!self.thread.joinable()) return;
    self.stop = true;
  }
  self.wake.notify_all();
  self.thread.join();
}

}  // namespace rondo::drop_in

#include "p2p/id_service.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/own_thread.h"

namespace rondo {
namespace {

constexpr int kSettleMs = 1000;

}  // namespace

IdService& IdService::instance() {
  // Never destroyed: the thread may outlive the program's static objects. A fork takes the object
  // along but not its thread, and perhaps a locked mutex: the child leaves it alone.
  static std::mutex guard;
  static IdService* service = nullptr;
  static pid_t owner = 0;
  const std::lock_guard<std::mutex> lock(guard);
  if (service == nullptr || owner != getpid()) {
    service = new IdService;
    owner = getpid();
  }
  return *service;
}

void IdService::add(std::unique_ptr<IdGroup> group) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (running_) {
    added_.push_back(std::move(group));
    ++groups_;
    const uint64_t one = 1;
    if (write(wake_.get(), &one, sizeof one) != sizeof one) {
      throw systemError("waking the unique id service", errno);
    }
    return;
  }
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake_.get() < 0) throw systemError("eventfd of the unique id service", errno);
  ownThread("the unique id service", [this] { serve(); }).detach();
  added_.push_back(std::move(group));
  ++groups_;
  running_ = true;
}

void IdService::settle() {
  std::unique_lock<std::mutex> lock(mutex_);
  const Clock::time_point start = Clock::now();
  // The turn that is going on may have polled before the last words were said; the next has not.
  const uint64_t wanted = turn_ + 2;
  while (running_ && turn_ < wanted && millisSince(start) < kSettleMs) {
    const uint64_t one = 1;
    if (write(wake_.get(), &one, sizeof one) != sizeof one) return;
    const uint64_t now = turn_;
    turned_.wait_for(lock, std::chrono::milliseconds(kSettleMs),
                     [&] { return turn_ != now || !running_; });
  }
}

IdService::State IdService::state() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {groups_, running_};
}

// False: nothing to do any more, and the next add() starts a new thread.
bool IdService::takeNew(std::vector<std::unique_ptr<IdGroup>>& groups) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++turn_;
  turned_.notify_all();
  uint64_t count = 0;
  if (read(wake_.get(), &count, sizeof count) < 0) count = 0;  // nothing new is no error
  for (auto& group : added_) groups.push_back(std::move(group));
  added_.clear();
  groups_ = groups.size();
  if (!groups.empty()) return true;
  running_ = false;
  wake_ = UniqueFd();
  return false;
}

void IdService::serve() {
  std::vector<std::unique_ptr<IdGroup>> groups;
  std::vector<pollfd> set;
  while (takeNew(groups)) {
    set.assign(1, {wake_.get(), POLLIN, 0});
    int timeout = -1;
    std::vector<size_t> begins;
    for (const auto& group : groups) {
      begins.push_back(set.size());
      group->collect(set);
      const int until = group->timeout();
      if (until >= 0 && (timeout < 0 || until < timeout)) timeout = until;
    }
    if (poll(set.data(), set.size(), timeout) < 0) {
      for (pollfd& entry : set) entry.revents = 0;
    }
    for (size_t i = 0; i < groups.size(); ++i) {
      try {
        groups[i]->handle(&set[begins[i]]);
      } catch (const std::exception&) {
        groups[i] = nullptr;  // out of memory: its members see their connections end
      }
    }
    std::erase_if(groups, [](const auto& group) { return !group || group->finished(); });
  }
}

}  // namespace rondo

#include "p2p/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "p2p/tcp_socket.h"

namespace rondo {
namespace {

thread_local const BootWait* current = nullptr;

}  // namespace

Interrupt::Interrupt() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.get() < 0) throw systemError("eventfd for ending a wait", errno);
}

void Interrupt::raise() noexcept {
  raised_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  // A counter that is full is readable, too.
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

BootWait::BootWait(const Interrupt* interrupt, std::function<void()> hook)
    : outer_(current),
      interrupt_(interrupt == nullptr && current != nullptr ? current->interrupt_ : interrupt),
      hook_(std::move(hook)) {
  current = this;
}

BootWait::~BootWait() { current = outer_; }

bool BootWait::interrupted() {
  return current != nullptr && current->interrupt_ != nullptr && current->interrupt_->raised();
}

int BootWait::poll(std::vector<pollfd>& set, int timeoutMs) {
  constexpr int kHookEveryMs = 1;
  if (current == nullptr) return ::poll(set.data(), set.size(), timeoutMs);
  const Deadline deadline(timeoutMs);
  const Interrupt* const interrupt = current->interrupt_;
  if (interrupt != nullptr) set.push_back({interrupt->fd(), POLLIN, 0});
  int found = 0;
  do {
    if (current->hook_) current->hook_();
    int wait = timeoutMs < 0 ? -1 : deadline.left();
    if (current->hook_) wait = wait < 0 ? kHookEveryMs : std::min(wait, kHookEveryMs);
    found = ::poll(set.data(), set.size(), wait);
  } while (found == 0 && (timeoutMs < 0 || deadline.left() > 0));
  const int problem = errno;
  if (interrupt != nullptr) set.pop_back();
  errno = interrupted() ? ECANCELED : problem;
  return interrupted() ? -1 : found;
}

}  // namespace rondo

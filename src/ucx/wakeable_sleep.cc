#include "ucx/wakeable_sleep.h"

#include <sys/eventfd.h>

namespace rondo {

/// Without a descriptor it is a sleep that cannot be woken: slower, and right.
WakeableSleep::WakeableSleep() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool WakeableSleep::until(std::span<pollfd> events, std::chrono::milliseconds most) {
  events.back() = {event_.get(), POLLIN, 0};
  poll(events.data(), events.size(), static_cast<int>(most.count()));
  const bool woken = !asleep_.exchange(false);
  eventfd_t unused = 0;
  // One that came as the sleep ended by itself may be written later, and would end each one after.
  if (woken || events.back().revents != 0) eventfd_read(event_.get(), &unused);
  return woken;
}

void WakeableSleep::wakeNow() {
  if (asleep_.exchange(false)) eventfd_write(event_.get(), 1);
}

}  // namespace rondo

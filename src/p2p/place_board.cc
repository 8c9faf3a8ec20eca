#include "p2p/place_board.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>

namespace rondo {

void awaitBell(uint32_t* bell, uint32_t heard) {
  syscall(SYS_futex, bell, FUTEX_WAIT, heard, nullptr, nullptr, 0);
}

void ringBell(uint32_t* bell) {
  std::atomic_ref(*bell).fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rondo

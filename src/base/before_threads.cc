#include "base/before_threads.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
constexpr bool __libc_single_threaded = false;  // glibc below 2.32: nobody knows
#endif

namespace rondo {

bool growDescriptorTable(unsigned descriptors) {
  if (!__libc_single_threaded) return false;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const rlim_t room = std::min<rlim_t>(descriptors, limit.rlim_cur);
  // A copy of any descriptor will do, of the first that is open.
  for (int fd = 0; fd < 8 && room > 0; ++fd) {
    const int last = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(room - 1));
    if (last < 0) continue;
    close(last);
    return true;
  }
  return false;
}

bool canFenceAllThreads() {
  static const bool can =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return can;
}

namespace {

constexpr unsigned kDescriptors = 1024;

[[gnu::constructor]] void whenLoaded() {
  if (!__libc_single_threaded) return;
  growDescriptorTable(kDescriptors);
  canFenceAllThreads();
}

}  // namespace
}  // namespace rondo

#include "base/before_threads.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/unique_fd.h"

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
  if (room == 0) return false;
  // Nobody's: with a copy of a file's descriptor the process's locks on it would be closed.
  const UniqueFd any(eventfd(0, EFD_CLOEXEC));
  const UniqueFd last(fcntl(any.get(), F_DUPFD_CLOEXEC, static_cast<int>(room - 1)));
  return last.get() >= 0;
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

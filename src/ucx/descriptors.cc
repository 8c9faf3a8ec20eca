#include "ucx/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "base/error.h"
#include "base/log.h"

namespace rondo {
namespace {

size_t openNow() {
  std::error_code none;
  size_t count = 0;
  for (std::filesystem::directory_iterator each("/proc/self/fd", none), end; !none && each != end;
       each.increment(none)) {
    ++count;
  }
  return count;
}

}  // namespace

void allowDescriptors(size_t more) {
  static std::mutex raising;  // ranks that are threads of one process would lower it for each other
  const std::lock_guard<std::mutex> lock(raising);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t before = limit.rlim_cur, wanted = openNow() + 2 * more;
  if (before >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  const bool raised = limit.rlim_cur > before && setrlimit(RLIMIT_NOFILE, &limit) == 0;
  const rlim_t now = raised ? limit.rlim_cur : before;
  const bool suffices = now >= wanted;
  logLine(LogPart::Net, suffices ? LogLevel::Info : LogLevel::Warn, -1, [&] {
    return format(
        "this process may have %zu open files%s: connections to other hosts' ranks may "
        "take %zu%s",
        static_cast<size_t>(now),
        raised ? format(" instead of %zu", static_cast<size_t>(before)).c_str() : "", more,
        suffices ? "" : "; more with ulimit -n");
  });
}

std::string fewDescriptorsText(size_t more) {
  rlimit limit{};
  const size_t open = openNow();
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > open + more) return "";
  return format(
      "; this process has %zu of %zu file descriptors open, and needs up to %zu more: "
      "ulimit -n says how many it may have",
      open, static_cast<size_t>(limit.rlim_cur), more);
}

}  // namespace rondo

#include "progress.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace rondo::bench {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);

bool isTerminal(const struct stat& file) {
  const unsigned number = major(file.st_rdev);
  const bool pseudo = number >= 136 && number <= 143;
  return S_ISCHR(file.st_mode) && (pseudo || number == 4 || number == 5);
}

}  // namespace

bool reachesTerminal(int fd) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return isatty(fd) == 1;
  const std::string path = "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(fd);
  struct stat file {};
  return stat(path.c_str(), &file) == 0 && isTerminal(file);
}

Progress::Progress(When when, bool isRoot)
    : active_(isRoot && (when == When::kAlways || (when == When::kAuto && reachesTerminal(2)))) {}

void Progress::show(const std::string& what, int done, int total) {
  if (!active_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kPause;
  shown_ = true;
  std::fprintf(stderr, "\r\033[K%s  %d%%", what.c_str(), total > 0 ? 100 * done / total : 0);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace rondo::bench

#include "base/writable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace rondo {

std::string whyUnwritable(const std::string& path) {
  // A pipe that nobody reads yet is there all the same.
  const UniqueFd there(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (there.get() >= 0 || errno == ENXIO) return "";
  if (errno != ENOENT) return std::strerror(errno);
  const UniqueFd made(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (made.get() < 0) return std::strerror(errno);
  unlink(path.c_str());
  return "";
}

}  // namespace rondo

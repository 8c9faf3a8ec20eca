#include <cerrno>
#include <cstring>

#include "errors.h"
#include "report.h"

namespace rondo::bench {

std::ofstream openForWriting(const char* option, const std::string& path) {
  std::ofstream file(path);
  if (!file) {
    throw UsageError(std::string(option) + " " + path + ": cannot be written (" +
                     std::strerror(errno) + "); allowed is a file in a folder that exists");
  }
  return file;
}

}  // namespace rondo::bench

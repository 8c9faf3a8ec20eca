#include "base/config_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/unique_fd.h"

namespace rondo {

std::vector<std::string> configDirs(const std::string& tuneDir) {
  if (!tuneDir.empty()) return {tuneDir};
  std::vector<std::string> dirs;
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  // The XDG base directory specification: relative paths count as not set.
  if (config != nullptr && *config == '/') {
    dirs.push_back(std::string(config) + "/rondo");
  } else if (home != nullptr && *home == '/') {
    dirs.push_back(std::string(home) + "/.config/rondo");
  }
  dirs.emplace_back("/etc/rondo");
  return dirs;
}

namespace {

/// A disk that has room for a part takes that; why not more says the next write.
void writeAll(int out, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t wrote = write(out, text.data(), text.size());
    if (wrote < 0) throw systemError(name, errno);
    text.remove_prefix(static_cast<size_t>(wrote));
  }
}

}  // namespace

std::string placeBeside(const std::string& path) {
  return path + format(".%d", static_cast<int>(getpid()));
}

void writeConfigFile(const std::string& text, const std::string& path) {
  const std::filesystem::path place(path);
  std::error_code fault;
  if (place.has_parent_path()) std::filesystem::create_directories(place.parent_path(), fault);
  const std::string beside = placeBeside(path);
  try {
    const UniqueFd out(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (out.get() < 0) throw systemError(beside, errno);
    writeAll(out.get(), text, beside);
    if (fsync(out.get()) != 0) throw systemError(beside, errno);
    if (rename(beside.c_str(), path.c_str()) != 0) throw systemError(path, errno);
  } catch (...) {
    unlink(beside.c_str());
    throw;
  }
}

}  // namespace rondo

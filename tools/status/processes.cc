#include "status/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace rondo::status {
namespace {

std::string procPath(int pid, const std::string& what) {
  return "/proc/" + std::to_string(pid) + "/" + what;
}

std::vector<std::string> entries(const std::string& folder, int* error) {
  std::vector<std::string> names;
  DIR* const dir = opendir(folder.c_str());
  *error = dir == nullptr ? errno : 0;
  if (dir == nullptr) return names;
  while (const dirent* entry = readdir(dir)) names.emplace_back(entry->d_name);
  closedir(dir);
  return names;
}

/// As the process calls itself: the last of NSpid.
int ownPid(int pid) {
  std::istringstream numbers(statusValue(pid, "NSpid"));
  int last = pid;
  for (int number; numbers >> number;) last = number;
  return last;
}

std::unique_ptr<AreaMapping> mapFile(const std::string& path, Access access) {
  const bool writes = access == Access::Write;
  const int fd = open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat info {};
  void* base = MAP_FAILED;
  // One that could shrink under the mapping is not Rondo's.
  const int seals = fcntl(fd, F_GET_SEALS);
  const bool stays = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  if (stays && fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) >= StatusArea::kBytes) {
    base = mmap(nullptr, StatusArea::kBytes, writes ? PROT_READ | PROT_WRITE : PROT_READ,
                MAP_SHARED, fd, 0);
  }
  close(fd);
  if (base == MAP_FAILED) return nullptr;
  return std::make_unique<AreaMapping>(static_cast<char*>(base), StatusArea::kBytes);
}

}  // namespace

AreaMapping::~AreaMapping() { munmap(base_, bytes_); }

std::unique_ptr<AreaMapping> mapArea(int pid, std::string* why, Access access) {
  int error = 0;
  const std::vector<std::string> descriptors = entries(procPath(pid, "fd"), &error);
  if (error != 0) {
    *why = error == ENOENT || error == ESRCH ? "does not exist"
           : error == EACCES || error == EPERM
               ? "belongs to another user; allowed: processes of one's own, or any for root"
               : format("cannot be looked into: %s", std::strerror(error));
    return nullptr;
  }
  *why = "has no Rondo communicator";
  for (const std::string& name : descriptors) {
    const std::string path = procPath(pid, "fd/" + name);
    char target[64] = {};
    if (readlink(path.c_str(), target, sizeof target - 1) <= 0) continue;
    if (std::strcmp(target, "/memfd:rondo (deleted)") != 0) continue;
    std::unique_ptr<AreaMapping> mapping = mapFile(path, access);
    if (mapping == nullptr) continue;
    std::string problem;
    if (!canReadFlights(mapping->base(), &problem)) {
      *why = "cannot be read: " + problem;
      continue;
    }
    // A peer's, on its way here, or that of the process which this one was forked from.
    if (StatusArea::head(mapping->base()).pid == ownPid(pid)) return mapping;
  }
  return nullptr;
}

std::vector<LocalProcess> findProcesses() {
  std::vector<LocalProcess> found;
  int error = 0;
  for (const std::string& name : entries("/proc", &error)) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const int pid = std::stoi(name);
    std::string why;
    const std::unique_ptr<AreaMapping> area = mapArea(pid, &why);
    if (area == nullptr) continue;
    found.push_back({pid, readProcessState(pid), readFlights(area->base())});
  }
  std::sort(found.begin(), found.end(),
            [](const LocalProcess& a, const LocalProcess& b) { return a.pid < b.pid; });
  return found;
}

}  // namespace rondo::status

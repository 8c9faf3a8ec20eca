#include "p2p/process_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/unique_fd.h"
#include "p2p/status_area.h"

namespace rondo {
namespace {

std::string procPath(int pid, const std::string& what) {
  return "/proc/" + std::to_string(pid) + "/" + what;
}

const char* stateName(char letter) {
  switch (letter) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in a wait that nothing interrupts";
    case 'T':
      return "stopped (SIGSTOP, or a terminal's)";
    case 't':
      return "stopped by a debugger";
    case 'Z':
      return "ended, not yet reaped by its parent";
    default:
      return "in an unknown state";
  }
}

bool hasToken(const std::string& path, uint64_t token) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  StatusHead head;
  return fd.get() >= 0 && pread(fd.get(), &head, sizeof head, 0) == sizeof head &&
         head.magic == StatusHead::kMagic && head.token == token;
}

}  // namespace

std::string statusValue(int pid, const std::string& key) {
  std::ifstream file(procPath(pid, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) != 0) continue;
    const size_t begin = line.find_first_not_of(" \t", key.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

ProcessState readProcessState(int pid) {
  ProcessState out;
  const std::string state = statusValue(pid, "State");
  out.there = !state.empty();
  if (!out.there) {
    out.text = "ended";
    return out;
  }
  out.letter = state[0];
  out.text = stateName(out.letter);
  std::string channel;
  std::getline(std::ifstream(procPath(pid, "wchan")), channel);
  if (!channel.empty() && channel != "0" && !out.stopped()) out.text += " in " + channel;
  return out;
}

bool isProcess(int pid, uint64_t token) {
  DIR* const dir = opendir(procPath(pid, "fd").c_str());
  if (dir == nullptr) return false;
  bool found = false;
  while (const dirent* entry = readdir(dir)) {
    const std::string path = procPath(pid, "fd/") + entry->d_name;
    char target[64] = {};
    if (readlink(path.c_str(), target, sizeof target - 1) <= 0) continue;
    found = found || (std::strcmp(target, "/memfd:rondo (deleted)") == 0 && hasToken(path, token));
  }
  closedir(dir);
  return found;
}

std::string readKernelStack(int pid) {
  std::ifstream file(procPath(pid, "stack"));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Of "[<0>] futex_wait_queue+0x60/0x90" the name.
std::string kernelStackText(int pid) {
  constexpr int kMostFrames = 5;
  std::istringstream frames(readKernelStack(pid));
  std::string out, address, function;
  for (int i = 0; i < kMostFrames && frames >> address && std::getline(frames, function); ++i) {
    const size_t begin = std::min(function.find_first_not_of(' '), function.size());
    const std::string name = function.substr(begin, function.find('+') - begin);
    out += (out.empty() ? "" : " < ") + name;
  }
  return out;
}

}  // namespace rondo

#pragma once
// Forks of a program that has threads.

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace rondo::test {

/// Whether every other thread of this process waits inside the kernel.
inline bool othersSleep() {
  bool sleep = true;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.' || std::atoi(task->d_name) == gettid()) continue;
    std::ifstream file(std::string("/proc/self/task/") + task->d_name + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const size_t name = stat.rfind(')');  // "TID (NAME) STATE ..."; nothing: it has ended
    sleep = sleep && (name + 2 >= stat.size() || stat[name + 2] == 'S');
  }
  closedir(tasks);
  return sleep;
}

/// A child keeps for ever what locks other threads hold at that moment, those of the address
/// sanitizer's allocator as well (GCC 12), so it is made while they sleep, or after two seconds. If
/// it hangs all the same it ends after five minutes.
inline pid_t quietFork() {
  for (int i = 0; i < 2000 && !othersSleep(); ++i) usleep(1000);
  const pid_t child = fork();
  if (child == 0) alarm(300);
  return child;
}

}  // namespace rondo::test

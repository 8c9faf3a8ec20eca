#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/hash.h"
#include "topo/node_facts.h"

namespace rondo {
namespace {

std::string hostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  return name;
}

// Differs between machines and between boots of one; a container shares it with its host.
std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

// Two processes see the same numbers exactly if they are in the same name space.
std::string nameSpace(const char* path) {
  struct stat info {};
  if (stat(path, &info) != 0) return "?";
  return format("%llx:%llx", static_cast<unsigned long long>(info.st_dev),
                static_cast<unsigned long long>(info.st_ino));
}

uint64_t hashOf(const std::string& text) { return mixBits(hashBytes(text)); }

}  // namespace

HostId readHostId(const std::string& override, const char* by) {
  const std::string name = hostName();
  if (!override.empty()) {
    return {hashOf("override\n" + override), override + " (set by " + by + ", on " + name + ")",
            hashOf(bootId())};
  }
  // Abstract sockets live in the network name space, so it is part of the identity.
  const std::string text = "host\n" + name + "\n" + bootId() + "\n" +
                           nameSpace("/proc/self/ns/ipc") + "\n" + nameSpace("/proc/self/ns/net");
  return {hashOf(text), name, hashOf(bootId())};
}

}  // namespace rondo

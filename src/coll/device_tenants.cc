#include "coll/device_tenants.h"

#include <random>
#include <set>

#include "base/error.h"
#include "base/log.h"

namespace rondo {

std::array<uint64_t, 2> processTag() {
  static const std::array<uint64_t, 2> tag = [] {
    std::random_device random;
    const auto word = [&] { return uint64_t{random()} << 32 | random(); };
    return std::array<uint64_t, 2>{word(), word()};
  }();
  return tag;
}

DeviceSharers sharersOf(const std::vector<DeviceTenant>& tenants, size_t rank) {
  const DeviceTenant& mine = tenants[rank];
  std::set<std::array<uint64_t, 2>> processes;
  int32_t inProcess = 0;
  for (const DeviceTenant& each : tenants) {
    if (each.device != mine.device) continue;
    processes.insert(each.process);
    if (each.process == mine.process) ++inProcess;
  }
  return {static_cast<int32_t>(processes.size()), inProcess};
}

std::string turnsTaken(const std::vector<DeviceTenant>& tenants) {
  for (size_t b = 1; b < tenants.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      const DeviceTenant &one = tenants[a], &other = tenants[b];
      const bool apart = one.device == other.device && one.process != other.process;
      if (!apart || (one.together != 0 && other.together != 0)) continue;
      return format(
          "ranks %zu and %zu are processes that share a GPU, which takes them in turns of some "
          "milliseconds, and so long takes every call; allowed: MPS (nvidia-cuda-mps-control -d), "
          "or a GPU for each process",
          a, b);
    }
  }
  return "";
}

void warnOfTurns(const std::vector<DeviceTenant>& tenants, int rank) {
  if (rank != 0) return;
  const std::string turns = turnsTaken(tenants);
  if (!turns.empty()) logLine(LogPart::Device, LogLevel::Warn, 0, [&] { return turns; });
}

}  // namespace rondo

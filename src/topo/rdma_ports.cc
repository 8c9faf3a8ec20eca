#include "topo/rdma_ports.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "topo/quantities.h"

namespace rondo::topo {
namespace {

namespace fs = std::filesystem;

std::string firstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "400 Gb/sec (4X NDR)"; 0: it says something else.
uint64_t parseRate(const std::string& text) {
  const size_t end = text.find(" Gb/sec");
  uint64_t bytes = 0;
  // Gigabits read as GB/s are eight times too many.
  if (end == std::string::npos || !parseBandwidth(text.substr(0, end), &bytes)) return 0;
  return bytes / 8;
}

}  // namespace

std::vector<RdmaPort> readRdmaPorts(const std::string& root) {
  std::vector<RdmaPort> out;
  std::error_code fault;
  std::vector<fs::path> devices;
  for (fs::directory_iterator it(root, fault), end; !fault && it != end; it.increment(fault)) {
    devices.push_back(it->path());
  }
  std::sort(devices.begin(), devices.end());
  for (const fs::path& device : devices) {
    const fs::path card = fs::read_symlink(device / "device", fault);
    const std::string guid = firstLine(device / "node_guid");
    for (uint64_t port = 1; fs::is_directory(device / "ports" / std::to_string(port), fault);
         ++port) {
      const fs::path at = device / "ports" / std::to_string(port);
      const bool active = firstLine(at / "state").find("ACTIVE") != std::string::npos;
      out.push_back({device.filename(), static_cast<int>(port), card.filename(), guid, active,
                     parseRate(firstLine(at / "rate"))});
    }
  }
  return out;
}

}  // namespace rondo::topo
